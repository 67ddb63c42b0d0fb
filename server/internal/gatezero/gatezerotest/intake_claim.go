package gatezerotest

import (
	"bytes"
	"slices"
	"sync"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/gatezero"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/test/conformance"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

func gateIntakeClaims() []gateClause {
	return []gateClause{
		{"new intakes are handed out oldest first, each to one worker, until its turn is over", gateTurns},
		{"no new intake of a killed batch is handed out, and those of a frozen one are", gateTurnsHeldBack},
		{"of many who claim new intakes at once none gets what another has", gateTurnsRaced},
		{"a claim that asks for one batch gets nothing else", gateOneBatch},
		{"a retry that is given back uses nothing up", gateGivenBack},
		{"a new intake that is given back is there for others, and only its worker gives it back", gateTurnReturned},
		{"intakes are listed newest first by batch and status, page by page", gateIntakeList},
		{"an intake that comes again with its id is the same", gateSameID},
		{"recoveries are counted by status and last reason", gateReasons},
		{"the audit says who used the kill switch and why, and has the freeze", gateAudit},
	}
}

// take claims up to n new intakes for a worker.
func (d *gateDriver) take(worker string, n int) []recoup.ID {
	d.Helper()
	list, _, err := d.store.ClaimPending(d.Context(), gatezero.IntakeClaim{Worker: worker, Limit: n, Now: d.now, Lease: gateLease})
	d.must(err)
	ids := make([]recoup.ID, len(list))
	for i := range list {
		if ids[i] = list[i].ID; list[i].Status != recoup.IntakePending || list[i].CompanyName == "" {
			d.Errorf("handed out is %+v", list[i])
		}
	}
	return ids
}

func (d *gateDriver) wantIDs(got, want []recoup.ID, what string) {
	d.Helper()
	if !slices.Equal(got, want) {
		d.Errorf("%s: got %d, %v, want %d, %v", what, len(got), got, len(want), want)
	}
}

func gateTurns(d *gateDriver) {
	d.batch("b1")
	d.batch("b2")
	var all []recoup.ID
	for _, batch := range []string{"b2", "", "b1", "b2"} {
		all = append(all, d.intakes(batch, 2)...)
	}
	d.wantIDs(d.take("w1", 3), all[:3], "the first")
	d.wantIDs(d.take("w2", 3), all[3:6], "the next")
	d.wait(gateLease - minute)
	_, err := d.record(all[0], gatezero.Pass{Worker: "w1"})
	d.must(err)
	d.fails(all[6]) // somebody who had not claimed it
	d.wantIDs(d.take("w3", 10), all[7:], "what is left")
	d.wait(minute)
	d.wantIDs(d.take("w3", 10), all[1:6], "those whose turn is over")
	d.wantIDs(d.take("w3", 0), nil, "nothing")
	c, err := d.record(all[1], gatezero.Pass{Worker: "w1"}) // late, and the first all the same
	d.must(err)
	d.wantStored(c)
}

func gateTurnReturned(d *gateDriver) {
	all, until := d.intakes("", 3), d.now.Add(gateLease)
	give := func(i int, worker string, until time.Time) {
		d.Helper()
		d.must(d.store.ReturnPending(d.Context(), all[i], worker, until))
	}
	d.wantIDs(d.take("w1", 2), all[:2], "the first")
	give(0, "w2", until)
	give(0, "w1", until.Add(time.Second)) // of another turn
	give(2, "w1", until)                  // nobody has it
	d.wantIDs(d.take("w2", 10), all[2:], "what nobody has")
	give(0, "w1", until)
	d.wantIDs(d.take("w2", 10), all[:1], "what was given back")
	give(0, "w1", until) // it is another's
	d.wantIDs(d.take("w3", 10), nil, "nothing")
	_, err := d.record(all[1], gatezero.Pass{Worker: "w1"})
	d.must(err)
	give(1, "w1", until)
	d.wantIDs(d.take("w3", 10), nil, "what has its result")
}

// gateOneBatch wants claims that ask for one batch to see nothing else.
func gateOneBatch(d *gateDriver) {
	d.batch("b1")
	d.batch("b2")
	var all [][]recoup.ID
	for _, batch := range []string{"b1", "", "b2"} {
		all = append(all, d.intakes(batch, 2))
	}
	pending := func(batch string, limit int) (ids []recoup.ID) {
		d.Helper()
		taken, _, err := d.store.ClaimPending(d.Context(), gatezero.IntakeClaim{Batch: batch, Worker: "w1", Limit: limit, Now: d.now, Lease: gateLease})
		d.must(err)
		for i := range taken {
			ids = append(ids, taken[i].ID)
		}
		return ids
	}
	d.wantIDs(pending("b2", 1), all[2][:1], "the first of a batch")
	d.wantIDs(pending("b3", 10), nil, "a batch that is not there")
	d.wantIDs(pending("b2", 10), all[2][1:], "the rest of the batch")
	d.wantIDs(pending("", 10), slices.Concat(all[0], all[1]), "everything else")
	for _, id := range slices.Concat(all...) {
		d.fails(id)
	}
	d.wait(day)
	eligible := func(batch string) (ids []recoup.ID) {
		d.Helper()
		cases, err := d.store.ClaimEligible(d.Context(), gatezero.RecoveryClaim{Batch: batch, Limit: 10, Now: d.now,
			Decide: func(c gatezero.Case, now time.Time) (gatezero.Case, gatezero.CaseEffects, error) {
				return d.step(gatezero.Claim{Token: d.id(), Worker: "w1", Lease: gateLease})(c, now)
			}})
		d.must(err)
		for i := range cases {
			ids = append(ids, cases[i].Intake.ID)
		}
		return ids
	}
	d.wantIDs(eligible("b3"), nil, "retries of a batch that is not there")
	d.wantIDs(eligible("b1"), all[0], "retries of a batch")
	d.stepBatch("b2", gatezero.Kill{By: "ada"})
	d.wantIDs(eligible("b2"), nil, "retries of a killed batch")
	d.wantIDs(eligible(""), all[1], "all other retries")
}

func gateGivenBack(d *gateDriver) {
	d.batch("b1")
	failed := d.claimed(d.failed("b1"))
	d.wait(gateLease) // one lease expires
	held := d.claimedNow(failed)
	for range 2 * gatezero.MaxLapses {
		back, err := d.finish(held.Recovery.ID, gatezero.GiveBack{Token: held.Lease.LeaseToken})
		d.must(err)
		want := held
		want.Lease.Lease = recoup.Lease{}
		if back != want || want.Lease.Lapses != 1 {
			d.Fatalf("given back it is %+v, want %+v", back, want)
		}
		d.wantStored(want)
		_, err = d.finish(held.Recovery.ID, gatezero.GiveBack{Token: held.Lease.LeaseToken})
		d.wantRefused(err, gatezero.LeaseLost)
		held = d.claimedNow(back)
	}
	d.wantEvents(held.Intake.ID, recoup.AIRFail, recoup.AIRLapse)
}

func gateTurnsHeldBack(d *gateDriver) {
	d.batch("b1")
	d.batch("b2")
	first, second := d.intakes("b1", 2), d.intakes("b2", 2)
	d.stepBatch("b1", gatezero.Kill{By: "ada"})
	d.stepBatch("b2", gatezero.Complete{})
	d.wait(14 * day)
	d.freeze(10, 0)
	d.wantIDs(d.take("w1", 10), second, "beside a killed batch")
	d.stepBatch("b1", gatezero.Release{By: "ada"})
	d.wantIDs(d.take("w1", 10), first, "when it is released")
}

func gateTurnsRaced(d *gateDriver) {
	d.batch("b1")
	all := d.intakes("b1", 60)
	var mu sync.Mutex
	var got []recoup.ID
	var hands sync.WaitGroup
	for range 4 {
		hands.Go(func() {
			for range 8 {
				ids := d.take("w", 5)
				mu.Lock()
				got = append(got, ids...)
				mu.Unlock()
			}
		})
	}
	hands.Wait()
	got = append(got, d.take("w", 60)...)
	slices.SortFunc(got, func(a, b recoup.ID) int { return bytes.Compare(a[:], b[:]) })
	d.wantIDs(got, all, "all of them together")
}

func gateIntakeList(d *gateDriver) {
	d.batch("b1")
	d.batch("b2")
	filters := map[recoup.IntakeFilter][]recoup.ID{}
	for i := range 24 {
		batch := []string{"b1", "b2", ""}[i%3]
		id, status := d.intakes(batch, 1)[0], recoup.IntakePending
		switch i % 4 {
		case 1:
			d.fails(id)
			status = recoup.IntakeFailed
		case 2:
			_, err := d.record(id, gatezero.Pass{})
			d.must(err)
			status = recoup.IntakeAuthorized
		}
		for _, f := range []recoup.IntakeFilter{{}, {Status: status}} {
			filters[f] = append(filters[f], id)
		}
		if batch != "" {
			for _, f := range []recoup.IntakeFilter{{BatchID: batch}, {BatchID: batch, Status: status}} {
				filters[f] = append(filters[f], id)
			}
		}
		d.wait(minute)
	}
	filters[recoup.IntakeFilter{BatchID: "b1", Status: recoup.IntakeReenterSucceeded}] = nil
	filters[recoup.IntakeFilter{BatchID: "b3"}] = nil
	for f, want := range filters {
		slices.Reverse(want)
		for _, size := range []int{1, 4, 100} {
			d.wantIDs(d.listed(f, size), want, "a list")
		}
	}
}

// listed reads a list of intakes to its end in pages of this size.
func (d *gateDriver) listed(f recoup.IntakeFilter, size int) (ids []recoup.ID) {
	d.Helper()
	for p := (sqldb.Page{Limit: size}); ; {
		list, next, err := d.store.Intakes(d.Context(), f, p)
		d.must(err)
		for i := range list {
			ids = append(ids, list[i].ID)
		}
		if p.Cursor = next; next.IsZero() || len(list) > size {
			return ids
		}
	}
}

func gateSameID(d *gateDriver) {
	d.batch("b1")
	own, keyed := d.candidates(1, 1)[0], d.candidates(2, 1)[0]
	own.ImportKey, keyed.ImportKey = "", keyed.ID.String()
	list := []recoup.Intake{own, keyed}
	d.wantImport("b1", list, gatezero.ImportCount{Added: 2})
	c := d.fails(own.ID)
	d.wait(minute)
	list[0].CompanyName = "Another"
	d.wantImport("b1", append(list, d.candidates(3, 1)...), gatezero.ImportCount{Added: 1, Present: 2})
	d.wantImport("", list, gatezero.ImportCount{Present: 2}) // in whatever batch
	d.wantStored(c)
}

func gateReasons(d *gateDriver) {
	d.batch("b1")
	want := map[recoup.RecoveryCount]bool{
		{Status: recoup.RecoveryActive, Reason: "TIMEOUT", N: 1}:            true,
		{Status: recoup.RecoveryActive, Reason: "STATE_MISMATCH", N: 3}:     true,
		{Status: recoup.RecoverySucceeded, Reason: "STATE_MISMATCH", N: 1}:  true,
		{Status: recoup.RecoveryExhausted, Reason: "API_UNAVAILABLE", N: 1}: true,
	}
	spent := d.failed("")
	for range 3 {
		spent = d.claimed(spent)
		var err error
		spent, err = d.finish(spent.Recovery.ID, failing(spent, "API_UNAVAILABLE"))
		d.must(err)
	}
	var cases []gatezero.Case
	for range 5 {
		cases = append(cases, d.failed("b1"))
	}
	d.now = cases[0].Recovery.NextEligibleAt
	held := d.claim(2)
	_, err := d.finish(held[0].Recovery.ID, failing(held[0], "TIMEOUT"))
	d.must(err)
	_, err = d.finish(held[1].Recovery.ID, d.pass(held[1]))
	d.must(err)
	d.intakes("b1", 2)
	d.batch("b2")
	d.stepBatch("b2", gatezero.Kill{By: "ada"})
	for range 2 {
		f, err := d.store.GateFigures(d.Context())
		d.must(err)
		if len(f.Recoveries) != len(want) || slices.ContainsFunc(f.Recoveries, func(r recoup.RecoveryCount) bool { return !want[r] }) {
			d.Errorf("counted are %v, want %v", f.Recoveries, want)
		}
		if f.Batches != 2 || f.Killed != 1 || f.Frozen != 0 || f.Intakes[recoup.IntakePending] != 2 || f.Intakes[recoup.IntakeFailed] != 4 ||
			f.Intakes[recoup.IntakeAuthorized] != 1 || f.Intakes[recoup.IntakeReenterSucceeded] != 1 {
			d.Errorf("counted are %+v", f)
		}
		d.must(d.store.FoldBatchCounts(d.Context()))
	}
}

func gateAudit(d *gateDriver) {
	d.batch("b1")
	d.stepBatch("b1", gatezero.Complete{})
	d.stepBatch("b1", gatezero.Kill{By: "ada", Reason: "a bad file"})
	d.stepBatch("b1", gatezero.Kill{By: "bob"}) // it is on already
	d.wait(minute)
	d.stepBatch("b1", gatezero.Release{By: "bob", Reason: "corrected"})
	d.stepBatch("b1", gatezero.Release{By: "bob"})
	d.wait(14 * day)
	d.freeze(10, 0)
	d.freeze(10, 0)
	rows, _, err := d.store.Audit(d.Context(), wire.AuditFilter{Target: "b1"}, store.AuditCursor{}, 10)
	d.must(err)
	var got []wire.AuditEntry
	for _, r := range slices.Backward(rows) {
		got = append(got, wire.AuditEntry{At: r.At, Actor: r.Actor, Act: r.Act, Target: r.Target, Reason: r.Reason})
	}
	at := []time.Time{conformance.Epoch(), conformance.Epoch().Add(minute), d.now}
	want := []wire.AuditEntry{
		{At: at[0], Actor: "ada", Act: gatezero.ActBatchKill, Target: "b1", Reason: "a bad file"},
		{At: at[1], Actor: "bob", Act: gatezero.ActBatchRelease, Target: "b1", Reason: "corrected"},
		{At: at[2], Actor: recoup.System, Act: gatezero.ActBatchFreeze, Target: "b1"},
	}
	if !slices.EqualFunc(got, want, func(a, b wire.AuditEntry) bool {
		return a.At.Equal(b.At) && a.Actor == b.Actor && a.Act == b.Act && a.Target == b.Target && a.Reason == b.Reason
	}) {
		d.Errorf("the audit has %+v, want %+v", got, want)
	}
}
