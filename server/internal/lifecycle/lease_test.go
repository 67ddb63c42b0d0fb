package lifecycle_test

import (
	"errors"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
)

func (w *world) refused(e *recoup.Error, in lifecycle.Input, code recoup.Code) lifecycle.Effects {
	w.Helper()
	_, effects, err := lifecycle.Step(w.policy, e, in, w.now)
	var refusal *lifecycle.Refusal
	if !errors.As(err, &refusal) || refusal.Code != code {
		w.Fatalf("%T: %v, want %s", in, err, code)
	}
	return effects
}

func TestClaim(t *testing.T) {
	w := newWorld(t)
	e := w.report(dol, "NETWORK_TIMEOUT", "")
	w.refused(&e, lifecycle.Claim{Token: w.id()}, "INVALID_TRANSITION") // not due
	w.now = e.NextRetryAt
	w.refused(&e, lifecycle.Claim{Token: w.id(), Paused: true}, "INVALID_TRANSITION")

	token := w.id()
	leased, effects := w.must(&e, lifecycle.Claim{Token: token, Worker: "w1"})
	if leased.LeaseToken != token || leased.LeaseWorker != "w1" || !leased.LastRetryAt.Equal(w.now) ||
		!leased.LeaseEndsAt.Equal(w.now.Add(time.Minute)) || !leased.NextRetryAt.Equal(leased.LeaseEndsAt) {
		t.Errorf("leased: %+v", leased.Lease)
	}
	if effects.History.Input != "" {
		t.Errorf("a claim wrote a history row: %+v", effects.History)
	}
	w.refused(&leased, lifecycle.Claim{Token: w.id()}, "INVALID_TRANSITION") // held
	long, _ := w.must(&e, lifecycle.Claim{Token: token, Lease: time.Hour})
	if got := long.LeaseEndsAt.Sub(w.now); got != 15*time.Minute {
		t.Errorf("the longest lease is %v", got)
	}
}

func TestExtend(t *testing.T) {
	w := newWorld(t)
	e := w.report(dol, "NETWORK_TIMEOUT", "")
	leased, token := w.claim(&e)
	w.wait(50 * time.Second)
	longer, effects := w.must(&leased, lifecycle.Extend{Token: token, Lease: 2 * time.Minute})
	if want := w.now.Add(2 * time.Minute); !longer.LeaseEndsAt.Equal(want) || !longer.NextRetryAt.Equal(want) || effects.History.Input != "" {
		t.Errorf("extended to %v, next %v", longer.LeaseEndsAt, longer.NextRetryAt)
	}
	w.refused(&leased, lifecycle.Extend{Token: w.id()}, "LEASE_LOST")
}

func TestResultCarriesItsAttempt(t *testing.T) {
	w := newWorld(t)
	e := w.report(dol, "NETWORK_TIMEOUT", "")
	leased, token := w.claim(&e)
	claimed := w.now
	w.wait(10 * time.Second)
	done, effects := w.must(&leased, lifecycle.Succeed{Token: token, Reason: "200"})
	h := effects.History
	if done.State != recoup.Resolved || done.Disposition != "RESOLVED" || done.Blocking || done.ResolvedBy != "w1" || !done.ResolvedAt.Equal(w.now) {
		t.Errorf("resolved: %+v", done)
	}
	if h.Worker != "w1" || h.Actor != "w1" || h.Attempt != token || !h.ClaimedAt.Equal(claimed) || h.Input != "succeed" ||
		h.Before.State != "RETRY_PENDING" || h.After.State != "RESOLVED" {
		t.Errorf("history: %+v", h)
	}
}

// Park, resolve and archive revoke the lease; the worker's result is answered with
// a warning and kept in the history. A token nobody held leaves no trace.
func TestRevokedLease(t *testing.T) {
	for _, act := range []lifecycle.Input{
		lifecycle.Park{By: "ada", Reason: "look"}, lifecycle.Resolve{By: "ada"}, lifecycle.ArchiveNow{By: "ada"},
	} {
		w := newWorld(t)
		e := w.report(dol, "NETWORK_TIMEOUT", "")
		leased, token := w.claim(&e)
		next, _ := w.must(&leased, act)
		if !next.LeaseToken.IsZero() {
			t.Errorf("%T left the lease", act)
		}
		if h := w.refused(&next, lifecycle.Succeed{Token: token}, "LEASE_LOST").History; h.Attempt != token || h.After != h.Before {
			t.Errorf("%T: late result left %+v", act, h)
		}
		if h := w.refused(&next, lifecycle.Succeed{Token: w.id()}, "LEASE_LOST").History; h.Input != "" {
			t.Errorf("%T: a stranger's token left %+v", act, h)
		}
		w.refused(&next, lifecycle.Succeed{}, "LEASE_LOST")
	}
}

