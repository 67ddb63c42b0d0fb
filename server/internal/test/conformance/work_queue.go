package conformance

import (
	"errors"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
)

func letterQueue() []letterClause {
	return []letterClause{
		{"work is submitted once, claimed by lane, the longest due first, and done", queueWork},
		{"work goes from stage to stage through the queue", queueStages},
		{"a lease that ran out is claimed again, and the old token is refused", queueLapse},
		{"a lease is extended by its holder", queueExtend},
		{"work over which too many workers were lost is set aside", queueSpent},
		{"new work that fails for good is a dead letter and leaves the queue", queueDead},
		{"a pause of a pipeline, a stage or a class holds back what it names, until its end", queuePause},
		{"work that begins anew keeps of its checkpoints only the one that says so", queueAnew},
		{"whoever waits for work is woken when there is some", queueWakes},
	}
}

// submit puts new work into the queue.
func (d *letterDriver) submit(stage string, n int) []recoup.ID {
	d.Helper()
	works := make([]recoup.ID, n)
	steps := make([]store.StagedStep, n)
	for i := range works {
		works[i] = d.id()
		steps[i] = store.StagedStep{WorkID: works[i], Decide: d.enter(works[i], stage)}
	}
	outcomes, err := d.store.StepStaged(d.Context(), d.now, steps)
	d.must(err)
	for _, out := range outcomes {
		d.must(out.Err)
	}
	return works
}

func (d *letterDriver) enter(work recoup.ID, stage string) store.DecideStaged {
	now := d.now
	return func(l store.StagedWork, _ time.Time) (store.StagedWork, store.StagedEffects, error) {
		if !l.Queued.WorkID.IsZero() || l.Dead.Open() {
			return l, store.StagedEffects{}, errNo
		}
		l.Queued = recoup.WorkItem{WorkID: work, Pipeline: criticizer, Stage: stage, EntityID: "CO-1", PayloadRef: "ref", PayloadHash: "hash", CreatedAt: now, DueAt: now}
		return l, store.StagedEffects{Payload: store.Payload{WorkID: work, KeyID: "k1", Sealed: []byte("in"), At: now}}, nil
	}
}

// claim claims up to n pieces of work of every stage.
func (d *letterDriver) claim(n int) []recoup.WorkItem {
	d.Helper()
	list, err := d.tryClaim("w1", n, recoup.Lane{Pipeline: criticizer, Stage: "fetch"}, recoup.Lane{Pipeline: criticizer, Stage: "llm"})
	d.must(err)
	return list
}

func (d *letterDriver) tryClaim(worker string, n int, lanes ...recoup.Lane) ([]recoup.WorkItem, error) {
	now := d.now
	return d.store.ClaimWork(d.Context(), store.WorkClaim{Lanes: lanes, Limit: n, Now: now, Decide: func(q recoup.WorkItem, _ time.Time) (recoup.WorkItem, error) {
		switch {
		case q.Leased(now) || q.DueAt.After(now):
			return q, errNo
		case q.Lapsed(now):
			q.Lapses++
		}
		if q.Lapses > maxLapses {
			q.Lease, q.DueAt = recoup.Lease{}, time.Time{}
			return q, nil
		}
		q.Lease = recoup.Lease{LeaseToken: d.ids.New(now), LeaseWorker: worker, LeasedAt: now, LeaseEndsAt: now.Add(workLease)}
		q.DueAt = q.LeaseEndsAt
		q.Claims++
		return q, nil
	}})
}

// succeed says that work is done: of a replay, its dead letter waits to be
// verified; else nothing is left of it.
func (d *letterDriver) succeed(token recoup.ID) store.DecideStaged {
	now := d.now
	return func(l store.StagedWork, _ time.Time) (store.StagedWork, store.StagedEffects, error) {
		if l.Queued.LeaseToken.IsZero() || l.Queued.LeaseToken != token {
			return l, store.StagedEffects{}, errNo
		}
		if !l.Dead.Open() {
			l.Queued = recoup.WorkItem{}
			return l, store.StagedEffects{Forget: true}, nil
		}
		effects := store.StagedEffects{Effects: touch(&l.Error, "succeed", now)}
		l.Item.State, l.Item.EndedAt, l.Item.Worker = recoup.ItemSucceeded, now, l.Queued.LeaseWorker
		l.Queued = recoup.WorkItem{}
		l.Dead.Step, l.Dead.UpdatedAt = recoup.StepReplayed, now
		l.Error.ExpiresAt, l.Dead.HeldExpiry = l.Dead.HeldExpiry, time.Time{}
		return l, effects, nil
	}
}

