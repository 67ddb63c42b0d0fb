package engine_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/policy"
)

func TestClaimValidation(t *testing.T) {
	everywhere(t, func(w *world) {
		_, err := w.Engine.Claim(w.Context(), ada, recoup.RetryClaim{
			Tables: []string{"no.such_table", letters}, Worker: secret, Limit: 1001, LeaseSeconds: -1, WaitSeconds: 61,
		})
		w.wantFields(err, []string{secret, "no.such_table"}, "worker", "limit", "lease_seconds", "wait_seconds", "tables", "tables")
	})
}

func TestClaimWorksEveryTable(t *testing.T) {
	everywhere(t, func(w *world) {
		made := w.Report(failing(dol, "e1", "NETWORK_TIMEOUT"), failing(target, "e2", "NETWORK_TIMEOUT"))
		w.Engine.Policies.Use(without(w.T, target)) // its errors live on
		w.Wait(2 * time.Second)
		claimed, err := w.Engine.Claim(w.Context(), ada, recoup.RetryClaim{Worker: "w1", Limit: 10, LeaseSeconds: 60})
		if err != nil || len(claimed) != 2 {
			w.Fatalf("%d claimed, %v", len(claimed), err)
		}
		for _, e := range claimed {
			out := w.Act(engine.Act{ID: e.ID, Input: lifecycle.Succeed{Token: e.LeaseToken, Reason: "worked"}})
			if out.Error.State != recoup.Resolved || out.Error.ResolvedBy != "w1" {
				w.Errorf("%s by %s", out.Error.State, out.Error.ResolvedBy)
			}
		}
		if again, err := w.Engine.Claim(w.Context(), ada, recoup.RetryClaim{Worker: "w1", Limit: 10}); err != nil || len(again) > 0 {
			w.Errorf("%d claimed again, %v", len(again), err)
		}
		if e := w.Read(made[0].ID); e.State != recoup.Resolved {
			w.Errorf("%s", e.State)
		}
	})
}

// A worker that never came back is an event, once.
func TestClaimRecordsALostWorker(t *testing.T) {
	everywhere(t, func(w *world) {
		e := w.Report(failing(dol, "e1", "NETWORK_TIMEOUT"))[0]
		leased := w.claimOne(e)
		w.Wait(leased.LeaseEndsAt.Sub(w.Now()))
		if again := w.claimOne(leased); again.RetryCount != 1 || again.LeaseToken == leased.LeaseToken {
			w.Errorf("claimed again: %+v", again.Retry)
		}
		if got := w.events(); !slices.Equal(got, []recoup.Code{"WORKER_LOST", "NETWORK_TIMEOUT"}) {
			w.Errorf("events %v", got)
		}
	})
}

// prompt is the default policy with retries that are due at once.
func prompt() *policy.Policy {
	return policy.Default().With("0s", "retry", "categories", "TRANSIENT", "schedule", "base")
}

// A claim that waits is woken without the clock's help: in the bubble no time
// passes.
func TestClaimIsWoken(t *testing.T) {
	t.Parallel()
	for name, wake := range map[string]func(w *world, parked recoup.Error){
		"a report": func(w *world, _ recoup.Error) { w.Report(failing(dol, "e2", "NETWORK_TIMEOUT")) },
		"an unpark": func(w *world, parked recoup.Error) {
			w.Act(engine.Act{ID: parked.ID, Input: lifecycle.Unpark{Reason: "try"}})
		},
		"somebody else":  func(w *world, _ recoup.Error) { elsewhere(w); w.Engine.Wake() },
		"the node stops": func(w *world, _ recoup.Error) { w.Engine.StopWaiting() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := onSQLite(t)
				w.Engine.Policies.Use(prompt())
				parked := w.Report(recoup.Report{Table: dol, EntityID: "e1", Code: "NETWORK_TIMEOUT", Severity: recoup.Critical})[0]
				begin := time.Now()
				done := make(chan int)
				go func() {
					claimed, err := w.Engine.Claim(context.Background(), ada, recoup.RetryClaim{Worker: "w1", Limit: 1, WaitSeconds: 60})
					if err != nil {
						t.Error(err)
					}
					done <- len(claimed)
				}()
				synctest.Wait()
				wake(w, parked)
				if got := <-done; (got == 1) != (name != "the node stops") {
					t.Errorf("%d claimed", got)
				}
				if passed := time.Since(begin); passed > 0 {
					t.Errorf("it took %v", passed)
				}
			})
		})
	}
}

// elsewhere reports by another engine on the same store.
func elsewhere(w *world) {
	other, err := engine.New(engine.Options{
		Store: w.DB, Ledger: w.Ledger, Policies: w.Engine.Policies, Codes: w.Engine.Codes, Now: w.Now, IDs: w.Engine.IDs,
	})
	if err == nil {
		_, err = other.Report(w.Context(), ada, []recoup.Report{failing(dol, "e3", "NETWORK_TIMEOUT")})
	}
	if err != nil {
		w.Error(err)
	}
}

// With nothing to wake it, a claim comes back empty when its time is up, or its
// caller is gone; and finds by itself what falls due by the clock.
func TestClaimWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := onSQLite(t)
		begin := time.Now()
		if claimed, err := w.Engine.Claim(t.Context(), ada, recoup.RetryClaim{Worker: "w1", Limit: 1, WaitSeconds: 5}); err != nil || len(claimed) > 0 || time.Since(begin) != 5*time.Second {
			t.Errorf("%d claimed, %v, after %v", len(claimed), err, time.Since(begin))
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if claimed, _ := w.Engine.Claim(ctx, ada, recoup.RetryClaim{Worker: "w1", Limit: 1, WaitSeconds: 60}); len(claimed) > 0 {
			t.Errorf("%d claimed", len(claimed))
		}
		e := w.Report(failing(dol, "e1", "NETWORK_TIMEOUT"))[0]
		time.AfterFunc(3*time.Second, func() { w.Wait(e.NextRetryAt.Sub(w.Now())) })
		if claimed, err := w.Engine.Claim(t.Context(), ada, recoup.RetryClaim{Worker: "w1", Limit: 1, WaitSeconds: 60}); err != nil || len(claimed) != 1 {
			t.Errorf("%d claimed, %v", len(claimed), err)
		}
	})
}
