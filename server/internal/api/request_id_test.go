package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
)

// Spec 001, examples: a success carries the id of its request beside the members of
// what was asked for. What is sent again carries the id of the request that answers
// it, and what is read has its id in the header alone. [document.hold] asks the same
// of every write that a test makes.
func TestSuccessCarriesTheRequestID(t *testing.T) {
	t.Parallel()
	worlds(t, func(w *world) {
		report := recoup.Report{Table: dol, EntityID: "CO-1", Code: "TIMEOUT"}
		var ids []recoup.ID
		for _, id := range []string{"req_first", "req_again"} {
			var got struct {
				recoup.Reported
				RequestID string `json:"request_id"`
			}
			w.post("/v1/errors", report, fault.RequestIDHeader, id, "Idempotency-Key", "k").ok(&got)
			if got.RequestID != id || got.Error.EntityID != "CO-1" {
				w.Errorf("%s is answered %+v", id, got)
			}
			ids = append(ids, got.Error.ID)
		}
		if ids[0] != ids[1] {
			w.Errorf("the report was carried out twice: %v", ids)
		}
		counted := recoup.ProcessedBatch{Counts: []recoup.Processed{{Table: dol, Count: 1}}}
		if got := w.post("/v1/processed", counted, fault.RequestIDHeader, "req_3").ok().Body.String(); got != `{"accepted":1,"request_id":"req_3"}`+"\n" {
			w.Errorf("a count is answered %q", got)
		}
		forged := w.post("/v1/processed", counted, fault.RequestIDHeader, `req_"}{`).ok().Body.String()
		if strings.Contains(forged, "}{") {
			w.Errorf("an id that is none stands in the answer: %s", forged)
		}
		got := w.do("admin", http.MethodGet, "/v1/errors/"+ids[0].String(), nil, fault.RequestIDHeader, "req_4").ok()
		if strings.Contains(got.Body.String(), "req_4") || got.Header().Get(fault.RequestIDHeader) != "req_4" {
			w.Errorf("what is read is answered %s with %v", got.Body, got.Header())
		}
	})
}
