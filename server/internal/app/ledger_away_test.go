package app

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/retry"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
)

// While the database is away, events that need no answer of it are taken into the ledger's
// buffer, for an hour with a key that was used before, and are written once it is back.
func TestEventsWithoutTheDatabase(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, pgtest.Options{Durable: true})
	_, nodes := server.Migrated(t)
	clock, key := &shifted{}, ""
	n := openNode(t, nodes, clock, func(o *Options) { o.FirstKey = func(secret string) error { key = secret; return nil } })
	ask := func(method, path, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+key)
		r.Header.Set("Content-Type", "application/json")
		answer := httptest.NewRecorder()
		n.Handler().ServeHTTP(answer, r)
		return answer
	}
	event := func() *httptest.ResponseRecorder {
		return ask(http.MethodPost, "/v1/events", `{"code": "NETWORK_TIMEOUT", "service": "away"}`)
	}
	if got := event(); got.Code != http.StatusAccepted {
		t.Fatalf("an event is answered with %d: %s", got.Code, got.Body)
	}
	server.Abort()
	for _, later := range []time.Duration{time.Second, time.Minute, 50 * time.Minute} {
		clock.by.Store(int64(later))
		if got := event(); got.Code != http.StatusAccepted {
			t.Errorf("%v later an event is answered with %d: %s", later, got.Code, got.Body)
		}
	}
	if got := ask(http.MethodPost, "/v1/errors", `{"table": "outreach.dol_errors", "entity_id": "E-1", "code": "NETWORK_TIMEOUT"}`); got.Code != http.StatusServiceUnavailable {
		t.Errorf("a report is answered with %d: %s", got.Code, got.Body)
	}
	clock.by.Store(int64(2 * time.Hour))
	if got := event(); got.Code != http.StatusServiceUnavailable || !strings.Contains(got.Body.String(), "DATABASE_CONNECTION_ERROR") {
		t.Errorf("with a key that was looked up two hours ago an event is answered with %d: %s", got.Code, got.Body)
	}
	clock.by.Store(0)
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	for n.ledger.Stats().Held > 0 && retry.Sleep(t.Context(), 5*time.Millisecond) == nil {
	}
	if got := ask(http.MethodGet, "/v1/events?service=away", ""); strings.Count(got.Body.String(), `"event_id":`) != 4 {
		t.Errorf("not all events are in the ledger: %d %s", got.Code, got.Body)
	}
}
