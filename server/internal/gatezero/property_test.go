package gatezero_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/gatezero"
)

// life leads one case through whatever rapid draws, and remembers enough to say
// what must never happen.
type life struct {
	*rapid.T
	*world
	tokens   []recoup.ID // of all leases that were ever given
	lastFail time.Time
}

func (l *life) draw() gatezero.Input {
	token := l.c.Lease.LeaseToken
	if n := len(l.tokens); n > 0 && rapid.IntRange(0, 4).Draw(l.T, "stale") == 0 {
		token = l.tokens[rapid.IntRange(0, n-1).Draw(l.T, "token")]
	}
	return rapid.SampledFrom([]gatezero.Input{
		gatezero.Fail{Token: token, Reason: "TIMEOUT", RecoveryID: l.id()},
		gatezero.Fail{Token: token, Reason: "STATE_MISSING", RecoveryID: l.id()},
		gatezero.Pass{Token: token, NewIntakeID: l.id()},
		l.claim(), l.claim(), l.claim(), gatezero.Freeze{}, gatezero.Kill{By: "ada"},
	}).Draw(l.T, "input")
}

// tick lets time pass: to what comes next, or anywhere.
func (l *life) tick() {
	next := []time.Time{l.c.Recovery.NextEligibleAt, l.c.Lease.LeaseEndsAt, l.c.Batch.FreezeAt}
	switch i := rapid.IntRange(0, 5).Draw(l.T, "tick"); {
	case i < 3 && next[i].After(l.now) && (i != 2 || rapid.IntRange(0, 9).Draw(l.T, "freeze") == 0):
		l.now = next[i]
	case i == 3:
		l.now = l.now.Add(time.Duration(rapid.Int64Range(0, int64(2*day)).Draw(l.T, "pass")))
	}
}

// batchwide does something to the batch now and then.
func (l *life) batchwide() {
	b := gatezero.Case{Batch: l.c.Batch}
	in := rapid.SampledFrom([]gatezero.Input{
		gatezero.Kill{By: "ada"}, gatezero.Release{By: "ada"}, gatezero.Release{By: "ada"}, gatezero.Complete{},
	}).Draw(l.T, "batch")
	next, _, err := gatezero.Step(l.gate, b, in, l.now)
	if err != nil {
		l.T.Fatal(err)
	}
	l.c.Batch = next.Batch
	if next.Batch.Stopped() && l.c.Recovery.Status == recoup.RecoveryActive { // as the store does
		l.c, _, err = gatezero.Step(l.gate, l.c, gatezero.Kill{By: "ada"}, l.now)
		if err != nil {
			l.T.Fatal(err)
		}
	}
}

func (l *life) step() {
	l.tick()
	if l.c.Batch.ID != "" && rapid.IntRange(0, 7).Draw(l.T, "whom") == 0 {
		l.batchwide()
		return
	}
	in, was := l.draw(), l.c
	next, effects, err := gatezero.Step(l.gate, was, in, l.now)
	l.check(was, next, effects, err, in)
	l.c = next
	if t := next.Lease.LeaseToken; t != was.Lease.LeaseToken && !t.IsZero() {
		l.tokens = append(l.tokens, t)
	}
}