// ack says that work is done.
func (d *letterDriver) ack(list []recoup.WorkItem) {
	d.Helper()
	d.must(d.tryAck(list))
}

func (d *letterDriver) tryAck(list []recoup.WorkItem) error {
	steps := make([]store.StagedStep, len(list))
	for i, q := range list {
		steps[i] = store.StagedStep{WorkID: q.WorkID, Decide: d.succeed(q.LeaseToken)}
	}
	outcomes, err := d.store.StepStaged(d.Context(), d.now, steps)
	for _, out := range outcomes {
		err = errors.Join(err, out.Err)
	}
	return err
}

func workIDs(list []recoup.WorkItem) []recoup.ID {
	ids := make([]recoup.ID, len(list))
	for i := range list {
		ids[i] = list[i].WorkID
	}
	return ids
}

func queueWork(d *letterDriver) {
	var works []recoup.ID
	for range 6 {
		works = append(works, d.submit("fetch", 1)...)
		d.wait(time.Second)
	}
	other := d.submit("notify", 1)[0]
	if _, err := d.stepWork(works[0], d.enter(works[0], "fetch")); !errors.Is(err, errNo) {
		d.Errorf("submitted twice: %v", err)
	}
	first := d.claim(2)
	if got := workIDs(first); !slices.Equal(got, works[:2]) {
		d.Errorf("claimed %v, want %v", got, works[:2])
	}
	l, err := d.store.StagedWork(d.Context(), works[0])
	d.must(err)
	if l != (store.StagedWork{Queued: first[0]}) || first[0].PayloadRef != "ref" || first[0].EntityID != "CO-1" || first[0].LeaseWorker != "w1" {
		d.Errorf("claimed %+v, stored is %+v", first[0], l)
	}
	if p, err := d.store.Payload(d.Context(), works[0]); err != nil || string(p.Sealed) != "in" {
		d.Errorf("payload %+v: %v", p, err)
	}
	if got := workIDs(d.claim(100)); !slices.Equal(got, works[2:]) {
		d.Errorf("claimed %v, want %v", got, works[2:])
	}
	d.ack(first)
	d.wantDestroyed(works[0])
	got, err := d.tryClaim("w1", 10, recoup.Lane{Pipeline: criticizer, Stage: "notify"}, recoup.Lane{Pipeline: "other", Stage: "fetch"})
	d.must(err)
	if !slices.Equal(workIDs(got), []recoup.ID{other}) {
		d.Errorf("claimed %+v", got)
	}
	for name, n := range map[string]int{"none": len(d.claim(0)), "again": len(d.claim(10))} {
		if n > 0 {
			d.Errorf("%s: claimed %d", name, n)
		}
	}
}

func queueStages(d *letterDriver) {
	work := d.submit("fetch", 1)[0]
	q := d.claim(1)[0]
	_, err := d.stepWork(work, func(l store.StagedWork, _ time.Time) (store.StagedWork, store.StagedEffects, error) {
		l.Queued.Stage, l.Queued.DueAt, l.Queued.Lease, l.Queued.Failures = "llm", d.now, recoup.Lease{}, `{"fetch": {"attempts":1}}`
		return l, store.StagedEffects{}, nil
	})
	d.must(err)
	if _, err := d.stepWork(work, d.succeed(q.LeaseToken)); !errors.Is(err, errNo) {
		d.Errorf("the lease of the stage before counts: %v", err)
	}
	got, err := d.tryClaim("w2", 10, recoup.Lane{Pipeline: criticizer, Stage: "fetch"})
	d.must(err)
	if len(got) > 0 {
		d.Errorf("claimed %+v", got)
	}
	got, err = d.tryClaim("w2", 10, recoup.Lane{Pipeline: criticizer, Stage: "llm"})
	d.must(err)
	if len(got) != 1 || got[0].Claims != 2 || got[0].LeaseWorker != "w2" || got[0].Failures != `{"fetch": {"attempts":1}}` {
		d.Errorf("claimed %+v", got)
	}
}
