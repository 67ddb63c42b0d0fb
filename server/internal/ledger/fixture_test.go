package ledger_test

import (
	"crypto/rand"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/internal/redact"
	"github.com/recoup-dev/recoup/server/internal/ledger"
	"github.com/recoup-dev/recoup/server/internal/store"
)

const retention = 90 * 24 * time.Hour

// epoch is when the tests take place that need no clock.
func epoch() time.Time { return time.Date(2026, 2, 2, 9, 0, 0, 0, time.UTC) }

func tenantKey(id string) ledger.TenantKey {
	return ledger.TenantKey{ID: id, Secret: []byte("a secret of at least sixteen bytes: " + id)}
}

func newTenants(t testing.TB) *ledger.Tenants {
	t.Helper()
	tenants := &ledger.Tenants{}
	if err := tenants.Replace("2026-01", tenantKey("2025-10"), tenantKey("2026-01")); err != nil {
		t.Fatal(err)
	}
	return tenants
}

// newGovernor returns a governor and what it counts into.
func newGovernor(t testing.TB) (*ledger.Governor, *ledger.Tally) {
	t.Helper()
	tally := ledger.NewTally()
	g, err := ledger.NewGovernor(ledger.GovernorOptions{
		Registry: fault.Default(), Providers: fault.DefaultProviders(), Tenants: newTenants(t),
		IDs: recoup.NewIDSource(rand.Reader), Rules: ledger.Rules{Retention: retention, Details: redact.EventDetails()}, Tally: tally,
	})
	if err != nil {
		t.Fatal(err)
	}
	return g, tally
}

// clean is an event with nothing wrong with it, as clients send them.
func clean() ledger.Incoming {
	return ledger.Incoming{
		IDText: "019c1d3e-8e00-7abc-8def-0123456789ab",
		Event: recoup.Event{
			Code: "RATE_LIMIT_EXCEEDED", CorrelationID: recoup.ID{1, 2, 3}, Service: "billing", Endpoint: "POST /v1/invoices/{id}",
			HTTPStatus: 429, Tenant: "acme", Region: "eu-west-1", ExternalService: "millionverifier", TS: epoch(),
			Details: map[string]any{"retryable": true, "limit": float64(100)},
		},
	}
}

// eventSource makes events that any store accepts.
type eventSource struct{ ids *recoup.IDSource }

func newEvents() eventSource { return eventSource{recoup.NewIDSource(rand.Reader)} }

func (s eventSource) make(n int) []store.Event {
	events := make([]store.Event, n)
	for i := range events {
		id := s.ids.New(epoch())
		events[i] = store.Event{Event: recoup.Event{
			ID: id, Code: "NETWORK_TIMEOUT", CorrelationID: id, Service: "billing", TS: epoch().Add(time.Duration(i) * time.Microsecond),
		}}
	}
	return events
}