// check says what must hold of any step.
func (l *life) check(was, next gatezero.Case, effects gatezero.CaseEffects, err error, in gatezero.Input) {
	a, b := was.Recovery, next.Recovery
	counted := b.AttemptCount - a.AttemptCount
	late := len(effects.AIR) == 1 && effects.AIR[0].Event == recoup.AIRLateResult
	switch {
	case err != nil && (next != was || len(effects.AIR) > 0 && !late || effects.Reentry != (recoup.Intake{})):
		l.T.Fatalf("%T is refused and changes something: %+v", in, effects)
	case late != (a.Status == recoup.RecoveryExhausted && isPass(in)):
		l.T.Fatalf("%T after %s: late %v", in, a.Status, late)
	case a.Status != "" && a.Status != recoup.RecoveryActive && next != was:
		l.T.Fatalf("%s is not the end: %+v", a.Status, next)
	case b.AttemptCount > 3 || b.Status != "" && b.AttemptCount < 1 || counted < 0 || counted > 1:
		l.T.Fatalf("%d attempts became %d", a.AttemptCount, b.AttemptCount)
	case next.Lease.LeaseToken != was.Lease.LeaseToken && next.Lease.Leased(l.now) &&
		(l.now.Before(b.NextEligibleAt) || was.Batch.Stopped() || was.Batch.Frozen(l.now) || was.Lease.Leased(l.now)):
		l.T.Fatalf("%T leased what is not eligible: %+v", in, was)
	case was.Batch.Stopped() && err == nil && a.Status == recoup.RecoveryActive && counted > 0:
		l.T.Fatalf("%T used an attempt in a killed batch", in)
	case next.Lease.Lapses >= gatezero.MaxLapses || b.Status != recoup.RecoveryActive && next.Lease != (gatezero.RecoveryLease{}):
		l.T.Fatalf("a lease is left behind: %+v", next)
	case was.Intake.Status == recoup.IntakeFailed && next.Intake.Status == recoup.IntakeAuthorized:
		l.T.Fatal("what failed became AUTHORIZED")
	case a.Status == "" && b.Status != "" && (b.Status == recoup.RecoveryExhausted) != was.Batch.Frozen(l.now):
		l.T.Fatalf("born %s", b.Status)
	}
	l.checkEffects(was, next, effects)
	if err == nil && (counted == 1 || a.Status == recoup.RecoveryActive && len(effects.AIR) > 0 && effects.AIR[0].Event == recoup.AIRFail) {
		l.lastFail = b.UpdatedAt
	}
	l.checkWait(b)
}

// checkEffects checks that the AIR records what happened, and nothing else.
func (l *life) checkEffects(was, next gatezero.Case, effects gatezero.CaseEffects) {
	n := map[recoup.AIREvent]int{}
	for _, row := range effects.AIR {
		n[row.Event]++
	}
	ended := was.Recovery.Status != next.Recovery.Status
	if (n["EXHAUSTED"] == 1) != (ended && next.Recovery.Status == recoup.RecoveryExhausted) {
		l.T.Fatalf("from %s to %s with %v", was.Recovery.Status, next.Recovery.Status, n)
	}
	succeeded := ended && next.Recovery.Status == recoup.RecoverySucceeded
	if succeeded != (n["REENTER"] == 1) || succeeded != !effects.Reentry.ID.IsZero() || succeeded && n["AUTH"] != 1 ||
		succeeded != (next.Intake.Status == recoup.IntakeReenterSucceeded && was.Intake.Status == recoup.IntakeFailed) {
		l.T.Fatalf("half a re-entry: %+v, %+v", next, effects)
	}
	if next.Recovery.AttemptCount > was.Recovery.AttemptCount && n["FAIL"] != 1 {
		l.T.Fatalf("an attempt without a row: %v", n)
	}
}

// checkWait says that the wait is the schedule's, from the last failure.
func (l *life) checkWait(r recoup.Recovery) {
	if r.Status != recoup.RecoveryActive {
		return
	}
	wait := []time.Duration{24 * hour, 72 * hour, 168 * hour}[r.AttemptCount-1]
	if !r.NextEligibleAt.Equal(l.lastFail.Add(wait)) {
		l.T.Fatalf("attempt %d failed at %v and may be retried at %v", r.AttemptCount, l.lastFail, r.NextEligibleAt)
	}
}

func isPass(in gatezero.Input) bool {
	_, ok := in.(gatezero.Pass)
	return ok
}

func TestAnyLife(t *testing.T) {
	ends := map[recoup.RecoveryStatus]int{}
	rapid.Check(t, func(rt *rapid.T) {
		l := &life{T: rt, world: newWorld(t)}
		if rapid.IntRange(0, 3).Draw(rt, "loose") == 0 {
			l.c.Batch, l.c.Intake.BatchID = recoup.IntakeBatch{}, ""
		}
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			l.step()
		}
		ends[l.c.Recovery.Status]++
	})
	for _, status := range []recoup.RecoveryStatus{"", recoup.RecoveryActive, recoup.RecoveryExhausted, recoup.RecoverySucceeded} {
		if ends[status] == 0 && !testing.Short() { // of few lives not every end is among them
			t.Errorf("no life ended %q: %v", status, ends)
		}
	}
}
