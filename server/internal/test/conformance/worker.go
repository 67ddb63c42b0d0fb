package conformance

import (
	"fmt"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
)

func workerClauses() []letterClause {
	return []letterClause{
		{"of each table it is known how many retries are due and claimed by nobody, and since when", unclaimedErrors},
		{"of each lane it is known how much work can be claimed and is held by nobody, and since when", unclaimedWork},
		{"workers of all nodes are known by what they claim from, and for how long they are alive", workersSeen},
		{"heartbeats that are long over are purged, and no others", heartbeatsPurged},
	}
}

func (d *letterDriver) queues(tables ...string) []store.QueueLevel {
	d.Helper()
	levels, err := d.store.QueueLevels(d.Context(), d.now, tables)
	d.must(err)
	return levels
}

// wantWaiting says what is due and claimed by nobody: how much, since when.
func (d *letterDriver) wantWaiting(queue string, n int64, since time.Time) {
	d.Helper()
	levels := d.queues(dol, people)
	at := slices.IndexFunc(levels, func(q store.QueueLevel) bool { return q.Queue() == queue })
	switch {
	case at < 0 && n == 0:
	case at < 0:
		d.Fatalf("of %s nothing is known, only %+v", queue, levels)
	case levels[at].N != n || !levels[at].Since.Equal(since):
		d.Fatalf("in %s %d wait since %v, want %d since %v", queue, levels[at].N, levels[at].Since, n, since)
	}
}

// fails reports a time-out in a table.
func (d *letterDriver) fails(table, entity string) recoup.Error {
	d.Helper()
	in := lifecycle.Report{ID: d.id(), Table: table, EntityID: entity, Failure: Failure("NETWORK_TIMEOUT"), Severity: recoup.Medium}
	out, err := d.store.Report(d.Context(), d.now, []store.Report{{Table: table, Entity: entity, Code: in.Failure.Code,
		Decide: func(current *recoup.Error, _ int, now time.Time) (recoup.Error, lifecycle.Effects, error) {
			return lifecycle.Step(d.policy, current, in, now)
		}}})
	d.must(err)
	d.must(out[0].Err)
	return out[0].Error
}

func unclaimedErrors(d *letterDriver) {
	for _, level := range d.queues(dol) {
		if level.Table != dol || level.N > 0 || level.LastClaimAt != (time.Time{}) || level.Workers != nil {
			d.Errorf("of nothing it says %+v", level)
		}
	}
	first := d.fails(dol, "c-1")
	d.wait(time.Second)
	second := d.fails(dol, "c-2")
	d.fails(people, "c-1")
	d.wantWaiting(dol, 0, time.Time{}) // not due yet
	d.wait(time.Hour)
	d.wantWaiting(dol, 2, first.NextRetryAt)
	claimed, err := d.store.ClaimDue(d.Context(), store.Claim{Tables: []string{dol}, Limit: 1, Now: d.now, Worker: "w1", Token: d.id(),
		Decide: func(current *recoup.Error, now time.Time) (recoup.Error, lifecycle.Effects, error) {
			return lifecycle.Step(d.policy, current, lifecycle.Claim{Token: d.id(), Worker: "w1"}, now)
		}})
	d.must(err)
	if len(claimed) != 1 || claimed[0].ID != first.ID {
		d.Fatalf("claimed %+v", claimed)
	}
	d.wantWaiting(dol, 1, second.NextRetryAt)
	d.must(d.apply(second.ID, lifecycle.Park{By: "ada", Reason: recoup.DataQuality}))
	d.wantWaiting(dol, 0, time.Time{})
	d.wait(24 * time.Hour) // the window of the other is closed: nobody can claim it
	d.wantWaiting(people, 0, time.Time{})
}

