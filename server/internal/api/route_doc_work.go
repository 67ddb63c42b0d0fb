package api

import (
	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
)

// stageFailed is an example of how a stage failed.
const stageFailed = `"stage": "llm", "error_class": "NETWORK_TIMEOUT", "exhausted": true,
	"last_stack": "llm: POST /v1/complete: context deadline exceeded", "sanitized_context": {"attempts": {"fetch": 1, "llm": 5}},
	"first_failure_at": "2026-02-05T15:04:05Z", "last_failure_at": "2026-02-05T15:21:40Z"`

func workManuals() map[string]httpapi.Doc {
	lost := []recoup.Code{fault.CodeLeaseLost}
	const lease = `"lease_token": "0198f2a5-11d0-7c22-8a4b-3e9d6f7a1c05"`
	return map[string]httpapi.Doc{
		"POST /v1/work": {
			About: "Puts up to 1000 pieces of work into the queue, each at its first stage. A `payload` is kept encrypted; or keep it yourself and give a `payload_ref`. With a `work_id` of your own, work that is in the queue already is not added twice. Work that names an `entity_id` closes the gate of that entity if it becomes a dead letter.",
			Body:  `{"work": [{"pipeline": "criticizer", "stage": "fetch", "entity_id": "CO-20260205-000001", "payload_ref": "s3://in/page-1.html"}]}`,
		},
		"POST /v1/work/claim": {
			About: "Leases work of the named lanes, the longest due first: new work, and dead letters that are replayed. With `wait_seconds` the call waits for some.",
			Body:  `{"lanes": [{"pipeline": "criticizer", "stage": "fetch"}], "worker": "criticizer-1", "limit": 10}`,
		},
		"POST /v1/work/results": {
			About: "Up to 1000 results in one call. `items` answers each in its place.",
			Body:  `{"results": [{"work_id": "0198f2a4-7c31-7b4e-9d52-5a1f0c3e8b67", ` + lease + `, "outcome": "succeed"}]}`,
		},
		"POST /v1/work/{id}/progress": {
			About: "The outputs of the stages that this work has finished, so that a worker goes on where the last one stopped.",
			Body:  `{` + lease + `}`, Fails: lost,
		},
		"PUT /v1/work/{id}/checkpoints/{stage}": {
			About:  "Keeps the output of a finished stage, encrypted, for whoever goes on with the work. Saving it again replaces it.",
			Params: map[string]string{"stage": "fetch"}, Body: `{` + lease + `, "output": "PGh0bWw+"}`, Fails: lost,
		},
		"POST /v1/work/{id}/forget": {
			About: "Drops what all stages have saved, so that the work begins anew.",
			Body:  `{` + lease + `}`, Fails: lost,
		},
		"POST /v1/work/{id}/succeed": {About: "Ends the work. If it was the replay of a dead letter, that one waits for its verification.", Body: `{` + lease + `}`, Fails: lost},
		"POST /v1/work/{id}/fail": {
			About: "Says at which stage the work failed, and why. If the class may be retried, the work goes back into the queue at that stage, and the answer shows when it is due: after the back-off of the policy's `stages`, or after `retry_after` if that is longer. The server counts the attempts of each stage. When they are used up, or the class may not be retried, or the failure is `final` or `exhausted`, the work ends as a dead letter, which the answer shows. Secrets in its stack are replaced, and context keys that are not allowed are left out.",
			Body:  `{` + lease + `, "failure": {` + stageFailed + `}}`, Fails: lost,
		},
		"POST /v1/work/{id}/extend":  {About: "Keeps a lease alive while the work takes longer. It ends `lease_seconds` from now.", Body: `{` + lease + `, "lease_seconds": 300}`, Fails: lost},
		"POST /v1/work/{id}/release": {About: "Puts the work back into the queue at once, for another worker: on shutdown, for example. It does not count as a failure.", Body: `{` + lease + `}`, Fails: lost},
		"GET /v1/pauses":             {About: "Which pipelines, stages and error classes are paused, by whom and why."},
		"POST /v1/pauses": {
			About: "Keeps matching work from being claimed until `until`, or until the pause is lifted. All fields of the scope that are set must match; leases that are out stay valid. Pausing the same scope again replaces its reason and its end.",
			Body:  `{"pipeline": "criticizer", "stage": "llm", "reason": "the upstream is down"}`,
		},
		"DELETE /v1/pauses": {
			About:  "Lifts the pause of exactly this scope: work can be claimed again at once.",
			Params: map[string]string{"pipeline": "criticizer", "stage": "llm", "reason": "the upstream is back"}, Fails: notFound,
		},
	}
}

// stepText is what the steps of the workflow say, by their name.
var stepText = map[string]struct{ about, body string }{
	"triage": {
		"Records the root cause. Stage, class and exhaustion confirm what was looked at: if the dead letter differs, nothing changes.",
		`"cause": "TRANSIENT", "stage": "llm", "error_class": "NETWORK_TIMEOUT", "exhausted": true, "note": "the upstream was down from 15:00 to 15:40"`,
	},
	"remediate": {
		"Records what was done about it and where that is documented. The cause decides what is demanded: TRANSIENT `upstream_checked`, DATA `corrected`, AUTH_CONFIG `fixed`, CODE_DEFECT `release` and `validated_in`.",
		`"link": "https://tickets.example/INC-1234", "upstream_checked": "status page green, three calls answered"`,
	},
	"validate": {
		"Records that a replay does no harm: the work is `idempotent`, or `duplicate_safe` says why a second effect is harmless.",
		`"idempotent": true`,
	},
	"verify": {
		"Records whether the result of the replay has arrived. DELIVERED closes the dead letter, NOT_DELIVERED sends it back to triage.",
		`"outcome": "DELIVERED", "note": "the page is in the index"`,
	},
}

