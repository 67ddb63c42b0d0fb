package gatezerotest

import (
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/gatezero"
)

func gateClaims() []gateClause {
	return []gateClause{
		{"the longest waiting are claimed first, whatever their batch", gateClaimOrder},
		{"what is leased is not claimed again before its lease has run out", gateClaimHeld},
		{"two leases that run out use no attempt, the third is a timeout", gateLapses},
		{"a lease that ran out is lost only when somebody notices", gateLeaseLost},
		{"only the token of the lease may give a result", gateTokens},
	}
}

func gateKills() []gateClause {
	return []gateClause{
		{"a kill takes leases away at once, and results are refused without using an attempt", gateKill},
		{"what a kill holds back is not in the way of others", gateKillOthers},
		{"a kill and a release are noted once", gateKillTwice},
	}
}

func recoveryIDs(cases []gatezero.Case) []recoup.ID {
	list := make([]recoup.ID, len(cases))
	for i := range cases {
		list[i] = cases[i].Recovery.ID
	}
	return list
}

func gateClaimOrder(d *gateDriver) {
	want := make([]recoup.ID, 12)
	for i := range want {
		want[len(want)-1-i] = d.id() // the oldest id fails last
	}
	for i, id := range want {
		batch := []string{"b1", "b2", "b3", ""}[i%4]
		if batch != "" {
			d.batch(batch)
		}
		_, err := d.record(d.intakes(batch, 1)[0], gatezero.Fail{Reason: "TIMEOUT", RecoveryID: id})
		d.must(err)
		d.wait(minute)
	}
	d.wait(day)
	var got []recoup.ID
	for _, n := range []int{1, 1, 1, 2, 7} { // what is held is not in the way
		claimed := recoveryIDs(d.claim(n))
		if len(claimed) != n {
			d.Errorf("claimed %d, want %d", len(claimed), n)
		}
		got = append(got, claimed...)
	}
	if !slices.Equal(got, want) {
		d.Errorf("claimed %v, want %v", got, want)
	}
	if rest := d.claim(100); len(rest) > 0 {
		d.Errorf("claimed twice: %v", recoveryIDs(rest))
	}
	if none := d.claim(0); len(none) > 0 {
		d.Errorf("claimed %d instead of none", len(none))
	}
}

func gateClaimHeld(d *gateDriver) {
	c := d.claimed(d.failed(""))
	if c.Lease.LeaseWorker != "w1" || !c.Lease.LeasedAt.Equal(d.now) || !c.Lease.LeaseEndsAt.Equal(d.now.Add(gateLease)) {
		d.Errorf("leased: %+v", c.Lease)
	}
	d.wantStored(c)
	d.wait(gateLease - time.Microsecond)
	if got := d.claim(10); len(got) > 0 {
		d.Errorf("claimed while it is held: %+v", got)
	}
	d.wait(time.Microsecond)
	again := d.claimedNow(c)
	if again.Lease.LeaseToken == c.Lease.LeaseToken || again.Lease.Lapses != 1 || again.Recovery != c.Recovery {
		d.Errorf("claimed again: %+v", again)
	}
	d.wantStored(again)
}

func gateLapses(d *gateDriver) {
	c := d.claimed(d.failed(""))
	first := c.Recovery
	for lapses := 1; lapses <= 2; lapses++ {
		d.wait(gateLease)
		c = d.claimedNow(c)
		if c.Lease.Lapses != lapses || c.Recovery != first {
			d.Errorf("after %d lapses: %+v", lapses, c)
		}
	}
	d.wait(gateLease)
	if got := d.claim(10); len(got) > 0 {
		d.Errorf("claimed in its wait: %+v", got)
	}
	got := d.read(c.Intake.ID)
	want := first
	want.FailureReason, want.AttemptCount, want.UpdatedAt, want.NextEligibleAt = "TIMEOUT", 2, d.now, d.now.Add(72*time.Hour)
	if got.Recovery != want || got.Lease != (gatezero.RecoveryLease{}) {
		d.Errorf("after the third lapse it is %+v, %+v", got.Recovery, got.Lease)
	}
	d.wantEvents(c.Intake.ID, "FAIL", "LAPSE", "LAPSE", "FAIL")
	if c = d.claimed(got); c.Lease.Lapses != 0 {
		d.Errorf("the next attempt begins with %d lapses", c.Lease.Lapses)
	}
}

func gateLeaseLost(d *gateDriver) {
	first := d.claimed(d.failed(""))
	d.wait(gateLease)
	second := d.claimedNow(first)
	_, err := d.finish(first.Recovery.ID, d.pass(first))
	d.wantRefused(err, gatezero.LeaseLost)
	d.wantStored(second)
	d.wait(2 * gateLease) // it ran out, but nobody has noticed
	c, err := d.finish(second.Recovery.ID, failing(second, "TIMEOUT"))
	d.must(err)
	if c.Recovery.AttemptCount != 2 || c.Lease != (gatezero.RecoveryLease{}) {
		d.Errorf("a result in time became %+v", c)
	}
	d.wantStored(c)
}

