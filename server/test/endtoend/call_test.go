package endtoend

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// call is how an operation is called so that it succeeds. Words in braces are
// filled in: {n} is new each time, the others are what its needs brought along.
type call struct {
	needs func(*caller) map[string]string // nil: nothing
	path  string                          // the values of path parameters
	query string
	body  string
	none  bool // nobody can have made one: it is asked for in vain
}

const (
	report = `{"table": "outreach.dol_errors", "entity_id": "E-{n}", "code": "NETWORK_TIMEOUT"}`
	event  = `{"code": "NETWORK_TIMEOUT", "service": "import"}`
)

// calls says how the operations are called that take more than an address. Those
// of the document that are missing here and need something fail the test.
func calls() map[string][]call {
	list := map[string][]call{
		"POST /v1/errors":                     {{body: report}},
		"POST /v1/errors/batch":               {{body: `{"reports": [` + report + `]}`}},
		"POST /v1/errors/import":              {{body: `{"format": "csv", "table": "outreach.dol_errors", "lines": "code,created_at,entity_id,message\nNETWORK_TIMEOUT,2026-02-05T09:30:00Z,E-{n},late\n"}`}},
		"GET /v1/errors/archived":             {{query: "table=outreach.dol_errors"}},
		"GET /v1/errors/{id}":                 {{needs: (*caller).open}},
		"GET /v1/errors/{id}/history":         {{needs: (*caller).open}},
		"GET /v1/errors/{id}/explain":         {{needs: (*caller).open}},
		"GET /v1/error-groups/{id}":           {{needs: (*caller).errorGroup}},
		"POST /v1/error-groups/{id}/note":     {{needs: (*caller).errorGroup, body: `{"owner": "ada", "note": "because"}`}},
		"POST /v1/views":                      {{body: `{"name": "view {n}", "tokens": ["parked:yes"]}`}},
		"PUT /v1/views/{id}":                  {{needs: (*caller).view, body: `{"name": "view {n}", "tokens": ["tier:2"]}`}},
		"DELETE /v1/views/{id}":               {{needs: (*caller).view}},
		"POST /v1/retries/claim":              {{body: `{"worker": "w"}`}},
		"POST /v1/retries/results":            {{needs: (*caller).leased, body: `{"results": [{"error_id": "{id}", "lease_token": "{token}", "outcome": "fail", "code": "NETWORK_TIMEOUT"}]}`}},
		"POST /v1/retries/{id}/succeed":       {{needs: (*caller).leased, body: `{"lease_token": "{token}"}`}},
		"POST /v1/retries/{id}/fail":          {{needs: (*caller).leased, body: `{"lease_token": "{token}", "code": "NETWORK_TIMEOUT"}`}},
		"POST /v1/retries/{id}/extend":        {{needs: (*caller).leased, body: `{"lease_token": "{token}", "lease_seconds": 60}`}},
		"GET /v1/promotion/{entity}":          {{path: "entity=E-{n}"}},
		"GET /v1/ids/{part}":                  {{path: "part=0198f2", query: "kind=errors"}},
		"POST /v1/promotions":                 {{body: `{"entity_id": "P-{n}", "phase": "outreach"}`}},
		"POST /v1/processed":                  {{body: `{"counts": [{"service": "import", "count": 1}]}`}},
		"POST /v1/events":                     {{body: event}, {body: `[` + event + `]`}, {body: `{"events": [` + event + `]}`}},
		"GET /v1/codes/{code}":                {{path: "code=NETWORK_TIMEOUT"}},
		"PUT /v1/codes/{code}":                {{path: "code=E2E_{n}", body: definition}},
		"POST /v1/classify":                   {{body: `{"status": 503}`}, {body: `{"status": 503, "provider": "millionverifier"}`}, {body: `{"provider": "millionverifier", "message": "x"}`}, {body: `{"sqlstate": "40001"}`}},
		"POST /v1/policy/plan":                {{body: newPolicy("")}},
		"PUT /v1/policy":                      {{body: newPolicy("because")}},
		"POST /v1/keys":                       {{body: `{"name": "key {n}", "role": "reader"}`}},
		"POST /v1/keys/{id}/revoke":           {{needs: (*caller).apiKey, body: `{"reason": "because"}`}},
		"POST /v1/keys/{id}/rotate":           {{needs: (*caller).apiKey, body: `{"reason": "because"}`}},
		"POST /v1/jobs/{name}/run":            {{path: "name=ttl", body: `{"reason": "because"}`}},
		"GET /v1/events/export":               {{}, {query: "rows=true"}},
		"GET /v1/errors/{id}/source":          {{needs: (*caller).open, none: true}},
		"POST /v1/errors/{id}/source/decrypt": {{needs: (*caller).open, body: `{"reason": "because"}`, none: true}},
	}
	for verb, needs := range map[string]func(*caller) map[string]string{
		"park": (*caller).open, "resolve": (*caller).open, "archive": (*caller).open,
		"unpark": (*caller).parked, "escalate": (*caller).parked, "assign": (*caller).parked, "review": (*caller).parked,
	} {
		to := ""
		if verb == "assign" {
			to = `, "to": "ada"`
		}
		list["POST /v1/errors/{id}/"+verb] = []call{{needs: needs, body: `{"reason": "because"` + to + `}`}}
		list["POST /v1/errors/"+verb] = []call{
			{needs: needs, body: `{"reason": "because", "ids": ["{id}"]` + to + `}`},
			{needs: needs, body: `{"reason": "because", "preview": true, "ids": ["{id}"]` + to + `}`},
		}
	}
	for _, more := range []map[string][]call{letterCalls(), operationCalls(), gateCalls(), officeCalls()} {
		maps.Copy(list, more)
	}
	return list
}

