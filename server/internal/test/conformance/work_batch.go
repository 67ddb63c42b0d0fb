package conformance

import (
	"errors"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
)

func letterBatches() []letterClause {
	return []letterClause{
		{"work that was claimed together is finished together, and only by who holds it", batchFinish},
		{"each piece of a batch can be extended, given back, failed and lost by itself", batchApart},
		{"a batch is extended as a whole", batchExtend},
		{"work that comes late is not passed over, however much else is due", batchLate},
		{"what a lost worker held comes back once, in the order in which it was due", batchLapse},
	}
}

// claimTogether claims work under one lease, as a service does.
func (d *letterDriver) claimTogether(n int) []recoup.WorkItem {
	d.Helper()
	l := recoup.Lease{LeaseToken: d.id(), LeaseWorker: "w1", LeasedAt: d.now, LeaseEndsAt: d.now.Add(workLease)}
	list, err := d.store.ClaimWork(d.Context(), store.WorkClaim{
		Lanes: []recoup.Lane{{Pipeline: criticizer, Stage: "fetch"}, {Pipeline: criticizer, Stage: "llm"}}, Limit: n, Now: d.now,
		Decide: func(q recoup.WorkItem, now time.Time) (recoup.WorkItem, error) {
			if q.Lapsed(now) {
				q.Lapses++
			}
			return q.Under(l), nil
		}})
	d.must(err)
	return list
}

// finish ends work and says of which it did.
func (d *letterDriver) finish(within *store.Pipelines, list ...recoup.WorkItem) []bool {
	d.Helper()
	ends := make([]store.WorkEnd, len(list))
	for i := range list {
		ends[i] = store.WorkEnd{WorkID: list[i].WorkID, Token: list[i].LeaseToken}
	}
	done, err := d.store.FinishWork(d.Context(), within, ends)
	d.must(err)
	return done
}

// wantQueued says that work is stored as it is thought to be.
func (d *letterDriver) wantQueued(list ...recoup.WorkItem) {
	d.Helper()
	for _, q := range list {
		if l, err := d.store.StagedWork(d.Context(), q.WorkID); err != nil || l.Queued != q {
			d.Errorf("stored is\n%+v, want\n%+v: %v", l.Queued, q, err)
		}
	}
}

func batchFinish(d *letterDriver) {
	d.submit("fetch", 4)
	d.submit("llm", 2)
	ids := d.deadMany(1, slow)
	d.validated(ids...)
	d.replayed(1, ids...)
	held := d.claimTogether(10)
	if len(held) != 7 {
		d.Fatalf("claimed %d", len(held))
	}
	d.wantQueued(held...)
	at := slices.IndexFunc(held, func(q recoup.WorkItem) bool { return !q.ReplayID.IsZero() })
	replayed, fresh := held[at], slices.Delete(slices.Clone(held), at, at+1)
	foreign, unknown := fresh[0], fresh[0]
	foreign.LeaseToken, unknown.WorkID = d.id(), d.id()
	if got := d.finish(nil, foreign, unknown, replayed, recoup.WorkItem{WorkID: fresh[0].WorkID}); slices.Contains(got, true) {
		d.Errorf("finished what is not its: %v", got)
	}
	if got := d.finish(&store.Pipelines{Names: []string{"other"}}, fresh...); slices.Contains(got, true) {
		d.Errorf("finished what is of another pipeline: %v", got)
	}
	if got := d.finish(nil, fresh[0], fresh[5], fresh[0]); !slices.Equal(got, []bool{true, true, false}) {
		d.Errorf("finished %v", got)
	}
	d.wantDestroyed(fresh[0].WorkID)
	d.wantQueued(append(fresh[1:5:5], replayed)...)
	if got := d.finish(&store.Pipelines{Names: []string{criticizer}}, fresh...); !slices.Equal(got, []bool{false, true, true, true, true, false}) {
		d.Errorf("finished of the rest %v", got)
	}
	d.ack([]recoup.WorkItem{replayed})
	d.wait(day)
	if got := d.claim(10); len(got) > 0 {
		d.Errorf("claimed %+v", got)
	}
}

