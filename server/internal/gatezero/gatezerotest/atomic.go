package gatezerotest

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
func breaking(decide gatezero.DecideCase, spoil func(next *gatezero.Case, effects *gatezero.CaseEffects)) gatezero.DecideCase {
	return func(current gatezero.Case, now time.Time) (gatezero.Case, gatezero.CaseEffects, error) {
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
	for name, spoil := range map[string]func(next *gatezero.Case, effects *gatezero.CaseEffects){
		"the recovery": func(next *gatezero.Case, _ *gatezero.CaseEffects) { next.Recovery.AttemptCount = 4 },
		"the new intake": func(_ *gatezero.Case, effects *gatezero.CaseEffects) {
			effects.Reentry.ID = other.Intake.ID // which is taken
		},
		"the old intake": func(next *gatezero.Case, _ *gatezero.CaseEffects) { next.Intake.Status = recoup.IntakeAuthorized },
		"AUTH":           func(_ *gatezero.Case, effects *gatezero.CaseEffects) { effects.AIR[0].Event = "NONSENSE" },
		"REENTER":        func(_ *gatezero.Case, effects *gatezero.CaseEffects) { effects.AIR[1].IntakeID = recoup.ID{} },
		"the lease": func(next *gatezero.Case, _ *gatezero.CaseEffects) {
			next.Lease = gatezero.RecoveryLease{Lapses: gatezero.MaxLapses}
		},
	} {
		in := d.pass(c)
		step := gatezero.CaseStep{ID: c.Recovery.ID, Decide: breaking(d.step(in), spoil)}
		if _, err := d.store.FinishRecoveries(d.Context(), []gatezero.CaseStep{step}); err == nil {
			d.Errorf("%s: a wrong write went through", name)
		}
		d.wantUntouched(c, in.NewIntakeID)
	}
	d.giveUp(c)
	d.checkCounts("b1")
}

// giveUp passes a case for a caller that gives up between reading and writing.
// A store may answer with that or finish, but not something in between.
func (d *gateDriver) giveUp(was gatezero.Case) {
	d.Helper()
	ctx, cancel := context.WithCancel(d.Context())
	defer cancel()
	in := d.pass(was)
	decide := breaking(d.step(in), func(*gatezero.Case, *gatezero.CaseEffects) { cancel() })
	c, err := only(d.store.FinishRecoveries(ctx, []gatezero.CaseStep{{ID: was.Recovery.ID, Decide: decide}}))
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
func (d *gateDriver) wantUntouched(c gatezero.Case, fresh recoup.ID) {
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
	for name, spoil := range map[string]func(next *gatezero.Case, effects *gatezero.CaseEffects){
		"the recovery": func(next *gatezero.Case, _ *gatezero.CaseEffects) { next.Recovery.AttemptCount = 2 },
		"its batch":    func(next *gatezero.Case, _ *gatezero.CaseEffects) { next.Recovery.BatchID = "" },
		"the intake":   func(next *gatezero.Case, _ *gatezero.CaseEffects) { next.Intake.Status = recoup.IntakeReenterSucceeded },
		"the AIR":      func(_ *gatezero.Case, effects *gatezero.CaseEffects) { effects.AIR[0].Event = "" },
	} {
		good := gatezero.CaseStep{ID: intakes[1], Decide: d.step(gatezero.Fail{Reason: "TIMEOUT", RecoveryID: d.id()})}
		bad := gatezero.CaseStep{ID: intakes[0], Decide: breaking(d.step(gatezero.Fail{Reason: "TIMEOUT", RecoveryID: d.id()}), spoil)}
		if _, err := d.store.RecordResults(d.Context(), []gatezero.CaseStep{good, bad}); err == nil {
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
	spoiled := breaking(d.step(gatezero.Kill{By: "ada"}), func(next *gatezero.Case, effects *gatezero.CaseEffects) {
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
			_, err := d.store.RecordResults(ctx, []gatezero.CaseStep{{ID: pending, Decide: d.step(gatezero.Pass{})}})
			return err
		},
		"finish": func() error {
			_, err := d.store.FinishRecoveries(ctx, []gatezero.CaseStep{{ID: c.Recovery.ID, Decide: d.step(d.pass(c))}})
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
