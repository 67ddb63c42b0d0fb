package endtoend

import (
	"strings"

	"github.com/recoup-dev/recoup"
)

const (
	brokenWork = `{"work_id": "{work}", "pipeline": "critic", "stage": "llm", "error_class": "VALIDATION_ERROR", "last_stack": "it broke",
		"sanitized_context": {"attempts": {"llm": 1}, "upstream": "openai"}, "first_failure_at": "2026-02-02T09:00:00Z",
		"last_failure_at": "2026-02-02T09:00:00Z", "payload_ref": "s3://in/1", "payload_hash": "00ff"}`
	reasoned  = `{"reason": "because"}`
	confirmed = `{"cause": "DATA", "stage": "llm", "error_class": "VALIDATION_ERROR", "exhausted": false}`
)

// letterCalls says how the operations on dead letters and work are called.
func letterCalls() map[string][]call {
	list := map[string][]call{
		"POST /v1/dead-letters":                     {{needs: (*caller).newWork, body: brokenWork}},
		"GET /v1/dead-letters/{id}":                 {{needs: (*caller).deadLettered}},
		"POST /v1/dead-letters/{id}/triage":         {{needs: (*caller).deadLettered, body: `{"cause": "DATA", "stage": "llm", "error_class": "VALIDATION_ERROR", "exhausted": false, "note": "because"}`}},
		"POST /v1/dead-letters/{id}/remediate":      {{needs: (*caller).triaged, body: `{"link": "INC-{n}", "corrected": "it", "note": "because"}`}},
		"POST /v1/dead-letters/{id}/validate":       {{needs: (*caller).remediated, body: `{"duplicate_safe": "yes", "note": "because"}`}},
		"POST /v1/dead-letters/{id}/replay":         {{needs: (*caller).validated, body: reasoned}},
		"POST /v1/dead-letters/{id}/verify":         {{needs: (*caller).replayed, body: `{"outcome": "DELIVERED", "note": "because", "link": "INC-{n}"}`}},
		"POST /v1/dead-letters/{id}/payload":        {{needs: (*caller).keptPayload, body: reasoned}},
		"GET /v1/dead-letter-groups/{id}":           {{needs: (*caller).grouped}},
		"POST /v1/dead-letter-groups/{id}/note":     {{needs: (*caller).grouped, body: `{"owner": "ada", "note": "because"}`}},
		"POST /v1/dead-letter-groups/{id}/triage":   {{needs: (*caller).grouped, body: `{"cause": "DATA", "stage": "llm", "error_class": "VALIDATION_ERROR", "exhausted": false, "note": "because", "preview": true}`}},
		"POST /v1/dead-letter-groups/{id}/validate": {{needs: (*caller).grouped, body: `{"idempotent": true, "note": "because", "preview": true}`}},
		"POST /v1/dead-letter-groups/{id}/verify":   {{needs: (*caller).grouped, body: `{"outcome": "DELIVERED", "note": "because", "preview": true}`}},
		"POST /v1/dead-letter-groups/{id}/remediate": {
			{needs: (*caller).grouped, body: `{"link": "INC-{n}", "corrected": "it", "note": "because", "preview": true}`}},
		"POST /v1/replays/preview":     {{body: `{"pipeline": "critic"}`}, {needs: (*caller).deadLettered, body: `{"ids": ["{id}"]}`}},
		"POST /v1/replays":             {{needs: (*caller).validated, body: `{"ids": ["{id}"], "reason": "because"}`}},
		"GET /v1/replays/{id}":         {{needs: (*caller).replaying}},
		"GET /v1/replays/{id}/items":   {{needs: (*caller).replaying}},
		"POST /v1/replays/{id}/pause":  {{needs: (*caller).replaying, body: reasoned}},
		"POST /v1/replays/{id}/resume": {{needs: (*caller).replaying, body: reasoned}},
		"POST /v1/replays/{id}/cancel": {{needs: (*caller).replaying, body: reasoned}},
		"POST /v1/work":                {{body: `{"work": [{"pipeline": "critic", "stage": "fetch", "payload_ref": "s3://in/1"}]}`}},
		"POST /v1/work/claim":          {{body: `{"lanes": [{"pipeline": "nobody", "stage": "fetch"}], "worker": "w"}`}},
		"POST /v1/work/{id}/succeed":   {{needs: (*caller).heldWork, body: `{"lease_token": "{token}"}`}},
		"POST /v1/work/{id}/extend":    {{needs: (*caller).heldWork, body: `{"lease_token": "{token}"}`}},
		"POST /v1/work/{id}/release":   {{needs: (*caller).heldWork, body: `{"lease_token": "{token}"}`}},
		"POST /v1/work/{id}/fail": {{needs: (*caller).heldWork, body: `{"lease_token": "{token}", "failure": {"stage": "llm", "error_class": "VALIDATION_ERROR", "last_stack": "it broke",
			"sanitized_context": {"attempts": {"llm": 1}}, "first_failure_at": "2026-02-02T09:00:00Z", "last_failure_at": "2026-02-02T09:00:00Z"}}`}},
		"POST /v1/work/results":       {{needs: (*caller).heldWork, body: `{"results": [{"work_id": "{id}", "lease_token": "{token}", "outcome": "succeed"}]}`}},
		"POST /v1/work/{id}/progress": {{needs: (*caller).heldWork, body: `{"lease_token": "{token}"}`}},
		"POST /v1/work/{id}/forget":   {{needs: (*caller).heldWork, body: `{"lease_token": "{token}"}`}},
		"PUT /v1/work/{id}/checkpoints/{stage}": {
			{needs: (*caller).heldWork, path: "stage=fetch", body: `{"lease_token": "{token}", "output": "aW4="}`}},
		"POST /v1/pauses":   {{body: `{"pipeline": "paused-{n}", "reason": "because"}`}},
		"DELETE /v1/pauses": {{needs: (*caller).paused, query: "pipeline=paused"}},
	}
	return list
}