func batchApart(d *letterDriver) {
	d.submit("fetch", 6)
	held := d.claimTogether(6)
	change := func(q *recoup.WorkItem, to func(*recoup.WorkItem)) {
		d.Helper()
		l, err := onlyLetter(d.store.StepStaged(d.Context(), d.now, []store.StagedStep{{WorkID: q.WorkID, Token: q.LeaseToken,
			Decide: func(l store.StagedWork, _ time.Time) (store.StagedWork, store.StagedEffects, error) {
				if l.Queued.LeaseToken != q.LeaseToken {
					return l, store.StagedEffects{}, errNo
				}
				to(&l.Queued)
				return l, store.StagedEffects{}, nil
			}}}))
		d.must(err)
		*q = l.Queued
	}
	d.wait(minute)
	change(&held[0], func(q *recoup.WorkItem) { q.LeaseEndsAt = d.now.Add(workLease); q.DueAt = q.LeaseEndsAt })
	change(&held[1], func(q *recoup.WorkItem) { q.Lease, q.DueAt = recoup.Lease{}, d.now.Add(minute) })
	f := malformed
	f.Token = held[2].LeaseToken
	_, err := d.stepWork(held[2].WorkID, d.fail(held[2].WorkID, f))
	d.must(err)
	d.must(d.store.SaveCheckpoint(d.Context(), held[3].LeaseToken, store.Checkpoint{WorkID: held[3].WorkID, Stage: "fetch", KeyID: "k", Sealed: []byte("x"), At: d.now}))
	if err := d.store.ForgetCheckpoints(d.Context(), d.id(), held[3].WorkID); !errors.Is(err, store.ErrLeaseLost) {
		d.Errorf("checkpoints under another token: %v", err)
	}
	if got := d.finish(nil, held[3]); !got[0] {
		d.Errorf("one of a batch cannot be finished")
	}
	d.wantQueued(held[0], held[1], held[4], held[5])
	d.wait(minute)
	if got := workIDs(d.claimTogether(10)); !slices.Equal(got, []recoup.ID{held[1].WorkID}) {
		d.Errorf("claimed %v, want what was given back", got)
	}
	d.wait(workLease - 2*minute)
	if got := workIDs(d.claimTogether(10)); !slices.Equal(got, []recoup.ID{held[4].WorkID, held[5].WorkID}) {
		d.Errorf("claimed %v, want what was lost", got)
	}
	d.ack(held[:1])
}

func batchExtend(d *letterDriver) {
	d.submit("fetch", 3)
	d.submit("llm", 1)
	held := d.claimTogether(4)
	d.wait(9 * minute)
	steps := make([]store.StagedStep, 4)
	for i, q := range held {
		steps[i] = store.StagedStep{WorkID: q.WorkID, Token: q.LeaseToken, Decide: func(l store.StagedWork, _ time.Time) (store.StagedWork, store.StagedEffects, error) {
			l.Queued.LeaseEndsAt = d.now.Add(workLease)
			l.Queued.DueAt = l.Queued.LeaseEndsAt
			return l, store.StagedEffects{}, nil
		}}
	}
	outcomes, err := d.store.StepStaged(d.Context(), d.now, steps)
	d.must(err)
	for i, out := range outcomes {
		d.must(out.Err)
		held[i] = out.Letter.Queued
	}
	d.wantQueued(held...)
	d.wait(9 * minute)
	if got := d.claim(10); len(got) > 0 {
		d.Errorf("claimed while it is held: %+v", got)
	}
	if got := d.finish(nil, held[:2]...); !slices.Equal(got, []bool{true, true}) {
		d.Errorf("finished %v", got)
	}
	d.wait(minute)
	if got := d.claim(10); len(got) != 2 {
		d.Errorf("claimed %+v", got)
	}
}

