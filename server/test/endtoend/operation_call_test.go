package endtoend

import (
	"net/http"

	"github.com/recoup-dev/recoup"
)

// operationCalls says how recorded bulk acts are called.
func operationCalls() map[string][]call {
	return map[string][]call{
		"POST /v1/operations":              {{needs: (*caller).open, body: `{"act": "park", "filter": {"state": "RETRY_PENDING"}, "input": {"reason": "because"}}`}},
		"GET /v1/operations/{id}":          {{needs: (*caller).frozen}},
		"GET /v1/operations/{id}/items":    {{needs: (*caller).frozen}},
		"POST /v1/operations/{id}/confirm": {{needs: (*caller).frozen, body: reasoned}},
		"POST /v1/operations/{id}/pause":   {{needs: (*caller).halted, body: reasoned}},
		"POST /v1/operations/{id}/resume":  {{needs: (*caller).halted, body: reasoned}},
		"POST /v1/operations/{id}/cancel":  {{needs: (*caller).frozen, body: reasoned}},
	}
}

// frozen is an operation that waits for its confirmation. All but the newest are cancelled:
// a key may have ten only, and four callers share one.
func (c *caller) frozen() map[string]string {
	var waiting struct{ Operations []recoup.Operation }
	c.read("/v1/operations?state=FROZEN", &waiting)
	for i := 6; i < len(waiting.Operations); i++ {
		c.made("/v1/operations/"+waiting.Operations[i].ID.String()+"/cancel", reasoned, new(any))
	}
	c.open()
	var made recoup.Operation
	c.made("/v1/operations", `{"act": "park", "filter": {"state": "RETRY_PENDING"}}`, &made)
	return map[string]string{"id": made.ID.String()}
}

// halted is an operation that was paused before the scheduler had carried it out.
func (c *caller) halted() map[string]string {
	for {
		o := c.frozen()
		at := "/v1/operations/" + o["id"]
		c.made(at+"/confirm", reasoned, new(any))
		if got := c.send(http.MethodPost, at+"/pause", nil, []byte(reasoned)); got.status < 300 {
			return o
		}
	}
}