const definition = `{"code": "E2E_{n}", "domain": "data", "class": "immediate", "category": "TRANSIENT", "severity": "LOW", "http_status": 500,
	"origin": "a test", "description": "A test made it.", "causes": ["a test"], "resolution": ["none"]}`

// newPolicy is the body that asks for the default policy under a new version.
func newPolicy(reason string) string {
	body := map[string]any{"text": strings.Replace(string(policy.DefaultFile()), "version: 1.0.0", "version: 1.0.{n}", 1)}
	if reason != "" {
		body["reason"] = reason
	}
	text, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// caller sends requests to a node.
type caller struct {
	*testing.T
	*node
	numbers atomic.Int64
	key     string
}

// answer is what came back, in the form of its whole text.
type answer struct {
	status int
	text   string // headers and body
	body   []byte
}

// send makes a request.
func (c *caller) send(method, path string, header http.Header, body []byte) answer {
	request, err := http.NewRequestWithContext(c.Context(), method, c.URL+path, bytes.NewReader(body))
	if err != nil {
		c.Fatalf("%s %s: %v", method, path, err)
	}
	request.Header.Set("Authorization", "Bearer "+c.key)
	if len(body) > 0 {
		request.Header.Set("Content-Type", "application/json")
	}
	for name, values := range header {
		request.Header[name] = values
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		c.Fatalf("%s %s: %v", method, path, err)
	}
	defer func() { _ = response.Body.Close() }()
	read, err := io.ReadAll(response.Body)
	if err != nil {
		c.Fatalf("%s %s: %v", method, path, err)
	}
	return answer{response.StatusCode, fmt.Sprint(response.Header) + string(read), read}
}

// made sends what must succeed, and reads the answer.
func (c *caller) made(path, body string, into any) {
	got := c.send(http.MethodPost, path, nil, []byte(c.filled(body, nil)))
	if got.status >= 300 {
		c.Fatalf("%s %s: %s", path, body, got.body)
	}
	if err := json.Unmarshal(got.body, into); err != nil {
		c.Fatal(err)
	}
}

// read asks for what must be there.
func (c *caller) read(path string, into any) {
	got := c.send(http.MethodGet, path, nil, nil)
	if got.status >= 300 {
		c.Fatalf("%s: %s", path, got.body)
	}
	if err := json.Unmarshal(got.body, into); err != nil {
		c.Fatal(err)
	}
}

// filled replaces the words in braces.
func (c *caller) filled(text string, values map[string]string) string {
	text = strings.ReplaceAll(text, "{n}", fmt.Sprint(c.numbers.Add(1)))
	for name, value := range values {
		text = strings.ReplaceAll(text, "{"+name+"}", value)
	}
	return text
}

// reported makes an error and returns its id.
func (c *caller) reported(code string) map[string]string {
	var made struct{ Error recoup.Error }
	c.made("/v1/errors", strings.Replace(report, "NETWORK_TIMEOUT", code, 1), &made)
	return map[string]string{"id": made.Error.ID.String()}
}

func (c *caller) open() map[string]string   { return c.reported("NETWORK_TIMEOUT") }
func (c *caller) parked() map[string]string { return c.reported("VALIDATION_ERROR") }

// errorGroup makes a group of errors: the leader folds what was reported.
func (c *caller) errorGroup() map[string]string {
	var page struct{ Groups []recoup.ErrorGroup }
	c.open()
	for len(page.Groups) == 0 {
		c.made("/v1/jobs/counts/run", `{"reason": "because"}`, new(any))
		c.read("/v1/error-groups?limit=1", &page)
	}
	return map[string]string{"id": page.Groups[0].ID.String()}
}

// view saves a view.
func (c *caller) view() map[string]string {
	var made wire.View
	c.made("/v1/views", `{"name": "view {n}", "tokens": []}`, &made)
	return map[string]string{"id": made.ID.String()}
}

// leased makes an error that is due, and claims one that is.
func (c *caller) leased() map[string]string {
	var claimed struct{ Errors []recoup.Error }
	for len(claimed.Errors) == 0 { // another caller may have taken it
		c.made("/v1/errors/"+c.parked()["id"]+"/unpark", `{"reason": "because"}`, new(any))
		c.made("/v1/retries/claim", `{"worker": "w", "limit": 1}`, &claimed)
	}
	e := claimed.Errors[0]
	return map[string]string{"id": e.ID.String(), "token": e.LeaseToken.String()}
}

func (c *caller) apiKey() map[string]string {
	var made struct {
		ID string `json:"key_id"`
	}
	c.made("/v1/keys", `{"name": "key {n}", "role": "reader"}`, &made)
	return map[string]string{"id": made.ID}
}
