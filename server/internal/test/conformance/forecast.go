package conformance

import (
	"fmt"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
)

func deadlineClauses() []alertClause {
	return []alertClause{
		{"what leaves the park queue is counted: whatever the reason, and what people have done", parkActivity},
		{"deadlines of what is parked are counted by table and bucket", parkDeadlines},
	}
}

func flowClauses() []letterClause {
	return []letterClause{
		{"what comes into the queue of a pipeline and leaves it is counted, folded or not, and purged", stagedActivity},
	}
}

func parkActivity(d *alertDriver) {
	e := d.errors()
	for i, act := range []lifecycle.Input{
		lifecycle.Unpark{By: "ada"}, lifecycle.Resolve{By: "ada"}, lifecycle.ArchiveNow{By: "ada"}, lifecycle.Review{By: "ada"}, lifecycle.Escalate{By: "ada", Reason: "help"},
	} {
		parked := e.Park(e.Report(dol, fmt.Sprint("e", i), "NETWORK_TIMEOUT", recoup.Medium).ID, "look")
		e.Apply(parked.ID, act)
	}
	last := e.Park(e.Report(dol, "e9", "NETWORK_TIMEOUT", recoup.Medium).ID, "look")
	e.Report(dol, "e9", "NETWORK_TIMEOUT", recoup.Medium) // which takes its place
	e.Resolve(e.Report(people, "e1", "NETWORK_TIMEOUT", recoup.Medium).ID)
	d.wantActivity(ever(),
		store.Activity{Table: dol, Reported: 7, Parked: 6, Escalated: 1, Archived: 2, LeftPark: 3, Cleared: 3, Reviewed: 4, Resolved: 1, NotParked: 3, LastParked: 6, Unparked: 3},
		store.Activity{Table: people, Reported: 1, Resolved: 1, NotParked: 1})
	if _, err := d.store.Error(d.Context(), last.ID); err != nil {
		d.must(err)
	}
}

// wantDeadlines compares what is counted in buckets.
func (d *alertDriver) wantDeadlines(kind store.ParkDeadline, edges []time.Time, want ...store.DeadlineCount) {
	d.Helper()
	got, err := d.store.ParkDeadlines(d.Context(), kind, edges)
	d.must(err)
	for i := range got {
		got[i].First = got[i].First.UTC()
	}
	wantSame(d.serviceDriver, got, want)
}

func parkDeadlines(d *alertDriver) {
	e := d.errors()
	begin := e.Now()
	e.Report(dol, "open", "NETWORK_TIMEOUT", recoup.Medium) // which nobody has to review
	park := func(table, entity string) recoup.Error {
		return e.Park(e.Report(table, entity, "NETWORK_TIMEOUT", recoup.Medium).ID, "look")
	}
	first, done, gone := park(dol, "e1"), park(dol, "e2"), park(dol, "e3")
	e.WaitUntil(begin.Add(time.Hour))
	park(dol, "e4")
	other := park(target, "e1")
	later := park(dol, "e5")
	e.Apply(done.ID, lifecycle.Review{By: "ada"})
	e.Apply(gone.ID, lifecycle.Unpark{By: "ada"})

	edges := []time.Time{first.ReviewDueAt.Add(time.Minute), later.ReviewDueAt.Add(24 * time.Hour)}
	d.wantDeadlines(store.ParkReview, edges,
		store.DeadlineCount{Table: target, Bucket: 1, N: 1, First: other.ReviewDueAt},
		store.DeadlineCount{Table: dol, N: 1, First: first.ReviewDueAt}, store.DeadlineCount{Table: dol, Bucket: 1, N: 2, First: later.ReviewDueAt})
	d.wantDeadlines(store.ParkReview, edges[:1],
		store.DeadlineCount{Table: target, Bucket: 1, N: 1, First: other.ReviewDueAt},
		store.DeadlineCount{Table: dol, N: 1, First: first.ReviewDueAt}, store.DeadlineCount{Table: dol, Bucket: 1, N: 2, First: later.ReviewDueAt})

	edges = []time.Time{first.ExpiresAt, first.ExpiresAt.Add(time.Second)}
	d.wantDeadlines(store.ParkExpiry, edges,
		store.DeadlineCount{Table: target, Bucket: 2, N: 1, First: other.ExpiresAt},
		store.DeadlineCount{Table: dol, Bucket: 1, N: 2, First: first.ExpiresAt}, store.DeadlineCount{Table: dol, Bucket: 2, N: 2, First: later.ExpiresAt})
	d.wantDeadlines(store.ParkExpiry, nil,
		store.DeadlineCount{Table: target, N: 1, First: other.ExpiresAt}, store.DeadlineCount{Table: dol, N: 4, First: first.ExpiresAt})
}

func (d *letterDriver) wantFlow(span store.Span, want ...store.StagedActivity) {
	d.Helper()
	for _, folded := range []bool{false, true} {
		if folded {
			d.must(d.store.FoldActivity(d.Context()))
		}
		got, err := d.store.StagedActivity(d.Context(), span)
		if d.must(err); !slices.Equal(got, want) {
			d.Fatalf("folded %v: counted %+v, want %+v", folded, got, want)
		}
	}
}

func stagedActivity(d *letterDriver) {
	d.wantFlow(ever())
	d.submit("fetch", 4)
	d.submit("llm", 2)
	d.wantFlow(ever(), store.StagedActivity{Pipeline: criticizer, Queued: 6})
	d.ack(d.claim(1))
	d.wantFlow(ever(), store.StagedActivity{Pipeline: criticizer, Queued: 6, Finished: 1})
	d.finish(nil, d.claimTogether(3)...)
	ids := d.deadMany(2, slow)
	d.validated(ids...)
	d.replayed(1, ids...)
	d.wantFlow(ever(), store.StagedActivity{Pipeline: criticizer, Queued: 7, Finished: 4})
	lanes, _, err := d.store.StagedLevels(d.Context(), d.now)
	d.must(err)
	var held int64
	for i := range lanes {
		held += lanes[i].Sum()
	}
	if held != 3 {
		d.Errorf("the queue holds %d, and 7 came and 4 left: %+v", held, lanes)
	}
	minute := store.Span{From: d.now.Add(-time.Hour), To: d.now.Add(-time.Minute)}
	d.wantFlow(minute)
	for range 2 { // the finished ones are of the clock's own minute
		_, err := d.store.PurgeActivity(d.Context(), time.Date(2101, 1, 1, 0, 0, 0, 0, time.UTC), 100)
		d.must(err)
	}
	d.wantFlow(ever())
}