func deadLetterManuals() map[string]httpapi.Doc {
	list := map[string]httpapi.Doc{
		"POST /v1/dead-letters": {
			About: "Records a dead letter of work that is not in the queue: one that a pipeline of your own has given up. A `work_id` that has one already gets another round of the same dead letter.",
			Body:  `{"work_id": "0198f2a3-9e40-7d11-b6c8-72e05a9f4d13", "pipeline": "criticizer", ` + stageFailed + `, "payload_ref": "s3://in/page-1.html"}`,
			Fails: []recoup.Code{fault.CodeLeaseLost, fault.CodeInvalidTransition, fault.CodeQuotaExceeded},
		},
		"GET /v1/dead-letters":      {About: "All filters that are set must match.", Params: map[string]string{"pipeline": "criticizer", "step": "NEW", "limit": "20"}},
		"GET /v1/dead-letters/{id}": {About: "A dead letter with its rounds, one for each time that it failed, what people noted, and the replays it was part of. Its payload is not shown.", Fails: notFound},
		"POST /v1/dead-letters/{id}/replay": {
			About: "Puts the work back into the queue at the stage that failed, with what earlier stages have saved; or, with `from_start`, from its first stage. To replay many, use a replay.",
			Body:  `{"reason": "the upstream is back"}`,
			Fails: []recoup.Code{fault.CodeNotFound, fault.CodeInvalidTransition, fault.CodeBusinessRuleViolation},
		},
		"POST /v1/dead-letters/{id}/payload": {
			About: "Decrypts and returns the payload, where the server keeps it. Who looked and why is in the audit.",
			Body:  `{"reason": "to see which field is missing"}`, Fails: notFound,
		},
	}
	for step, text := range stepText {
		list["POST /v1/dead-letters/{id}/"+step] = httpapi.Doc{
			About: text.about, Body: "{" + text.body + "}",
			Fails: []recoup.Code{fault.CodeNotFound, fault.CodeInvalidTransition, fault.CodeConflict},
		}
	}
	return list
}

func groupManuals() map[string]httpapi.Doc {
	list := map[string]httpapi.Doc{
		"GET /v1/dead-letter-groups":            {About: "Dead letters with the same pipeline, stage, class and signature are one group: one defect, usually, however many it hit.", Params: map[string]string{"pipeline": "criticizer"}},
		"GET /v1/dead-letter-groups/{id}":       {About: "A group with its trend by day and what people noted.", Fails: notFound},
		"POST /v1/dead-letter-groups/{id}/note": {About: "Sets the owner and the note of a group; what was there before stays in its notes.", Body: `{"owner": "ada", "note": "the model rejects pages above 200 kB"}`, Fails: notFound},
	}
	for step, text := range stepText {
		list["POST /v1/dead-letter-groups/{id}/"+step] = httpapi.Doc{
			About: text.about + "\n\nFor all open dead letters of the group that are at this step. With `preview` nothing is changed, and the answer's `token` stands for the set that was shown.",
			Body:  "{" + text.body + `, "preview": true}`, Fails: []recoup.Code{fault.CodeNotFound, fault.CodeStaleRead},
		}
	}
	return list
}

func replayManuals() map[string]httpapi.Doc {
	list := map[string]httpapi.Doc{
		"POST /v1/replays/preview": {
			About: "Says which dead letters a selection would replay and, for the others, why not. The `token` stands for the eligible ones as they are now.",
			Body:  `{"pipeline": "criticizer", "error_class": "NETWORK_TIMEOUT"}`,
		},
		"POST /v1/replays": {
			About: "Starts a replay of named dead letters, or of the set that a preview's `token` stands for. Only validated dead letters can be replayed. The `plan` sets rate and ramp.",
			Body:  `{"ids": ["0198f2a4-7c31-7b4e-9d52-5a1f0c3e8b67"], "plan": {"rate": 5, "canary": 1}, "reason": "the upstream is back"}`,
			Fails: []recoup.Code{fault.CodeNotFound, fault.CodeInvalidTransition, fault.CodeBusinessRuleViolation, fault.CodeStaleRead},
		},
		"GET /v1/replays":            {About: "Replays with their state and counts.", Params: map[string]string{"state": "RUNNING"}},
		"GET /v1/replays/{id}":       {About: "A replay: the step of its ramp, how many members are in which state, and who did what about it.", Fails: notFound},
		"GET /v1/replays/{id}/items": {About: "The members of a replay, in the order of their release, and how each ended.", Params: map[string]string{"state": "FAILED"}, Fails: notFound},
	}
	for act, about := range map[string]string{
		"pause":  "Releases no more members. What is in the queue or with a worker goes on.",
		"resume": "Continues a paused replay, or one that has stopped itself, where it was.",
		"cancel": "Ends a replay for good. Members that no worker has go back to where they were; results of the others still count.",
	} {
		list["POST /v1/replays/{id}/"+act] = httpapi.Doc{About: about, Body: `{"reason": "the upstream is slow"}`, Fails: []recoup.Code{fault.CodeNotFound, fault.CodeInvalidTransition}}
	}
	return list
}
