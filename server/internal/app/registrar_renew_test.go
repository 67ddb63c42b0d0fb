package app_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/app"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
)

// A node that has not followed a change of the policy yet follows it when the database refuses what
// it decided under the old one, and goes on. The node's own loops do not run here.
func TestRefusedUnderAnOldPolicy(t *testing.T) {
	t.Parallel()
	owner, nodes := pgtest.Migrated(t)
	pgtest.HoldToClock(t, owner)
	var key string
	open := func() func(method, path, body string) *httptest.ResponseRecorder {
		n, err := app.Open(t.Context(), app.Options{Database: nodes, Listen: "127.0.0.1:0", First: []byte("version: 2.5.0\ntables: {own.errors: {default: RETRY, allowed: [RETRY, PARK, ARCHIVE]}}\n"), FirstKey: func(secret string) error { key = secret; return nil }})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = n.Close(t.Context()) })
		return func(method, path, body string) *httptest.ResponseRecorder {
			r := httptest.NewRequest(method, path, strings.NewReader(body))
			r.Header.Set("Authorization", "Bearer "+key)
			r.Header.Set("Content-Type", "application/json")
			answer := httptest.NewRecorder()
			n.Handler().ServeHTTP(answer, r)
			return answer
		}
	}
	first, second := open(), open()
	const report = `{"table": "own.errors", "entity_id": "E-1", "code": "NETWORK_TIMEOUT"}`
	if got := second(http.MethodPost, "/v1/errors", report); got.Code != http.StatusCreated {
		t.Fatalf("before the change a report is answered with %d: %s", got.Code, got.Body)
	}
	change, err := json.Marshal(map[string]string{"reason": "people look first", "text": "version: 2.6.0\ntables: {own.errors: {default: PARK, allowed: [PARK, ARCHIVE]}}\n"})
	if err != nil {
		t.Fatal(err)
	}
	if got := first(http.MethodPut, "/v1/policy", string(change)); got.Code != http.StatusOK {
		t.Fatalf("the policy is answered with %d: %s", got.Code, got.Body)
	}
	if got := second(http.MethodPost, "/v1/errors", strings.Replace(report, "E-1", "E-2", 1)); got.Code != http.StatusCreated || !strings.Contains(got.Body.String(), `"PARKED"`) {
		t.Errorf("after the change a report is answered with %d: %s", got.Code, got.Body)
	}
}
