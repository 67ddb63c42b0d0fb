package gatezerotest

import (
	"errors"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/gatezero"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

func gateResults() []gateClause {
	return []gateClause{
		{"a first pass authorizes an intake", gateFirstPass},
		{"a first failure begins a recovery that waits 24 hours", gateFirstFail},
		{"of many first results each is answered for itself", gateManyResults},
		{"retries wait 24, 72 and 168 hours, each from the last failure, and then there are none", gateSchedule},
		{"a pass after the first, second and third retry re-enters as a new intake", gateReenter},
		{"a pass after the end does not count, and is noted", gateLateResult},
		{"times are kept to the microsecond", gateMicroseconds},
	}
}

func gateFirstPass(d *gateDriver) {
	d.batch("b1")
	intake := d.intakes("b1", 1)[0]
	d.wait(minute)
	c, err := d.record(intake, gatezero.Pass{Worker: "w0"})
	d.must(err)
	if c.Intake.Status != recoup.IntakeAuthorized || !c.Intake.UpdatedAt.Equal(d.now) || c.Recovery != (recoup.Recovery{}) {
		d.Errorf("passed: %+v", c)
	}
	d.wantStored(c)
	air := d.wantEvents(intake, "AUTH")[0]
	if want := (recoup.IntakeEvent{IntakeID: intake, BatchID: "b1", Event: "AUTH", Actor: "w0", At: d.now}); air != want {
		d.Errorf("the AIR has %+v, want %+v", air, want)
	}
	for _, in := range []gatezero.Input{gatezero.Pass{}, gatezero.Fail{Reason: "TIMEOUT", RecoveryID: d.id()}} {
		_, err = d.record(intake, in)
		d.wantRefused(err, gatezero.InvalidTransition)
	}
	d.wantStored(c)
	d.checkCounts("b1")
}

func gateFirstFail(d *gateDriver) {
	d.batch("b1")
	c := d.failed("b1")
	want := recoup.Recovery{
		ID: c.Recovery.ID, IntakeID: c.Intake.ID, BatchID: "b1", FailureReason: "STATE_MISMATCH", AttemptCount: 1,
		NextEligibleAt: d.now.Add(24 * time.Hour), Status: recoup.RecoveryActive, CreatedAt: d.now, UpdatedAt: d.now,
	}
	if c.Recovery != want || c.Intake.Status != recoup.IntakeFailed {
		d.Errorf("failed: %+v", c)
	}
	d.wantStored(c)
	if got, err := d.store.Recovery(d.Context(), want.ID); err != nil || got != c {
		d.Errorf("read by its recovery: %+v, %v", got, err)
	}
	if _, err := d.store.Recovery(d.Context(), d.id()); !errors.Is(err, sqldb.ErrNotFound) {
		d.Errorf("an unknown recovery is read as %v", err)
	}
	air := d.wantEvents(c.Intake.ID, "FAIL")[0]
	if air.Reason != "STATE_MISMATCH" || air.AttemptCount != 1 || air.RecoveryID != want.ID || air.Actor != "w0" {
		d.Errorf("the AIR has %+v", air)
	}
	for _, in := range []gatezero.Input{gatezero.Pass{}, gatezero.Fail{Reason: "TIMEOUT", RecoveryID: d.id()}} {
		_, err := d.record(c.Intake.ID, in)
		if err == nil {
			d.Errorf("%T is a second first result", in)
		}
	}
	d.wantStored(c)
	d.checkCounts("b1")
}

func gateManyResults(d *gateDriver) {
	d.batch("b1")
	ids := append(d.intakes("b1", 2), d.intakes("", 2)...)
	fail := func(reason string) gatezero.DecideCase {
		return d.step(gatezero.Fail{Reason: reason, RecoveryID: d.id()})
	}
	outcomes, err := d.store.RecordResults(d.Context(), []gatezero.CaseStep{
		{ID: ids[0], Decide: fail("STATE_MISSING")},
		{ID: ids[1], Decide: fail("BAD_LUCK")},
		{ID: d.id(), Decide: fail("TIMEOUT")},
		{ID: ids[2], Decide: d.step(gatezero.Pass{})},
		{ID: ids[3], Decide: fail("TIMEOUT")},
		{ID: ids[0], Decide: fail("TIMEOUT")},
	})
	d.must(err)
	for i, want := range []error{nil, &gatezero.Refusal{}, sqldb.ErrNotFound, nil, nil, &gatezero.Refusal{}} {
		var refusal *gatezero.Refusal
		if got := outcomes[i].Err; (want == nil) != (got == nil) || errors.Is(want, sqldb.ErrNotFound) != errors.Is(got, sqldb.ErrNotFound) ||
			got != nil && !errors.Is(got, sqldb.ErrNotFound) && !errors.As(got, &refusal) {
			d.Errorf("result %d is answered with %v", i, got)
		}
	}
	d.wantStored(outcomes[0].Case, outcomes[3].Case, outcomes[4].Case)
	if c := d.read(ids[1]); c.Intake.Status != recoup.IntakePending {
		d.Errorf("a refused result left %+v", c)
	}
	d.wantEvents(ids[0], "FAIL")
	d.wantEvents(ids[1])
	d.checkCounts("b1")
}

func gateSchedule(d *gateDriver) {
	c := d.failed("")
	for i, hours := range []time.Duration{24, 72, 168} {
		if want := d.now.Add(hours * time.Hour); !c.Recovery.NextEligibleAt.Equal(want) || c.Recovery.AttemptCount != i+1 {
			d.Errorf("after failure %d: attempt %d, eligible at %v, want %v", i+1, c.Recovery.AttemptCount, c.Recovery.NextEligibleAt, want)
		}
		d.now = c.Recovery.NextEligibleAt.Add(-time.Microsecond)
		if early := d.claim(10); len(early) > 0 {
			d.Fatalf("claimed before its time: %+v", early)
		}
		c = d.claimed(c)
		d.wait(5 * minute) // the next wait counts from the failure, not from the claim
		var err error
		c, err = d.finish(c.Recovery.ID, failing(c, "TIMEOUT"))
		d.must(err)
		d.wantStored(c)
	}
	if c.Recovery.Status != recoup.RecoveryExhausted || c.Recovery.AttemptCount != 3 || c.Recovery.FailureReason != "TIMEOUT" {
		d.Errorf("at the end it is %+v", c.Recovery)
	}
	if c.Intake.Status != recoup.IntakeFailed {
		d.Errorf("the intake is %s", c.Intake.Status)
	}
	d.wait(365 * day)
	if late := d.claim(10); len(late) > 0 {
		d.Errorf("claimed after the end: %+v", late)
	}
	d.wantEvents(c.Intake.ID, "FAIL", "FAIL", "FAIL", "FAIL", "EXHAUSTED")
}

func gateReenter(d *gateDriver) {
	d.batch("b1")
	for retry := 1; retry <= 3; retry++ {
		c := d.failed("b1")
		events := []recoup.AIREvent{"FAIL"}
		for range retry - 1 {
			var err error
			c = d.claimed(c)
			c, err = d.finish(c.Recovery.ID, failing(c, "API_UNAVAILABLE"))
			d.must(err)
			events = append(events, "FAIL")
		}
		c = d.claimed(c)
		d.wait(minute)
		in := d.pass(c)
		was := c
		c, err := d.finish(c.Recovery.ID, in)
		d.must(err)
		d.wantReentry(was, c, in.NewIntakeID)
		d.wantEvents(c.Intake.ID, append(events, "AUTH", "REENTER")...)
	}
	d.checkCounts("b1")
}

// wantReentry says that all five effects of a pass are there.
func (d *gateDriver) wantReentry(was, c gatezero.Case, fresh recoup.ID) {
	d.Helper()
	d.wantStored(c)
	if c.Recovery.Status != recoup.RecoverySucceeded || c.Recovery.AttemptCount != was.Recovery.AttemptCount || c.Lease != (gatezero.RecoveryLease{}) {
		d.Errorf("the recovery is %+v, leased %+v", c.Recovery, c.Lease)
	}
	if c.Intake.Status != recoup.IntakeReenterSucceeded {
		d.Errorf("the intake is %s", c.Intake.Status)
	}
	want := was.Intake
	want.ID, want.PreviousID, want.ImportKey = fresh, was.Intake.ID, ""
	want.Status, want.CreatedAt, want.UpdatedAt = recoup.IntakeAuthorized, d.now, d.now
	if got := d.read(fresh); got.Intake != want || got.Recovery != (recoup.Recovery{}) {
		d.Errorf("the new intake is %+v, want %+v", got, want)
	}
	rows, err := d.store.Timeline(d.Context(), fresh, sqldb.MaxPage) // with the failed one's rows too
	d.must(err)
	if n := len(rows); n < 3 || rows[n-2].Event != "AUTH" || rows[n-2].IntakeID != was.Intake.ID ||
		rows[n-1].Event != "REENTER" || rows[n-1].NewIntakeID != fresh || rows[n-1].IntakeID != was.Intake.ID {
		d.Errorf("the AIR has %+v", rows)
	}
}

func gateLateResult(d *gateDriver) {
	d.batch("b1")
	c := d.failed("b1")
	d.stepBatch("b1", gatezero.Complete{})
	c = d.claimed(c)
	token := c.Lease.LeaseToken
	d.wait(14 * day)
	d.freeze(10, 1)
	ended := d.read(c.Intake.ID)
	if ended.Recovery.Status != recoup.RecoveryExhausted {
		d.Fatalf("the freeze left %+v", ended)
	}
	_, err := d.finish(c.Recovery.ID, gatezero.Pass{Token: token, NewIntakeID: d.id(), Worker: "w1"})
	d.wantRefused(err, gatezero.InvalidTransition)
	_, err = d.finish(c.Recovery.ID, failing(c, "TIMEOUT"))
	d.wantRefused(err, gatezero.InvalidTransition)
	d.wantStored(ended)
	rows := d.wantEvents(c.Intake.ID, "FAIL", "EXHAUSTED", "LATE_RESULT")
	if rows[2].Actor != "w1" || rows[1].Reason != gatezero.BatchFrozen {
		d.Errorf("the AIR has %+v", rows)
	}
}

func gateMicroseconds(d *gateDriver) {
	d.now = d.now.Add(1234567) // nanoseconds
	d.batch("b1")
	c := d.failed("b1")
	want := c.Recovery.NextEligibleAt.Truncate(time.Microsecond)
	got := d.read(c.Intake.ID)
	if !got.Recovery.NextEligibleAt.Equal(want) || !got.Intake.CreatedAt.Equal(d.now.Truncate(time.Microsecond)) {
		d.Errorf("stored is %+v", got)
	}
	got = d.claimed(got)
	if _, err := d.finish(c.Recovery.ID, failing(got, "TIMEOUT")); err != nil {
		d.Errorf("a failure at the very time it is eligible is answered with %v", err)
	}
}