func unclaimedWork(d *letterDriver) {
	const fetch, llm = criticizer + "/fetch", criticizer + "/llm"
	begun := d.now
	d.submit("fetch", 3)
	d.wait(minute)
	d.submit("llm", 2)
	d.wantWaiting(fetch, 3, begun)
	d.wantWaiting(llm, 2, d.now)
	held, err := d.tryClaim("w1", 2, recoup.Lane{Pipeline: criticizer, Stage: "fetch"})
	d.must(err)
	d.wantWaiting(fetch, 1, begun)
	d.must(d.store.SetPause(d.Context(), recoup.WorkPause{PauseScope: recoup.PauseScope{Stage: "fetch"}, By: "ada", Reason: "r", At: d.now, Until: d.now.Add(minute)}))
	d.wantWaiting(fetch, 0, time.Time{}) // nobody may claim it
	d.wait(minute)
	d.wantWaiting(fetch, 1, begun)
	d.ack(held[:1])
	_, err = d.tryClaim("w1", 1, recoup.Lane{Pipeline: criticizer, Stage: "fetch"})
	d.must(err)
	d.wantWaiting(fetch, 0, time.Time{})
	ends := held[1].LeaseEndsAt
	d.now = ends
	d.wantWaiting(fetch, 1, ends) // its worker was lost

	// Of a replay, what was released waits while it runs.
	ids := d.deadMany(2, slow)
	d.validated(ids...)
	replay := d.replayed(1, ids...)
	d.wantWaiting(fetch, 2, ends)
	d.steps(replay, d.to(recoup.ReplayPaused, 0))
	d.wantWaiting(fetch, 1, ends)
}

func workersSeen(d *letterDriver) {
	seen := func(names ...string) (list []store.WorkerSeen) {
		for _, name := range names {
			list = append(list, store.WorkerSeen{Name: name, At: d.now})
		}
		return list
	}
	d.must(d.store.SaveHeartbeats(d.Context(), nil))
	d.must(d.store.SaveHeartbeats(d.Context(), []store.Heartbeat{
		{Queue: dol, Node: "n1", LastClaimAt: d.now, Workers: seen("w1", "w2")},
		{Queue: "images/resize", Node: "n1", LastClaimAt: d.now, Workers: seen("w1")},
	}))
	first := d.now
	d.wait(store.WorkerAlive / 2)
	second := d.now
	d.must(d.store.SaveHeartbeats(d.Context(), []store.Heartbeat{{Queue: dol, Node: "n2", LastClaimAt: second, Workers: seen("w2", "w3")}}))
	want := func(queue string, last time.Time, workers ...string) {
		d.Helper()
		for _, q := range d.queues(dol) {
			if q.Queue() == queue && (!q.LastClaimAt.Equal(last) || !slices.Equal(q.Workers, workers)) {
				d.Errorf("%s was claimed from at %v by %v, want %v by %v", queue, q.LastClaimAt, q.Workers, last, workers)
			}
		}
	}
	if n := len(d.queues(dol)); n != 2 {
		d.Fatalf("%d queues", n)
	}
	want(dol, second, "w1", "w2", "w3")
	want("images/resize", first, "w1")
	d.now = first.Add(store.WorkerAlive)
	want(dol, second, "w2", "w3")
	want("images/resize", first)

	// A node's later heartbeat takes the place of its earlier one.
	d.must(d.store.SaveHeartbeats(d.Context(), []store.Heartbeat{{Queue: dol, Node: "n2", LastClaimAt: d.now, Workers: seen("w4")}}))
	want(dol, d.now, "w4")
}

func heartbeatsPurged(d *letterDriver) {
	for i := range 5 {
		d.must(d.store.SaveHeartbeats(d.Context(), []store.Heartbeat{{Queue: fmt.Sprint("p/s", i), Node: "n1", LastClaimAt: d.now}}))
		d.wait(minute)
	}
	before := d.now.Add(-2 * minute)
	for _, want := range []int{2, 1, 0} {
		if n, err := d.store.PurgeHeartbeats(d.Context(), before, 2); err != nil || n != want {
			d.Errorf("purged %d, want %d: %v", n, want, err)
		}
	}
	if got := d.queues(); len(got) != 2 || got[0].Queue() != "p/s3" {
		d.Errorf("left are %+v", got)
	}
}
