package engine_test

import (
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/test/conformance"
)

// Errors that are claimed together share a token, and each failure is an event.
func TestFailuresOfOneClaimAreAllInTheLedger(t *testing.T) {
	everywhere(t, func(w *world) {
		made := w.Report(failing(dol, "e1", "NETWORK_TIMEOUT"), failing(dol, "e2", "NETWORK_TIMEOUT"))
		w.Wait(made[1].NextRetryAt.Sub(w.Now()))
		claimed, err := w.Engine.Claim(w.Context(), ada, recoup.RetryClaim{Tables: []string{dol}, Worker: "w1", Limit: 100})
		if err != nil || len(claimed) != 2 || claimed[0].LeaseToken != claimed[1].LeaseToken {
			w.Fatalf("%d claimed, %v", len(claimed), err)
		}
		for range 2 { // sent again, it is still one
			for _, e := range claimed {
				w.Act(engine.Act{ID: e.ID, Input: lifecycle.Fail{Token: e.LeaseToken, Failure: conformance.Failure("NETWORK_TIMEOUT")}})
			}
		}
		events, _, err := w.DB.Events(w.Context(), store.EventFilter{From: claimed[0].LeasedAt, To: w.Now().Add(time.Hour)}, sqldb.Page{})
		if err != nil || len(events) != 2 || events[0].CorrelationID == events[1].CorrelationID {
			w.Errorf("the ledger has %+v, %v", events, err)
		}
	})
}
