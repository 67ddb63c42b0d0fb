package endtoend

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

const payments = `version: 1
tables:
  payments.capture_errors: {entity: order_id}
codes:
  CARD_DECLINED: {class: fatal, severity: MEDIUM, http_status: 402, description: The bank refused the card.}
`

// A policy of a few lines governs an own table with codes of its own, of which a newer
// version may mean something else; without a gate block there is no Gate Zero.
func TestOwnDomain(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		file := filepath.Join(t.TempDir(), "policy.yaml")
		if err := os.WriteFile(file, []byte(payments), 0o600); err != nil {
			t.Fatal(err)
		}
		s := newSite(t, d)
		s.flags = []string{"--policy", file}
		s.start()
		want := func(got reply, status int, part string) {
			t.Helper()
			if got.status != status || !strings.Contains(got.body, part) {
				t.Fatalf("the answer is %d, want %d with %s: %s", got.status, status, part, got.body)
			}
		}
		report := func(entity string) reply {
			return s.ask(http.MethodPost, "/v1/errors", `{"table": "payments.capture_errors", "entity_id": "`+entity+`", "code": "card_declined", "message": "no"}`)
		}
		want(s.ask(http.MethodGet, "/v1/codes/CARD_DECLINED", ""), 200, `"http_status":402`)
		want(report("o-1"), 201, `"state":"PARKED"`)
		want(s.ask(http.MethodGet, "/v1/promotion/o-1", ""), 200, `"blocked":true`)
		want(s.ask(http.MethodPut, "/v1/codes/CARD_DECLINED", `{"code": "CARD_DECLINED", "origin": "me", "domain": "data", "class": "short_delay", "category": "TRANSIENT", "severity": "LOW", "http_status": 500, "description": "d", "causes": ["c"], "resolution": ["r"]}`), 422, "defined by the policy in force")
		want(s.ask(http.MethodPost, "/v1/gate-zero/batches", `{"batch_id": "b-1"}`), 422, "no gate block")
		want(s.ask(http.MethodPost, "/v1/gate-zero/intakes", `{"company_name": "Acme", "domain": "acme.example", "state": "WV"}`), 422, "no gate block")

		newer := strings.NewReplacer("version: 1", "version: 2", "class: fatal", "class: short_delay").Replace(payments)
		body, err := json.Marshal(map[string]string{"text": newer, "reason": "banks err"})
		if err != nil {
			t.Fatal(err)
		}
		want(s.ask(http.MethodPut, "/v1/policy", string(body)), 200, `"version":"2"`)
		want(report("o-2"), 201, `"state":"RETRY_PENDING"`)
		if err := s.signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		s.start()
		want(s.ask(http.MethodGet, "/v1/codes/CARD_DECLINED", ""), 200, `"class":"short_delay"`)
		want(report("o-3"), 201, `"state":"RETRY_PENDING"`)
	})
}

// A version that was in force once keeps nobody from starting, whatever its codes have
// become since; and errors of a table that a policy forgets are not stranded by the next.
func TestEarlierVersionsStopNobody(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		file := filepath.Join(t.TempDir(), "policy.yaml")
		const first = "version: 1\ntables: {app.jobs: {}, app.pay: {}}\ncodes: {CARD_A: {class: fatal, description: x, aliases: [CARD_B]}}\n"
		if err := os.WriteFile(file, []byte(first), 0o600); err != nil {
			t.Fatal(err)
		}
		s := newSite(t, d)
		s.flags = []string{"--policy", file}
		s.start()
		if got := s.ask(http.MethodPost, "/v1/errors", `{"table": "app.jobs", "entity_id": "j-1", "code": "NETWORK_TIMEOUT", "message": "no"}`); got.status != 201 {
			t.Fatal(got.body)
		}
		apply := func(text string, status int, part string) {
			t.Helper()
			body, err := json.Marshal(map[string]string{"text": text, "reason": "because"})
			if err != nil {
				t.Fatal(err)
			}
			if got := s.ask(http.MethodPut, "/v1/policy", string(body)); got.status != status || !strings.Contains(got.body, part) {
				t.Fatalf("the answer is %d, want %d with %s: %s", got.status, status, part, got.body)
			}
		}
		apply("version: 2\ntables: {app.pay: {}}\ncodes: {CARD_A: {class: fatal, description: x}, CARD_B: {class: short_delay, description: y}}\n", 200, `"version":"2"`)
		apply("version: 3\ntables: {app.jobs: {ttl: INFINITE}, app.pay: {}}\n", 422, "app.jobs would be kept for ever")
		apply("version: 3\ntables: {app.pay: {}}\nhubs: {x: {team: \"a\\0b\"}}\n", 400, "control character")
		if err := s.signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		s.start() // fails the test if it cannot
		if got := s.ask(http.MethodGet, "/v1/codes/CARD_B", ""); got.status != 200 || !strings.Contains(got.body, `"class":"short_delay"`) {
			t.Errorf("CARD_B is %s", got.body)
		}
	})
}