func gateTokens(d *gateDriver) {
	c := d.failed("")
	_, err := d.finish(c.Recovery.ID, gatezero.Fail{Reason: "TIMEOUT"})
	d.wantRefused(err, gatezero.LeaseLost)
	c = d.claimed(c)
	for _, token := range []recoup.ID{{}, d.id()} {
		_, err := d.finish(c.Recovery.ID, gatezero.Fail{Token: token, Reason: "TIMEOUT"})
		d.wantRefused(err, gatezero.LeaseLost)
		_, err = d.finish(c.Recovery.ID, gatezero.Pass{Token: token, NewIntakeID: d.id()})
		d.wantRefused(err, gatezero.LeaseLost)
	}
	_, err = d.record(c.Intake.ID, d.pass(c)) // a first result it is not
	d.wantRefused(err, gatezero.InvalidTransition)
	d.wantStored(c)
	ended, err := d.finish(c.Recovery.ID, d.pass(c))
	d.must(err)
	_, err = d.finish(c.Recovery.ID, d.pass(c))
	d.wantRefused(err, gatezero.InvalidTransition)
	d.wantStored(ended)
	d.wantEvents(c.Intake.ID, "FAIL", "AUTH", "REENTER")
}

func gateKill(d *gateDriver) {
	d.batch("b1")
	c := d.claimed(d.failed("b1"))
	b := d.stepBatch("b1", gatezero.Kill{By: "ada", Reason: "too many"})
	if !b.KilledAt.Equal(d.now) || b.KilledBy != "ada" || b.KillReason != "too many" {
		d.Errorf("killed: %+v", b)
	}
	want := c
	want.Batch, want.Lease = b, gatezero.RecoveryLease{}
	d.wantStored(want)
	for _, in := range []gatezero.Input{d.pass(c), failing(c, "TIMEOUT")} {
		_, err := d.finish(c.Recovery.ID, in)
		d.wantRefused(err, gatezero.BatchKilled)
	}
	d.wantStored(want)
	d.wait(day)
	if got := d.claim(10); len(got) > 0 {
		d.Errorf("claimed in a killed batch: %+v", got)
	}

	d.stepBatch("b1", gatezero.Release{By: "bob"})
	_, err := d.finish(c.Recovery.ID, d.pass(c))
	d.wantRefused(err, gatezero.LeaseLost)
	again := d.claimedNow(c)
	if again.Recovery != c.Recovery || again.Lease.Lapses != 0 {
		d.Errorf("a kill has used something: %+v", again)
	}
	d.wantEvents(c.Intake.ID, "FAIL", "REVOKE")
	rows := d.wantBatchEvents("b1", "KILL", "RELEASE")
	if rows[0].Actor != "ada" || rows[0].Reason != "too many" || rows[1].Actor != "bob" {
		d.Errorf("the AIR has %+v", rows)
	}
}

func gateKillOthers(d *gateDriver) {
	d.batch("b1")
	d.batch("b2")
	for range 20 {
		d.failed("b1")
	}
	other, loose := d.failed("b2"), d.failed("")
	d.wait(day)
	held := d.claim(100)
	if len(held) != 22 {
		d.Fatalf("claimed %d", len(held))
	}
	d.stepBatch("b1", gatezero.Kill{By: "ada"})
	for _, c := range held {
		_, err := d.finish(c.Recovery.ID, failing(c, "TIMEOUT"))
		if c.Batch.ID == "b1" {
			d.wantRefused(err, gatezero.BatchKilled)
		} else {
			d.must(err)
		}
	}
	d.wait(72 * time.Hour)
	if got := recoveryIDs(d.claim(1)); !slices.Equal(got, []recoup.ID{other.Recovery.ID}) {
		d.Errorf("claimed %v", got)
	}
	if got := recoveryIDs(d.claim(100)); !slices.Equal(got, []recoup.ID{loose.Recovery.ID}) {
		d.Errorf("claimed %v", got)
	}
	fresh := d.intakes("b1", 1)[0]
	_, err := d.record(fresh, gatezero.Fail{Reason: "STATE_MISMATCH", RecoveryID: d.id(), Worker: "w0"})
	d.wantRefused(err, gatezero.BatchKilled)
	_, err = d.record(fresh, gatezero.Pass{Worker: "w0"})
	d.wantRefused(err, gatezero.BatchKilled)
	d.stepBatch("b1", gatezero.Release{By: "ada"})
	if c := d.fails(fresh); c.Recovery.Status != recoup.RecoveryActive {
		d.Errorf("a failure after the release is %+v", c.Recovery)
	}
	d.checkCounts("b1", "b2")
}

func gateKillTwice(d *gateDriver) {
	d.batch("b1")
	d.stepBatch("b1", gatezero.Release{By: "ada"})
	killed := d.stepBatch("b1", gatezero.Kill{By: "ada"})
	d.wait(minute)
	if again := d.stepBatch("b1", gatezero.Kill{By: "bob"}); again != killed {
		d.Errorf("killed again it is %+v", again)
	}
	d.stepBatch("b1", gatezero.Release{By: "ada"})
	if b := d.stepBatch("b1", gatezero.Release{By: "bob"}); b.Stopped() {
		d.Errorf("released it is %+v", b)
	}
	d.wantBatchEvents("b1", "KILL", "RELEASE")
}
