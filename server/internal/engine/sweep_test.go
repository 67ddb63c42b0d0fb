package engine_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// The clock does what the policy says at each deadline, and nothing before it.
func TestSweep(t *testing.T) {
	everywhere(t, func(w *world) {
		sweep := func(d store.Deadline, want int) {
			w.Helper()
			if n, err := w.Engine.Sweep(w.Context(), d, 100); err != nil || n != want {
				w.Fatalf("%s: %d changed, %v; want %d", d, n, err, want)
			}
		}
		all := []store.Deadline{store.DueLapse, store.DueWindow, store.DueExpiry, store.DueResolved, store.DueEscalation, store.DueReminder}
		made := w.Report(failing(dol, "e1", "NETWORK_TIMEOUT"), failing(dol, "e2", "NETWORK_TIMEOUT"), failing(dol, "e3", "NETWORK_TIMEOUT"))
		for _, d := range all {
			sweep(d, 0)
		}
		w.Act(engine.Act{ID: made[0].ID, Input: lifecycle.Park{Reason: "look"}})
		w.Act(engine.Act{ID: made[1].ID, Input: lifecycle.Resolve{Reason: "done"}})
		sweep(store.DueResolved, 1)
		if got := w.Read(made[1].ID); got.ArchiveReason != recoup.ResolvedArchive {
			w.Errorf("resolved: %+v", got.Archive)
		}
		w.Wait(49 * time.Hour) // beyond the window of a transient failure, and the second tier
		sweep(store.DueWindow, 1)
		sweep(store.DueEscalation, 1)
		if got := w.Read(made[2].ID); got.ParkReason != recoup.RetryWindowClosed {
			w.Errorf("window: %s", got.ParkReason)
		}
		if got := w.Read(made[0].ID); got.State != recoup.Escalated || got.EscalationLevel != 2 {
			w.Errorf("escalated: %s, tier %d", got.State, got.EscalationLevel)
		}
		w.Wait(30 * 24 * time.Hour)
		sweep(store.DueExpiry, 2)
		if gate, err := w.Engine.Gate(w.Context(), "e1"); err != nil || gate.Blocked {
			w.Errorf("the gate is closed: %v", err)
		}
		if got := w.Read(made[0].ID); got.ArchiveReason != recoup.TTLExpired {
			w.Errorf("expired: %+v", got.Archive)
		}
		events, _, err := w.DB.Events(w.Context(), store.EventFilter{Code: lifecycle.BlockExpired, From: epoch, To: w.Now().Add(time.Hour)}, sqldb.Page{})
		if err != nil || len(events) != 2 {
			w.Errorf("the ledger has %v, %v", events, err)
		}
		for _, expiry := range events {
			for _, e := range made {
				if expiry.ID == e.ID {
					w.Errorf("the expiry of %v has the id of its report's event", e.ID)
				}
			}
		}
	})
}

// Whichever sweep meets a resolved error past its TTL first archives it as resolved,
// and its history has no expiry.
func TestSweepResolvedPastTTL(t *testing.T) {
	everywhere(t, func(w *world) {
		made := w.Report(failing(dol, "e1", "NETWORK_TIMEOUT"))[0]
		w.Act(engine.Act{ID: made.ID, Input: lifecycle.Resolve{Reason: "done"}})
		w.Wait(31 * 24 * time.Hour)
		if n, err := w.Engine.Sweep(w.Context(), store.DueExpiry, 10); err != nil || n != 1 {
			w.Fatalf("%d changed, %v", n, err)
		}
		if got := w.Read(made.ID); got.ArchiveReason != recoup.ResolvedArchive {
			w.Errorf("archived as %s", got.ArchiveReason)
		}
		history, err := w.DB.History(w.Context(), made.ID, 10)
		if err != nil || len(history) != 3 || history[2].Input != string(lifecycle.Archiving) || history[2].Reason != "" {
			w.Errorf("its history is %+v, %v", history, err)
		}
	})
}

// A lease that ran out is one failed attempt and one event, whoever notices.
func TestSweepExpiredLease(t *testing.T) {
	everywhere(t, func(w *world) {
		leased := w.claimOne(w.Report(failing(dol, "e1", "NETWORK_TIMEOUT"))[0])
		w.Wait(leased.LeaseEndsAt.Sub(w.Now()))
		for want := range 2 {
			if n, err := w.Engine.Sweep(w.Context(), store.DueLapse, 100); err != nil || n != 1-want {
				w.Fatalf("%d lapsed, %v", n, err)
			}
		}
		if got := w.Read(leased.ID); got.RetryCount != 1 || !got.LeaseToken.IsZero() {
			w.Errorf("%d retries, lease %s", got.RetryCount, got.LeaseToken)
		}
		events, _, err := w.DB.Events(w.Context(), store.EventFilter{Code: "WORKER_LOST", From: epoch, To: w.Now().Add(time.Hour)}, sqldb.Page{})
		if err != nil || len(events) != 1 || events[0].CorrelationID != leased.CorrelationID || !events[0].TS.Equal(leased.LeaseEndsAt) {
			w.Errorf("the ledger has %v, %v", events, err)
		}
	})
}

// What workers hold keeps nothing behind it waiting, however much that is, and goes
// when they let go.
func TestSweepGoesPastWhatIsHeld(t *testing.T) {
	everywhere(t, func(w *world) {
		var made []recoup.Error
		for i := range 11 {
			made = append(made, w.Report(failing(dol, fmt.Sprint("e", i), "NETWORK_TIMEOUT"))...)
			w.Wait(time.Second)
		}
		expiry := made[0].ExpiresAt
		for i := range made { // their window would have closed long before
			w.Act(engine.Act{ID: made[i].ID, Input: lifecycle.Park{Reason: "look"}})
		}
		w.Wait(expiry.Sub(w.Now()) - time.Minute)
		for i := range made[:7] {
			w.Act(engine.Act{ID: made[i].ID, Input: lifecycle.Unpark{Reason: "try"}})
		}
		claimed, err := w.Engine.Claim(w.Context(), engine.Caller{Name: "ada"}, recoup.RetryClaim{Worker: "w", Limit: 100, LeaseSeconds: 600})
		if err != nil || len(claimed) != 7 {
			w.Fatalf("%d claimed, %v", len(claimed), err)
		}
		w.Wait(2 * time.Minute)
		for _, want := range []int{4, 0} { // three are tried at a time, and the first seven are held
			if n, err := w.Engine.Sweep(w.Context(), store.DueExpiry, 3); err != nil || n != want {
				w.Fatalf("%d expired, not %d: %v", n, want, err)
			}
		}
		for i, e := range made {
			if archived := w.Read(e.ID).State == recoup.Archived; archived != (i >= 7) {
				w.Errorf("of %d it is %v that it is archived", i, archived)
			}
		}
		w.Wait(15 * time.Minute)
		if n, err := w.Engine.Sweep(w.Context(), store.DueExpiry, 100); err != nil || n != 7 {
			w.Errorf("%d expired in the end, %v", n, err)
		}
	})
}