// An expired lease is a failed attempt and due again at once; the sweeper and the
// next claim agree on that.
func TestExpiredLease(t *testing.T) {
	w := newWorld(t)
	e := w.report(dol, "NETWORK_TIMEOUT", "")
	leased, token := w.claim(&e)
	w.refused(&leased, lifecycle.Lapse{}, "INVALID_TRANSITION")
	w.now = leased.LeaseEndsAt

	swept, effects := w.must(&leased, lifecycle.Lapse{})
	if swept.RetryCount != 1 || swept.LastFailureCode != "WORKER_LOST" || !swept.NextRetryAt.Equal(w.now) || effects.Event != "WORKER_LOST" {
		t.Errorf("swept: %+v", swept.Retry)
	}
	w.refused(&swept, lifecycle.Succeed{Token: token}, "LEASE_LOST")

	again, effects := w.must(&leased, lifecycle.Claim{Token: w.id(), Worker: "w2"})
	if again.RetryCount != 1 || again.LeaseWorker != "w2" || effects.History.Worker != "w1" || effects.History.Attempt != token {
		t.Errorf("claimed again: %+v, history %+v", again.Lease, effects.History)
	}
	w.refused(&again, lifecycle.Fail{Token: token}, "LEASE_LOST")
}

func TestExpiredLeaseCanSpendTheBudget(t *testing.T) {
	w := newWorld(t)
	e := w.report(dol, "NETWORK_TIMEOUT", "")
	for range 4 {
		e = w.failOnce(&e, "NETWORK_TIMEOUT")
	}
	leased, _ := w.claim(&e)
	w.now = leased.LeaseEndsAt
	parked, effects := w.must(&leased, lifecycle.Claim{Token: w.id(), Worker: "w2"})
	if parked.State != recoup.Parked || !parked.LeaseToken.IsZero() || effects.History.After.State != recoup.Parked {
		t.Errorf("got %s, leased by %q", parked.State, parked.LeaseWorker)
	}
}

func TestWindowCloses(t *testing.T) {
	w := newWorld(t)
	e := w.report(dol, "NETWORK_TIMEOUT", "")
	w.now = e.WindowEndsAt
	w.refused(&e, lifecycle.CloseWindow{}, "INVALID_TRANSITION")
	w.must(&e, lifecycle.Claim{Token: w.id()}) // its last moment
	w.wait(1)
	w.refused(&e, lifecycle.Claim{Token: w.id()}, "INVALID_TRANSITION")
	parked, _ := w.must(&e, lifecycle.CloseWindow{})
	if parked.State != recoup.Parked || parked.ParkReason != recoup.RetryWindowClosed || parked.RetryCount != 0 {
		t.Errorf("got %s %s", parked.State, parked.ParkReason)
	}
}

// An expiry waits for a live lease, a quarter of an hour at most.
func TestExpiryWaitsForALease(t *testing.T) {
	w := newWorld(t)
	e := w.report(dol, "NETWORK_TIMEOUT", recoup.Critical)
	w.now = e.ExpiresAt.Add(-time.Minute)
	e, _ = w.must(&e, lifecycle.Unpark{By: "ada"})
	leased, token := w.claim(&e)
	leased, _ = w.must(&leased, lifecycle.Extend{Token: token, Lease: 15 * time.Minute})
	w.now = e.ExpiresAt.Add(10 * time.Minute)
	w.refused(&leased, lifecycle.Expire{}, "INVALID_TRANSITION")
	leased, _ = w.must(&leased, lifecycle.Extend{Token: token, Lease: 15 * time.Minute})
	w.now = e.ExpiresAt.Add(15 * time.Minute)
	gone, _ := w.must(&leased, lifecycle.Expire{})
	if gone.ArchiveReason != recoup.TTLExpired {
		t.Errorf("got %s", gone.ArchiveReason)
	}
	w.refused(&gone, lifecycle.Succeed{Token: token}, "LEASE_LOST")
}

func TestNoClaimAfterTheTTL(t *testing.T) {
	w := newWorld(t)
	e := w.report(dol, "NETWORK_TIMEOUT", recoup.Critical)
	w.now = e.ExpiresAt.Add(-time.Second)
	e, _ = w.must(&e, lifecycle.Unpark{By: "ada"})
	w.now = e.ExpiresAt
	w.refused(&e, lifecycle.Claim{Token: w.id()}, "INVALID_TRANSITION")
}
