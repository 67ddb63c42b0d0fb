package gatezero_test

import (
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/gatezero"
)

// Spec 004, 8: the waits, each from the last failure, and the end.
func TestSchedule(t *testing.T) {
	w := newWorld(t)
	for i, wait := range []time.Duration{24 * hour, 72 * hour, 168 * hour} {
		if i > 0 {
			w.claimed()
			w.now = w.now.Add(5 * minute)
		}
		w.wantEvents(w.must(w.fail()), "FAIL")
		r := w.c.Recovery
		if r.AttemptCount != i+1 || !r.NextEligibleAt.Equal(w.now.Add(wait)) || r.Status != recoup.RecoveryActive || !r.UpdatedAt.Equal(w.now) {
			t.Errorf("after failure %d: %+v", i+1, r)
		}
	}
	w.claimed()
	effects := w.must(w.fail())
	w.wantEvents(effects, "FAIL", "EXHAUSTED")
	if r := w.c.Recovery; r.AttemptCount != 3 || r.Status != recoup.RecoveryExhausted || w.c.Intake.Status != recoup.IntakeFailed {
		t.Errorf("at the end: %+v", w.c)
	}
	if last := effects.AIR[1]; last.Reason != "STATE_MISMATCH" || last.AttemptCount != 3 || last.Actor != "system" {
		t.Errorf("the AIR gets %+v", last)
	}
}

// Spec 004, 9: the five effects of a pass.
func TestReentry(t *testing.T) {
	w := newWorld(t)
	w.must(w.fail())
	w.claimed()
	w.now = w.now.Add(minute)
	was, in := w.c.Intake, w.pass()
	effects := w.must(in)
	w.wantEvents(effects, "AUTH", "REENTER")
	for _, row := range effects.AIR {
		if row.IntakeID != was.ID || row.RecoveryID != w.c.Recovery.ID || row.Actor != "w1" || !row.At.Equal(w.now) {
			t.Errorf("the AIR gets %+v", row)
		}
	}
	if effects.AIR[1].NewIntakeID != in.NewIntakeID {
		t.Errorf("REENTER names %v", effects.AIR[1].NewIntakeID)
	}
	want := recoup.Intake{
		ID: in.NewIntakeID, BatchID: "b1", CompanyName: "Acme", Domain: "acme.example", State: "OH",
		Status: recoup.IntakeAuthorized, PreviousID: was.ID, CreatedAt: w.now, UpdatedAt: w.now,
	}
	if effects.Reentry != want {
		t.Errorf("the new intake is %+v, want %+v", effects.Reentry, want)
	}
	if w.c.Intake.Status != recoup.IntakeReenterSucceeded || w.c.Recovery.Status != recoup.RecoverySucceeded || w.c.Lease != (gatezero.RecoveryLease{}) {
		t.Errorf("what is left is %+v", w.c)
	}
}

func TestFirstPass(t *testing.T) {
	w := newWorld(t)
	w.now = w.now.Add(minute)
	effects := w.must(gatezero.Pass{Worker: "w0"})
	w.wantEvents(effects, "AUTH")
	if w.c.Intake.Status != recoup.IntakeAuthorized || !w.c.Intake.UpdatedAt.Equal(w.now) || w.c.Recovery != (recoup.Recovery{}) || effects.Reentry != (recoup.Intake{}) {
		t.Errorf("passed: %+v", w.c)
	}
	for _, in := range []gatezero.Input{gatezero.Pass{}, w.fail()} {
		_, err := w.step(in)
		w.wantRefused(err, gatezero.InvalidTransition)
	}
}

// Spec 004, 6: the reasons are the policy's.
func TestReasons(t *testing.T) {
	for _, reason := range strings.Fields(`DOMAIN_NOT_FOUND DOMAIN_NO_IMPRINT NO_LINKEDIN_COMPANY STATE_MISMATCH
		STATE_AMBIGUOUS STATE_MISSING API_UNAVAILABLE TIMEOUT`) {
		w := newWorld(t)
		w.must(gatezero.Fail{Reason: reason, RecoveryID: w.id()})
		if w.c.Recovery.FailureReason != reason {
			t.Errorf("%s is kept as %s", reason, w.c.Recovery.FailureReason)
		}
	}
	for _, reason := range []string{"", "timeout", "BAD_LUCK"} {
		w := newWorld(t)
		_, err := w.step(gatezero.Fail{Reason: reason, RecoveryID: w.id()})
		w.wantRefused(err, gatezero.ValidationError)
	}
}

func TestLapses(t *testing.T) {
	w := newWorld(t)
	w.must(w.fail())
	w.claimed()
	for lapses := 1; lapses <= 2; lapses++ {
		w.now = w.now.Add(lease)
		w.wantEvents(w.must(w.claim()), "LAPSE")
		if w.c.Lease.Lapses != lapses || w.c.Recovery.AttemptCount != 1 || !w.c.Lease.Leased(w.now) {
			t.Errorf("after %d lapses: %+v", lapses, w.c)
		}
	}
	w.now = w.now.Add(lease)
	w.wantEvents(w.must(w.claim()), "FAIL")
	r := w.c.Recovery
	if r.AttemptCount != 2 || r.FailureReason != "TIMEOUT" || !r.NextEligibleAt.Equal(w.now.Add(72*hour)) || w.c.Lease != (gatezero.RecoveryLease{}) {
		t.Errorf("after the third lapse: %+v", w.c)
	}
}

