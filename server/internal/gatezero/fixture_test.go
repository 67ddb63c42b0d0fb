package gatezero_test

import (
	"crypto/rand"
	"errors"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/gatezero"
	"github.com/recoup-dev/recoup/server/internal/policy"
)

const (
	minute = time.Minute
	hour   = time.Hour
	day    = 24 * hour
	lease  = 10 * minute
)

var epoch = time.Date(2026, 2, 2, 9, 0, 0, 0, time.UTC)

// world is one case and a clock that is moved by hand.
type world struct {
	testing.TB
	gate policy.GateZero
	ids  *recoup.IDSource
	now  time.Time
	c    gatezero.Case
}

// newWorld is a pending intake in an open batch.
func newWorld(t testing.TB) *world {
	w := &world{TB: t, gate: policy.Default().Gate, ids: recoup.NewIDSource(rand.Reader), now: epoch}
	w.c.Batch = recoup.IntakeBatch{ID: "b1", CreatedAt: epoch}
	w.c.Intake = recoup.Intake{
		ID: w.id(), BatchID: "b1", ImportKey: "7", CompanyName: "Acme", Domain: "acme.example", State: "OH",
		Status: recoup.IntakePending, CreatedAt: epoch, UpdatedAt: epoch,
	}
	return w
}

func (w *world) id() recoup.ID { return w.ids.New(w.now) }

func (w *world) step(in gatezero.Input) (gatezero.CaseEffects, error) {
	next, effects, err := gatezero.Step(w.gate, w.c, in, w.now)
	if err != nil && next != w.c {
		w.Errorf("%T is refused and changes %+v to %+v", in, w.c, next)
	}
	w.c = next
	return effects, err
}

func (w *world) must(in gatezero.Input) gatezero.CaseEffects {
	w.Helper()
	effects, err := w.step(in)
	if err != nil {
		w.Fatalf("%T: %v", in, err)
	}
	return effects
}

func (w *world) fail() gatezero.Fail {
	return gatezero.Fail{Token: w.c.Lease.LeaseToken, Reason: "STATE_MISMATCH", RecoveryID: w.id()}
}

func (w *world) pass() gatezero.Pass {
	return gatezero.Pass{Token: w.c.Lease.LeaseToken, NewIntakeID: w.id()}
}

func (w *world) claim() gatezero.Claim {
	return gatezero.Claim{Token: w.id(), Worker: "w1", Lease: lease}
}

// claimed claims the recovery as soon as it is eligible.
func (w *world) claimed() {
	w.Helper()
	w.now = w.c.Recovery.NextEligibleAt
	w.must(w.claim())
}

// freezeBatch completes the batch so that its time is over now.
func (w *world) freezeBatch() {
	w.c.Batch.CompletedAt, w.c.Batch.FreezeAt = w.now.Add(-14*day), w.now
}

func (w *world) wantRefused(err error, code recoup.Code) {
	w.Helper()
	var refusal *gatezero.Refusal
	if !errors.As(err, &refusal) || refusal.Code != code {
		w.Errorf("answered with %v, want %s", err, code)
	}
}

func events(effects gatezero.CaseEffects) []recoup.AIREvent {
	var list []recoup.AIREvent
	for _, row := range effects.AIR {
		list = append(list, row.Event)
	}
	return list
}

func (w *world) wantEvents(effects gatezero.CaseEffects, want ...recoup.AIREvent) {
	w.Helper()
	got := events(effects)
	if len(got) != len(want) {
		w.Fatalf("the AIR gets %v, want %v", got, want)
	}
	for i := range got {
		if got[i] != want[i] {
			w.Fatalf("the AIR gets %v, want %v", got, want)
		}
	}
}
