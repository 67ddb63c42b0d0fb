package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// A key for one hub ends at its hub: it speaks for the services of that hub only, so
// that it can neither dilute the rate of another nor add to its failures, and it
// cannot have a provider switched that others use too.
func TestHubKeysEndAtTheirHub(t *testing.T) {
	t.Parallel()
	worlds(t, func(w *world) {
		text := strings.Replace(policyText("1.0.1"), "    lead: dol-filings-lead\n", "    lead: dol-filings-lead\n    services: [filings]\n", 1)
		text = strings.Replace(text, "  email_validation: {", "  filings_mail: {members: [sendgrid], hub: dol-filings}\n  email_validation: {", 1)
		w.do("admin", http.MethodPut, "/v1/policy", wire.PolicyChange{Text: text, Reason: "services"}).ok()
		key := "ingest" + onlyDOL

		for _, service := range []string{"billing", people} {
			count := recoup.ProcessedBatch{Counts: []recoup.Processed{{Service: service, Count: 1_000_000}}}
			w.do(key, http.MethodPost, "/v1/processed", count).invalid("counts[0].service", "hub")
			w.do(key, http.MethodPost, "/v1/events", recoup.Event{Code: "TIMEOUT", Service: service}).invalid("service", "hub")
			w.do(key, http.MethodPost, "/v1/events", recoup.Event{Code: "TIMEOUT"}, "X-Recoup-Service", service).invalid("service", "hub")
			w.do(key, http.MethodPost, "/v1/errors", recoup.Report{Table: dol, EntityID: "CO-1", Code: "TIMEOUT", Service: service}).invalid("service", "hub")
			w.do("ingest", http.MethodPost, "/v1/processed", count).ok()
		}
		for _, service := range []string{"filings", dol} {
			w.do(key, http.MethodPost, "/v1/processed", recoup.ProcessedBatch{Counts: []recoup.Processed{{Service: service, Count: 3}}}).ok()
			w.do(key, http.MethodPost, "/v1/events", recoup.Event{Code: "TIMEOUT", Service: service}).ok()
			w.do(key, http.MethodPost, "/v1/errors", recoup.Report{Table: dol, EntityID: "CO-" + service, Code: "TIMEOUT", Service: service}).ok()
		}

		var events []recoup.Event
		for range 30 {
			events = append(events, recoup.Event{Code: "EXTERNAL_SERVICE_TIMEOUT", Service: "filings", ExternalService: "millionverifier", TS: w.clock()})
		}
		var batch recoup.EventsAccepted
		w.do(key, http.MethodPost, "/v1/events", recoup.EventBatch{Events: events}, "Prefer", "respond-sync").ok(&batch)
		w.do(key, http.MethodPost, "/v1/errors", recoup.Report{
			Table: dol, EntityID: "CO-9", Code: "EXTERNAL_SERVICE_TIMEOUT", ExternalService: "millionverifier",
		}).ok()
		var page recoup.EventPage
		w.get("/v1/events?code=EXTERNAL_SERVICE_TIMEOUT&limit=100").ok(&page)
		if batch.Accepted != 30 || len(page.Events) != 31 {
			w.Fatalf("accepted %d, listed %d", batch.Accepted, len(page.Events))
		}
		for _, e := range page.Events {
			if e.ExternalService != "" {
				w.Errorf("a key for one hub has blamed %s", e.ExternalService)
			}
		}
		w.do(key, http.MethodPost, "/v1/providers/email_validation/switch", wire.ProviderSwitch{To: "zerobounce", Reason: "x"}).
			failed(http.StatusForbidden, fault.CodeInsufficientPermissions)
	})
}
