package gatezerotest

import (
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/gatezero"
)

func gateFreezes() []gateClause {
	return []gateClause{
		{"fourteen days after it is complete a batch freezes: what is ACTIVE is EXHAUSTED, killed or not", gateFreeze},
		{"a freeze goes on in chunks of its limit", gateFreezeBounded},
		{"what is leased when its batch freezes finishes first: a pass counts, a failure exhausts", gateFreezeLeased},
		{"a failure in a frozen batch is born EXHAUSTED, a first pass still counts", gateFreezeBorn},
		{"without a batch, or without its completion, there is no freeze", gateFreezeNot},
	}
}

func gateFreeze(d *gateDriver) {
	d.batch("b1")
	d.batch("b2")
	a, b, loose := d.failed("b1"), d.failed("b2"), d.failed("")
	d.stepBatch("b1", gatezero.Complete{})
	d.stepBatch("b2", gatezero.Complete{})
	d.stepBatch("b2", gatezero.Kill{By: "ada"})
	d.wait(14*day - time.Microsecond)
	d.freeze(10, 0)
	d.wait(time.Microsecond)
	if got := d.claim(1); len(got) != 1 || got[0].Recovery.ID != loose.Recovery.ID { // the sweep need not have come by
		d.Errorf("claimed beside frozen batches: %+v", got)
	}
	d.freeze(1, 1)
	d.freeze(10, 1)
	d.freeze(10, 0)
	for _, c := range []gatezero.Case{a, b} {
		got := d.read(c.Intake.ID)
		want := c.Recovery
		want.Status, want.UpdatedAt = recoup.RecoveryExhausted, d.now
		if got.Recovery != want || !got.Batch.FrozenAt.Equal(d.now) || got.Intake != c.Intake {
			d.Errorf("frozen: %+v", got)
		}
		d.wantEvents(c.Intake.ID, "FAIL", "EXHAUSTED")
	}
	d.wantBatchEvents("b1", "FREEZE")
	d.wantBatchEvents("b2", "KILL", "FREEZE")
	d.stepBatch("b2", gatezero.Release{By: "ada"})
	if got := d.claim(10); len(got) > 0 {
		d.Errorf("claimed after the freeze: %+v", got)
	}
	d.checkCounts("b1", "b2")
}

func gateFreezeBounded(d *gateDriver) {
	d.batch("b1")
	for _, intake := range d.intakes("b1", 5) {
		d.fails(intake)
	}
	d.stepBatch("b1", gatezero.Complete{})
	d.wait(14 * day)
	d.freeze(2, 2)
	if s, err := d.store.Batch(d.Context(), "b1"); err != nil || s.Recoveries[recoup.RecoveryActive] != 3 || !s.FrozenAt.IsZero() {
		d.Errorf("after two of five: %+v, %v", s, err)
	}
	d.freeze(2, 2)
	d.freeze(2, 1)
	d.wantBatchEvents("b1", "FREEZE")
	d.checkCounts("b1")
}

func gateFreezeLeased(d *gateDriver) {
	d.batch("b1")
	for range 4 {
		d.failed("b1")
	}
	d.stepBatch("b1", gatezero.Complete{})
	d.wait(14*day - time.Second)
	held := d.claim(3)
	d.wait(time.Minute)
	d.freeze(1, 1) // what is held is not in the way
	d.freeze(10, 0)

	passed, err := d.finish(held[0].Recovery.ID, d.pass(held[0]))
	d.must(err)
	if passed.Recovery.Status != recoup.RecoverySucceeded {
		d.Errorf("a pass became %+v", passed.Recovery)
	}
	failed, err := d.finish(held[1].Recovery.ID, failing(held[1], "TIMEOUT"))
	d.must(err)
	if failed.Recovery.Status != recoup.RecoveryExhausted || failed.Recovery.AttemptCount != 2 {
		d.Errorf("a failure became %+v", failed.Recovery)
	}
	d.wantStored(passed, failed)
	d.wantEvents(failed.Intake.ID, "FAIL", "FAIL", "EXHAUSTED")
	d.freeze(10, 0)
	d.wantBatchEvents("b1") // one is held still

	d.wait(gateLease)
	d.freeze(10, 1)
	if c := d.read(held[2].Intake.ID); c.Recovery.Status != recoup.RecoveryExhausted || c.Recovery.AttemptCount != 1 || c.Lease != (gatezero.RecoveryLease{}) {
		d.Errorf("after its lease ran out it is %+v", c)
	}
	d.wantBatchEvents("b1", "FREEZE")
	d.checkCounts("b1")
}

func gateFreezeBorn(d *gateDriver) {
	d.batch("b1")
	intakes := d.intakes("b1", 3)
	d.stepBatch("b1", gatezero.Complete{})
	for i, wait := range []time.Duration{14 * day, day} { // before and after the sweep
		d.wait(wait)
		c := d.fails(intakes[i])
		if c.Recovery.Status != recoup.RecoveryExhausted || c.Recovery.AttemptCount != 1 || c.Intake.Status != recoup.IntakeFailed {
			d.Errorf("born: %+v", c)
		}
		d.wantStored(c)
		d.wantEvents(intakes[i], "FAIL", "EXHAUSTED")
		d.freeze(10, 0)
	}
	d.wantBatchEvents("b1", "FREEZE")
	c, err := d.record(intakes[2], gatezero.Pass{})
	d.must(err)
	if c.Intake.Status != recoup.IntakeAuthorized {
		d.Errorf("passed: %+v", c)
	}
	d.checkCounts("b1")
}

func gateFreezeNot(d *gateDriver) {
	d.batch("b1")
	d.failed("b1")
	d.failed("")
	d.wait(365 * day)
	d.freeze(10, 0)
	if got := d.claim(10); len(got) != 2 {
		d.Errorf("claimed %d, want 2", len(got))
	}
}