func batchLapse(d *letterDriver) {
	var works []recoup.ID
	for range 5 {
		works = append(works, d.submit("fetch", 1)...)
		d.wait(time.Second)
	}
	first := d.claimTogether(5)
	d.finish(nil, first[2])
	works = slices.Delete(works, 2, 3)
	d.wait(workLease)
	works = append(works, d.submit("fetch", 1)...)
	if got := d.claimTogether(2); !slices.Equal(workIDs(got), works[:2]) || got[0].Lapses != 1 || got[0].Claims != 2 {
		d.Errorf("claimed %+v", got)
	}
	if got := d.finish(nil, first[0], first[3]); !slices.Equal(got, []bool{false, true}) {
		d.Errorf("under the old token finished is %v, want what nobody has claimed since", got)
	}
	if got := d.claimTogether(10); len(got) != 2 || got[0].WorkID != first[4].WorkID || got[1].Lapses != 0 {
		d.Errorf("claimed %+v", got)
	}
	if got := d.finish(nil, first...); slices.Contains(got, true) {
		d.Errorf("the old token counts: %v", got)
	}
}

// late submits work that was due an hour ago, as a commit that took so long would.
func (d *letterDriver) late() recoup.ID {
	d.Helper()
	work := d.id()
	enter := d.enter(work, "fetch")
	_, err := d.stepWork(work, func(l store.StagedWork, now time.Time) (store.StagedWork, store.StagedEffects, error) {
		next, effects, err := enter(l, now)
		next.Queued.DueAt = next.Queued.DueAt.Add(-time.Hour)
		return next, effects, err
	})
	d.must(err)
	return work
}

func batchLate(d *letterDriver) {
	d.submit("fetch", 60)
	d.claimTogether(10)
	late := d.late()
	claimed := 0
	for held := range 20 { // of fifty that are due at the same time
		if claimed = held; slices.Contains(workIDs(d.claimTogether(2)), late) {
			break
		}
	}
	if claimed > 16 {
		d.Errorf("it was passed over %d times", claimed)
	}
	d.claimTogether(2)
	late = d.late()
	if got := workIDs(d.claimTogether(100)); !slices.Contains(got, late) {
		d.Errorf("of all that is due, it was passed over: %d", len(got))
	}
}

// ChurnQueue submits, claims and finishes batches of work round by round, beside work
// that is due later and work of a lane that nobody serves, and sees that none is lost
// or handed out twice.
func ChurnQueue(t TB, s DeadLetters, rounds, batch int, later time.Duration) {
	t.Helper()
	d := newLetterDriver(t, s)
	var delayed []recoup.ID
	for i := range rounds {
		d.submit("fetch", batch)
		d.submit("notify", 1)
		work := d.id()
		delayed = append(delayed, work)
		enter := d.enter(work, "fetch")
		_, err := d.stepWork(work, func(l store.StagedWork, now time.Time) (store.StagedWork, store.StagedEffects, error) {
			next, effects, err := enter(l, now)
			next.Queued.DueAt = next.Queued.DueAt.Add(later)
			return next, effects, err
		})
		d.must(err)
		for left := batch; left > 0; {
			held := d.claimTogether(batch / 2)
			if left -= len(held); len(held) == 0 || left < 0 {
				t.Fatalf("round %d: claimed %d, still due were %d", i, len(held), left+len(held))
			}
			if slices.Contains(d.finish(nil, held...), false) {
				t.Fatalf("round %d: what was claimed is not held", i)
			}
		}
		d.wait(time.Second)
	}
	d.wait(later)
	if got := workIDs(d.claimTogether(rounds + 1)); !slices.Equal(got, delayed) {
		t.Errorf("of what was due later, %d are claimed, want %d", len(got), len(delayed))
	}
	got, err := d.tryClaim("w1", rounds+1, recoup.Lane{Pipeline: criticizer, Stage: "notify"})
	if d.must(err); len(got) != rounds {
		t.Errorf("of the other lane, %d are claimed, want %d", len(got), rounds)
	}
}
