package endtoend

import (
	"net/http"
	"time"
)

// gateCalls says how the operations of Gate Zero are called.
func gateCalls() map[string][]call {
	const at = "/v1/gate-zero"
	return map[string][]call{
		"POST " + at + "/batches":                     {{body: `{"batch_id": "batch-{n}"}`}},
		"GET " + at + "/batches/{batch_id}":           {{needs: (*caller).batch}},
		"POST " + at + "/batches/{batch_id}/complete": {{needs: (*caller).batch, body: reasoned}},
		"POST " + at + "/intakes":                     {{body: `{"company_name": "Company {n}", "domain": "company-{n}.example"}`}},
		"POST " + at + "/intakes/import":              {{body: `{"intakes": [{"company_name": "Company {n}"}]}`}},
		"GET " + at + "/intakes/{id}":                 {{needs: (*caller).intake}},
		"GET " + at + "/recoveries/{id}":              {{needs: (*caller).recovering}},
		"POST " + at + "/claim":                       {{body: `{"worker": "w"}`}},
		"POST " + at + "/results":                     {{needs: (*caller).intake, body: `{"results": [{"intake_id": "{id}", "verdict": "FAIL", "reason": "TIMEOUT", "worker": "w"}]}`}},
		"GET /cl/gate-zero/kill-switch":               {{needs: (*caller).lasting, query: "batch_id=lasting"}},
		"POST /cl/gate-zero/kill-switch":              {{needs: (*caller).lasting, query: "batch_id=lasting", body: reasoned}},
		"DELETE /cl/gate-zero/kill-switch":            {{needs: (*caller).lasting, query: "batch_id=lasting", body: reasoned}},
	}
}

// officeCalls says how the operations of those who run the service are called.
func officeCalls() map[string][]call {
	return map[string][]call{
		"GET /v1/alerts/{id}":                  {{none: true, path: "id=0198c0de-0000-7000-8000-000000000001"}},
		"POST /v1/silences":                    {{needs: (*caller).soon, body: silence}},
		"DELETE /v1/silences/{id}":             {{needs: (*caller).silenced}},
		"POST /v1/providers/{group}/switch":    {{needs: (*caller).standIn, path: "group=email_validation", body: `{"to": "{other}", "reason": "because"}`}},
		"POST /v1/channels/{name}/test":        {{path: "name=log", body: `{}`}},
		"POST /v1/notices/resend":              {{body: `{"ids": ["0198c0de-0000-7000-8000-000000000001"], "reason": "because"}`}},
		"POST /v1/bus/quarantine/retry":        {{body: `{"numbers": [1], "reason": "because"}`}},
		"POST /v1/bus/quarantine/drop":         {{body: `{"numbers": [1], "reason": "because"}`}},
		"POST /v1/tenant-keys/rotate":          {{body: reasoned}},
		"POST /v1/payload-keys/rotate":         {{body: reasoned}},
		"POST /v1/payload-keys/wrap":           {{body: reasoned}},
		"POST /v1/tenant-keys/{key_id}/delete": {{needs: (*caller).oldTenantKey, body: reasoned}},
	}
}

const silence = `{"rule": "park-rate", "until": "{until}", "reason": "because"}`

// soon is an hour from now, by the node's clock.
func (c *caller) soon() map[string]string {
	var made struct {
		CreatedAt time.Time `json:"created_at"`
	}
	c.made("/v1/keys", `{"name": "key {n}", "role": "reader"}`, &made)
	return map[string]string{"until": made.CreatedAt.Add(time.Hour).Format(time.RFC3339)}
}

func (c *caller) silenced() map[string]string {
	var made struct {
		ID string `json:"silence_id"`
	}
	c.made("/v1/silences", c.filled(silence, c.soon()), &made)
	return map[string]string{"id": made.ID}
}

// standIn is the provider of a group that is not in use.
func (c *caller) standIn() map[string]string {
	var list struct {
		Providers []struct {
			Active  string
			Members []string
		}
	}
	c.read("/v1/providers", &list)
	for _, member := range list.Providers[0].Members {
		if member != list.Providers[0].Active {
			return map[string]string{"other": member}
		}
	}
	return nil
}

// oldTenantKey is a tenant key that is not in use any more.
func (c *caller) oldTenantKey() map[string]string {
	var made struct {
		ID string `json:"key_id"`
	}
	c.made("/v1/tenant-keys/rotate", reasoned, &made)
	c.made("/v1/tenant-keys/rotate", reasoned, new(any))
	return map[string]string{"key_id": made.ID}
}

func (c *caller) batch() map[string]string {
	id := c.filled("batch-{n}", nil)
	c.made("/v1/gate-zero/batches", `{"batch_id": "`+id+`"}`, new(any))
	return map[string]string{"batch_id": id}
}

// lasting makes sure that there is a batch of that name.
func (c *caller) lasting() map[string]string {
	c.send(http.MethodPost, "/v1/gate-zero/batches", nil, []byte(`{"batch_id": "lasting"}`))
	return map[string]string{}
}

func (c *caller) intake() map[string]string {
	var made struct {
		Intake struct {
			ID string `json:"intake_id"`
		}
	}
	c.made("/v1/gate-zero/intakes", `{"company_name": "Company {n}", "domain": "company-{n}.example"}`, &made)
	return map[string]string{"id": made.Intake.ID}
}

func (c *caller) recovering() map[string]string {
	var made struct {
		Items []struct {
			Result struct {
				Recovery struct {
					ID string `json:"recovery_id"`
				}
			}
		}
	}
	c.made("/v1/gate-zero/results", `{"results": [{"intake_id": "`+c.intake()["id"]+`", "verdict": "FAIL", "reason": "TIMEOUT"}]}`, &made)
	return map[string]string{"id": made.Items[0].Result.Recovery.ID}
}
