package api

import (
	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
)

// stageFailed is an example of how a stage failed.
const stageFailed = `"stage": "llm", "error_class": "NETWORK_TIMEOUT", "exhausted": true,
	"last_stack": "llm: POST /v1/complete: context deadline exceeded", "sanitized_context": {"attempts": {"fetch": 1, "llm": 5}},
	"first_failure_at": "2026-02-05T15:04:05Z", "last_failure_at": "2026-02-05T15:21:40Z"`

func workManuals() map[string]routeDoc {
	lost := []recoup.Code{fault.CodeLeaseLost}
	const lease = `"lease_token": "0198f2a5-11d0-7c22-8a4b-3e9d6f7a1c05"`
	return map[string]routeDoc{
		"POST /v1/work": {
			about: "Puts up to 1000 pieces of work into the queue, each at its first stage. A `payload` is kept encrypted; or keep it yourself and give a `payload_ref`. With a `work_id` of your own, work that is in the queue already is not added twice. Work that names an `entity_id` closes the gate of that entity if it becomes a dead letter.",
			body:  `{"work": [{"pipeline": "criticizer", "stage": "fetch", "entity_id": "CO-20260205-000001", "payload_ref": "s3://in/page-1.html"}]}`,
		},
		"POST /v1/work/claim": {
			about: "Leases work of the named lanes, the longest due first: new work, and dead letters that are replayed. With `wait_seconds` the call waits for some.",
			body:  `{"lanes": [{"pipeline": "criticizer", "stage": "fetch"}], "worker": "criticizer-1", "limit": 10}`,
		},
		"POST /v1/work/results": {
			about: "Up to 1000 results in one call. `items` answers each in its place.",
			body:  `{"results": [{"work_id": "0198f2a4-7c31-7b4e-9d52-5a1f0c3e8b67", ` + lease + `, "outcome": "succeed"}]}`,
		},
		"POST /v1/work/{id}/progress": {
			about: "The outputs of the stages that this work has finished, so that a worker goes on where the last one stopped.",
			body:  `{` + lease + `}`, fails: lost,
		},
		"PUT /v1/work/{id}/checkpoints/{stage}": {
			about:  "Keeps the output of a finished stage, encrypted, for whoever goes on with the work. Saving it again replaces it.",
			params: map[string]string{"stage": "fetch"}, body: `{` + lease + `, "output": "PGh0bWw+"}`, fails: lost,
		},
		"POST /v1/work/{id}/forget": {
			about: "Drops what all stages have saved, so that the work begins anew.",
			body:  `{` + lease + `}`, fails: lost,
		},
		"POST /v1/work/{id}/succeed": {about: "Ends the work. If it was the replay of a dead letter, that one waits for its verification.", body: `{` + lease + `}`, fails: lost},
		"POST /v1/work/{id}/fail": {
			about: "Says at which stage the work failed, and why. If the class may be retried, the work goes back into the queue at that stage, and the answer shows when it is due: after the back-off of the policy's `stages`, or after `retry_after` if that is longer. The server counts the attempts of each stage. When they are used up, or the class may not be retried, or the failure is `final` or `exhausted`, the work ends as a dead letter, which the answer shows. Secrets in its stack are replaced, and context keys that are not allowed are left out.",
			body:  `{` + lease + `, "failure": {` + stageFailed + `}}`, fails: lost,
		},
		"POST /v1/work/{id}/extend":  {about: "Keeps a lease alive while the work takes longer. It ends `lease_seconds` from now.", body: `{` + lease + `, "lease_seconds": 300}`, fails: lost},
		"POST /v1/work/{id}/release": {about: "Puts the work back into the queue at once, for another worker: on shutdown, for example. It does not count as a failure.", body: `{` + lease + `}`, fails: lost},
		"GET /v1/pauses":             {about: "Which pipelines, stages and error classes are paused, by whom and why."},
		"POST /v1/pauses": {
			about: "Keeps matching work from being claimed until `until`, or until the pause is lifted. All fields of the scope that are set must match; leases that are out stay valid. Pausing the same scope again replaces its reason and its end.",
			body:  `{"pipeline": "criticizer", "stage": "llm", "reason": "the upstream is down"}`,
		},
		"DELETE /v1/pauses": {
			about:  "Lifts the pause of exactly this scope: work can be claimed again at once.",
			params: map[string]string{"pipeline": "criticizer", "stage": "llm", "reason": "the upstream is back"}, fails: notFound,
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

func deadLetterManuals() map[string]routeDoc {
	list := map[string]routeDoc{
		"POST /v1/dead-letters": {
			about: "Records a dead letter of work that is not in the queue: one that a pipeline of your own has given up. A `work_id` that has one already gets another round of the same dead letter.",
			body:  `{"work_id": "0198f2a3-9e40-7d11-b6c8-72e05a9f4d13", "pipeline": "criticizer", ` + stageFailed + `, "payload_ref": "s3://in/page-1.html"}`,
			fails: []recoup.Code{fault.CodeLeaseLost, fault.CodeInvalidTransition, fault.CodeQuotaExceeded},
		},
		"GET /v1/dead-letters":      {about: "All filters that are set must match.", params: map[string]string{"pipeline": "criticizer", "step": "NEW", "limit": "20"}},
		"GET /v1/dead-letters/{id}": {about: "A dead letter with its rounds, one for each time that it failed, what people noted, and the replays it was part of. Its payload is not shown.", fails: notFound},
		"POST /v1/dead-letters/{id}/replay": {
			about: "Puts the work back into the queue at the stage that failed, with what earlier stages have saved; or, with `from_start`, from its first stage. To replay many, use a replay.",
			body:  `{"reason": "the upstream is back"}`,
			fails: []recoup.Code{fault.CodeNotFound, fault.CodeInvalidTransition, fault.CodeBusinessRuleViolation},
		},
		"POST /v1/dead-letters/{id}/payload": {
			about: "Decrypts and returns the payload, where the server keeps it. Who looked and why is in the audit.",
			body:  `{"reason": "to see which field is missing"}`, fails: notFound,
		},
	}
	for step, text := range stepText {
		list["POST /v1/dead-letters/{id}/"+step] = routeDoc{
			about: text.about, body: "{" + text.body + "}",
			fails: []recoup.Code{fault.CodeNotFound, fault.CodeInvalidTransition, fault.CodeConflict},
		}
	}
	return list
}

func groupManuals() map[string]routeDoc {
	list := map[string]routeDoc{
		"GET /v1/dead-letter-groups":            {about: "Dead letters with the same pipeline, stage, class and signature are one group: one defect, usually, however many it hit.", params: map[string]string{"pipeline": "criticizer"}},
		"GET /v1/dead-letter-groups/{id}":       {about: "A group with its trend by day and what people noted.", fails: notFound},
		"POST /v1/dead-letter-groups/{id}/note": {about: "Sets the owner and the note of a group; what was there before stays in its notes.", body: `{"owner": "ada", "note": "the model rejects pages above 200 kB"}`, fails: notFound},
	}
	for step, text := range stepText {
		list["POST /v1/dead-letter-groups/{id}/"+step] = routeDoc{
			about: text.about + "\n\nFor all open dead letters of the group that are at this step. With `preview` nothing is changed, and the answer's `token` stands for the set that was shown.",
			body:  "{" + text.body + `, "preview": true}`, fails: []recoup.Code{fault.CodeNotFound, fault.CodeStaleRead},
		}
	}
	return list
}

func replayManuals() map[string]routeDoc {
	list := map[string]routeDoc{
		"POST /v1/replays/preview": {
			about: "Says which dead letters a selection would replay and, for the others, why not. The `token` stands for the eligible ones as they are now.",
			body:  `{"pipeline": "criticizer", "error_class": "NETWORK_TIMEOUT"}`,
		},
		"POST /v1/replays": {
			about: "Starts a replay of named dead letters, or of the set that a preview's `token` stands for. Only validated dead letters can be replayed. The `plan` sets rate and ramp.",
			body:  `{"ids": ["0198f2a4-7c31-7b4e-9d52-5a1f0c3e8b67"], "plan": {"rate": 5, "canary": 1}, "reason": "the upstream is back"}`,
			fails: []recoup.Code{fault.CodeNotFound, fault.CodeInvalidTransition, fault.CodeBusinessRuleViolation, fault.CodeStaleRead},
		},
		"GET /v1/replays":            {about: "Replays with their state and counts.", params: map[string]string{"state": "RUNNING"}},
		"GET /v1/replays/{id}":       {about: "A replay: the step of its ramp, how many members are in which state, and who did what about it.", fails: notFound},
		"GET /v1/replays/{id}/items": {about: "The members of a replay, in the order of their release, and how each ended.", params: map[string]string{"state": "FAILED"}, fails: notFound},
	}
	for act, about := range map[string]string{
		"pause":  "Releases no more members. What is in the queue or with a worker goes on.",
		"resume": "Continues a paused replay, or one that has stopped itself, where it was.",
		"cancel": "Ends a replay for good. Members that no worker has go back to where they were; results of the others still count.",
	} {
		list["POST /v1/replays/{id}/"+act] = routeDoc{about: about, body: `{"reason": "the upstream is slow"}`, fails: []recoup.Code{fault.CodeNotFound, fault.CodeInvalidTransition}}
	}
	return list
}