func TestLastLapseExhausts(t *testing.T) {
	w := newWorld(t)
	w.must(w.fail())
	for range 2 {
		w.claimed()
		w.must(w.fail())
	}
	w.claimed()
	w.c.Lease.Lapses = 2
	w.now = w.now.Add(lease)
	w.wantEvents(w.must(w.claim()), "FAIL", "EXHAUSTED")
	if w.c.Recovery.Status != recoup.RecoveryExhausted || w.c.Lease != (gatezero.RecoveryLease{}) {
		t.Errorf("after the last lapse: %+v", w.c)
	}
}

func TestKillSwitch(t *testing.T) {
	w := newWorld(t)
	w.must(w.fail())
	w.claimed()
	held := *w
	w.c = gatezero.Case{Batch: w.c.Batch}
	w.wantEvents(w.must(gatezero.Kill{By: "ada", Reason: "too many"}), "KILL")
	w.wantEvents(w.must(gatezero.Kill{By: "bob"}))
	if b := w.c.Batch; !b.KilledAt.Equal(w.now) || b.KilledBy != "ada" || b.KillReason != "too many" {
		t.Errorf("killed: %+v", b)
	}
	held.c.Batch = w.c.Batch
	recoveryWas := held.c.Recovery
	held.wantEvents(held.must(gatezero.Kill{By: "ada"}), "REVOKE")
	if held.c.Recovery != recoveryWas || held.c.Lease != (gatezero.RecoveryLease{}) {
		t.Errorf("revoked: %+v", held.c)
	}
	w.wantEvents(w.must(gatezero.Release{By: "bob"}), "RELEASE")
	w.wantEvents(w.must(gatezero.Release{By: "bob"}))
	if w.c.Batch != (recoup.IntakeBatch{ID: "b1", CreatedAt: epoch}) {
		t.Errorf("released: %+v", w.c.Batch)
	}
}

func TestFreeze(t *testing.T) {
	w := newWorld(t)
	w.must(w.fail())
	w.c.Batch.CompletedAt, w.c.Batch.FreezeAt = epoch, epoch.Add(14*day)
	w.now = epoch.Add(14*day - 1)
	_, err := w.step(gatezero.Freeze{})
	w.wantRefused(err, gatezero.InvalidTransition)
	w.now = w.now.Add(1)
	was := w.c.Recovery
	effects := w.must(gatezero.Freeze{})
	w.wantEvents(effects, "EXHAUSTED")
	was.Status, was.UpdatedAt = recoup.RecoveryExhausted, w.now
	if w.c.Recovery != was || effects.AIR[0].Reason != gatezero.BatchFrozen {
		t.Errorf("frozen: %+v, %+v", w.c, effects)
	}
	effects, err = w.step(gatezero.Pass{Token: w.id(), Worker: "w1"})
	w.wantRefused(err, gatezero.InvalidTransition)
	w.wantEvents(effects, "LATE_RESULT")

	w.c = gatezero.Case{Batch: w.c.Batch}
	w.wantEvents(w.must(gatezero.Freeze{}), "FREEZE")
	w.wantEvents(w.must(gatezero.Freeze{}))
	if !w.c.Batch.FrozenAt.Equal(w.now) {
		t.Errorf("frozen: %+v", w.c.Batch)
	}
}

func TestBornExhausted(t *testing.T) {
	for _, frozen := range []func(w *world){
		func(w *world) { w.freezeBatch() },
		func(w *world) { w.c.Batch.FrozenAt = w.now.Add(day) }, // by a node whose clock is ahead
	} {
		w := newWorld(t)
		frozen(w)
		w.wantEvents(w.must(w.fail()), "FAIL", "EXHAUSTED")
		if r := w.c.Recovery; r.Status != recoup.RecoveryExhausted || r.AttemptCount != 1 || r.NextEligibleAt.IsZero() {
			t.Errorf("born: %+v", r)
		}
	}
}

// Spec 004, 5: fourteen days after the import.
func TestComplete(t *testing.T) {
	w := newWorld(t)
	w.c.Intake = recoup.Intake{}
	w.must(gatezero.Complete{})
	if b := w.c.Batch; !b.CompletedAt.Equal(epoch) || !b.FreezeAt.Equal(epoch.Add(14*day)) {
		t.Errorf("complete: %+v", b)
	}
	was := w.c
	w.now = w.now.Add(day)
	w.must(gatezero.Complete{})
	if w.c != was {
		t.Errorf("complete again: %+v", w.c.Batch)
	}
}

// A result is never older than its claim, whatever the clocks of two nodes say.
func TestClockBehind(t *testing.T) {
	w := newWorld(t)
	w.must(w.fail())
	w.claimed()
	claimed := w.now
	w.now = w.now.Add(-time.Second)
	w.must(w.fail())
	if r := w.c.Recovery; !r.UpdatedAt.Equal(claimed) || !r.NextEligibleAt.Equal(claimed.Add(72*hour)) {
		t.Errorf("a failure before its claim: %+v", r)
	}
}

func TestClaimNeedsTokenAndLength(t *testing.T) {
	w := newWorld(t)
	w.must(w.fail())
	w.now = w.c.Recovery.NextEligibleAt
	for _, in := range []gatezero.Claim{{Lease: lease}, {Token: w.id()}} {
		_, err := w.step(in)
		w.wantRefused(err, gatezero.ValidationError)
	}
}

func TestRefusalSaysWhy(t *testing.T) {
	w := newWorld(t)
	w.must(w.fail())
	_, err := w.step(w.claim())
	if want := "INVALID_TRANSITION: cannot claim a recovery that is ACTIVE: it is not eligible yet"; err == nil || err.Error() != want {
		t.Errorf("answered with %v", err)
	}
}