// newWork is the id of work that there has not been.
func (c *caller) newWork() map[string]string {
	n := c.numbers.Add(1)
	return map[string]string{"work": recoup.ID{0xbb, byte(n >> 16), byte(n >> 8), byte(n), 15: 1}.String()}
}

// newDeadLetter makes a dead letter.
func (c *caller) newDeadLetter(body string) map[string]string {
	var made struct {
		ID    string `json:"error_id"`
		Group string `json:"group_id"`
	}
	c.made("/v1/dead-letters", c.filled(body, c.newWork()), &made)
	return map[string]string{"id": made.ID, "group": made.Group}
}

func (c *caller) deadLettered() map[string]string { return c.newDeadLetter(brokenWork) }

func (c *caller) grouped() map[string]string {
	return map[string]string{"id": c.deadLettered()["group"]}
}

func (c *caller) keptPayload() map[string]string {
	return c.newDeadLetter(`{"payload": "aW4=", ` + brokenWork[1:])
}

// stepped takes a new dead letter through a step.
func (c *caller) stepped(from func() map[string]string, verb, body string) map[string]string {
	made := from()
	c.made("/v1/dead-letters/"+made["id"]+"/"+verb, body, new(any))
	return made
}

func (c *caller) triaged() map[string]string {
	return c.stepped(c.deadLettered, "triage", confirmed)
}
func (c *caller) remediated() map[string]string {
	return c.stepped(c.triaged, "remediate", `{"link": "INC-1", "corrected": "it"}`)
}
func (c *caller) validated() map[string]string {
	return c.stepped(c.remediated, "validate", `{"idempotent": true}`)
}

// replaying is a replay of a dead letter, whose id is not the dead letter's.
func (c *caller) replaying() map[string]string {
	var made struct {
		ID string `json:"replay_id"`
	}
	c.made("/v1/dead-letters/"+c.validated()["id"]+"/replay", reasoned, &made)
	return map[string]string{"id": made.ID}
}

// replayed is a dead letter whose replay worked.
func (c *caller) replayed() map[string]string {
	pipeline := c.filled("critic-{n}", nil)
	alone := strings.Replace(brokenWork, `"critic"`, `"`+pipeline+`"`, 1) // nobody else claims it
	from := func() map[string]string { return c.newDeadLetter(alone) }
	triaged := func() map[string]string { return c.stepped(from, "triage", confirmed) }
	remediated := func() map[string]string {
		return c.stepped(triaged, "remediate", `{"link": "INC-1", "corrected": "it"}`)
	}
	validated := func() map[string]string { return c.stepped(remediated, "validate", `{"idempotent": true}`) }
	made := c.stepped(validated, "replay", reasoned)
	held := c.claimed(pipeline, "llm")
	c.made("/v1/work/"+held["id"]+"/succeed", `{"lease_token": "`+held["token"]+`"}`, new(any))
	return made
}

// heldWork is work that a worker has.
func (c *caller) heldWork() map[string]string {
	pipeline := c.filled("critic-{n}", nil)
	c.made("/v1/work", `{"work": [{"pipeline": "`+pipeline+`", "stage": "fetch"}]}`, new(any))
	return c.claimed(pipeline, "fetch")
}

func (c *caller) claimed(pipeline, stage string) map[string]string {
	var claimed struct {
		Work []struct {
			ID    string `json:"work_id"`
			Token string `json:"lease_token"`
		}
	}
	c.made("/v1/work/claim", `{"lanes": [{"pipeline": "`+pipeline+`", "stage": "`+stage+`"}], "worker": "w", "wait_seconds": 30}`, &claimed)
	return map[string]string{"id": claimed.Work[0].ID, "token": claimed.Work[0].Token}
}

func (c *caller) paused() map[string]string {
	c.made("/v1/pauses", `{"pipeline": "paused", "reason": "because"}`, new(any))
	return map[string]string{}
}
