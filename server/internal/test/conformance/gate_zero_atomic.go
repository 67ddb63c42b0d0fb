package conformance

import (
	"context"
	"errors"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/gatezero"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

func gateAtomicity() []gateClause {
	return []gateClause{
		{"a pass that breaks off leaves none of its five effects", gateHalfPass},
		{"a first failure that breaks off leaves nothing", gateHalfFail},
		{"a kill that breaks off leaves the leases", gateHalfKill},
		{"a verb whose caller has given up does nothing", gateCancelled},
	}
}

// breaking lets a decision be made and then spoils what comes of it.
func breaking(decide store.DecideCase, spoil func(next *store.Case, effects *store.CaseEffects)) store.DecideCase {
	return func(current store.Case, now time.Time) (store.Case, store.CaseEffects, error) {
		next, effects, err := decide(current, now)
		spoil(&next, &effects)
		return next, effects, err
	}
}

// gateHalfPass makes each of the writes of a pass fail in turn, the others being
// as they should, and the caller give up between reading and writing.
func gateHalfPass(d *gateDriver) {
	d.batch("b1")
	c := d.claimed(d.failed("b1"))
	other := d.failed("b1")
	for name, spoil := range map[string]func(next *store.Case, effects *store.CaseEffects){
		"the recovery": func(next *store.Case, _ *store.CaseEffects) { next.Recovery.AttemptCount = 4 },
		"the new intake": func(_ *store.Case, effects *store.CaseEffects) {
			effects.Reentry.ID = other.Intake.ID // which is taken
		},
		"the old intake": func(next *store.Case, _ *store.CaseEffects) { next.Intake.Status = recoup.IntakeAuthorized },
		"AUTH":           func(_ *store.Case, effects *store.CaseEffects) { effects.AIR[0].Event = "NONSENSE" },
		"REENTER":        func(_ *store.Case, effects *store.CaseEffects) { effects.AIR[1].IntakeID = recoup.ID{} },
		"the lease": func(next *store.Case, _ *store.CaseEffects) {
			next.Lease = store.RecoveryLease{Lapses: gatezero.MaxLapses}
		},
	} {
		in := d.pass(c)
		step := store.CaseStep{ID: c.Recovery.ID, Decide: breaking(d.step(in), spoil)}
		if _, err := d.store.FinishRecoveries(d.Context(), []store.CaseStep{step}); err == nil {
			d.Errorf("%s: a wrong write went through", name)
		}
		d.wantUntouched(c, in.NewIntakeID)
	}
	d.giveUp(c)
	d.checkCounts("b1")
}

// giveUp passes a case for a caller that gives up between reading and writing.
// A store may answer with that or finish, but not something in between.
func (d *gateDriver) giveUp(was store.Case) {
	d.Helper()
	ctx, cancel := context.WithCancel(d.Context())
	defer cancel()
	in := d.pass(was)
	decide := breaking(d.step(in), func(*store.Case, *store.CaseEffects) { cancel() })
	c, err := only(d.store.FinishRecoveries(ctx, []store.CaseStep{{ID: was.Recovery.ID, Decide: decide}}))
	if err != nil {
		if !errors.Is(err, context.Canceled) {
			d.Errorf("a caller that gave up is answered with %v", err)
		}
		d.wantUntouched(was, in.NewIntakeID)
		c, err = d.finish(was.Recovery.ID, in)
		d.must(err)
	} else {
		d.know(in.NewIntakeID)
	}
	d.wantReentry(was, c, in.NewIntakeID)
}

// wantUntouched says that a claimed case is as it was, and that nothing took
// over from it.
func (d *gateDriver) wantUntouched(c store.Case, fresh recoup.ID) {
	d.Helper()
	d.wantStored(c)
	d.wantEvents(c.Intake.ID, "FAIL")
	if _, err := d.store.Intake(d.Context(), fresh); !errors.Is(err, sqldb.ErrNotFound) {
		d.Errorf("a new intake is there: %v", err)
	}
	d.checkCounts("b1")
}

func gateHalfFail(d *gateDriver) {
	d.batch("b1")
	intakes := d.intakes("b1", 2)
	before := d.read(intakes[0])
	for name, spoil := range map[string]func(next *store.Case, effects *store.CaseEffects){
		"the recovery": func(next *store.Case, _ *store.CaseEffects) { next.Recovery.AttemptCount = 2 },
		"its batch":    func(next *store.Case, _ *store.CaseEffects) { next.Recovery.BatchID = "" },
		"the intake":   func(next *store.Case, _ *store.CaseEffects) { next.Intake.Status = recoup.IntakeReenterSucceeded },
		"the AIR":      func(_ *store.Case, effects *store.CaseEffects) { effects.AIR[0].Event = "" },
	} {
		good := store.CaseStep{ID: intakes[1], Decide: d.step(gatezero.Fail{Reason: "TIMEOUT", RecoveryID: d.id()})}
		bad := store.CaseStep{ID: intakes[0], Decide: breaking(d.step(gatezero.Fail{Reason: "TIMEOUT", RecoveryID: d.id()}), spoil)}
		if _, err := d.store.RecordResults(d.Context(), []store.CaseStep{good, bad}); err == nil {
			d.Errorf("%s: a wrong write went through", name)
		}
		d.wantStored(before)
		d.wantEvents(intakes[0])
		d.wantEvents(intakes[1])
		d.checkCounts("b1")
	}
	d.fails(intakes[0])
	d.fails(intakes[1])
}

func gateHalfKill(d *gateDriver) {
	d.batch("b1")
	c := d.claimed(d.failed("b1"))
	spoiled := breaking(d.step(gatezero.Kill{By: "ada"}), func(next *store.Case, effects *store.CaseEffects) {
		if next.Recovery.Status != "" {
			effects.AIR[0].Event = "NONSENSE"
		}
	})
	if _, err := d.store.StepBatch(d.Context(), "b1", spoiled); !errors.Is(err, store.ErrRefused) {
		d.Errorf("a wrong write is answered with %v", err)
	}
	d.wantStored(c)
	d.wantBatchEvents("b1")
}

func gateCancelled(d *gateDriver) {
	d.batch("b1")
	c := d.claimed(d.failed("b1"))
	pending := d.intakes("b1", 1)[0]
	ctx, cancel := context.WithCancel(d.Context())
	cancel()
	for name, verb := range map[string]func() error{
		"create": func() error { _, err := d.store.CreateBatch(ctx, "b2", d.now); return err },
		"import": func() error { _, err := d.store.ImportIntakes(ctx, "b1", d.now, d.candidates(50, 1)); return err },
		"kill":   func() error { _, err := d.store.StepBatch(ctx, "b1", d.step(gatezero.Kill{})); return err },
		"freeze": func() error { _, err := d.store.FreezeDue(ctx, d.now, 10, d.step(gatezero.Freeze{})); return err },
		"record": func() error {
			_, err := d.store.RecordResults(ctx, []store.CaseStep{{ID: pending, Decide: d.step(gatezero.Pass{})}})
			return err
		},
		"finish": func() error {
			_, err := d.store.FinishRecoveries(ctx, []store.CaseStep{{ID: c.Recovery.ID, Decide: d.step(d.pass(c))}})
			return err
		},
	} {
		if err := verb(); !errors.Is(err, context.Canceled) {
			d.Errorf("%s is answered with %v", name, err)
		}
	}
	d.wantStored(c)
	d.wantEvents(pending)
	d.checkCounts("b1")
}
