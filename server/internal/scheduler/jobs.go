package scheduler

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// Keeper is what the jobs need of a store; what happens to errors goes through
// the engine.
type Keeper = store.Housekeeper

// Sweeper lets the clock act on errors; see engine.Engine.
type Sweeper interface {
	Sweep(ctx context.Context, d store.Deadline, limit int) (int, error)
	CarryOperations(ctx context.Context) (done int, more bool, err error)
}

// Parts are what the jobs work on.
type Parts struct {
	Store  Keeper
	Engine Sweeper
	Policy func() *policy.Policy

	// Alerts evaluates the alert rules; nil: there are none.
	Alerts func(ctx context.Context, term store.Term) (changed int, err error)

	// Doctor looks for what is wrong with the installation; nil: nobody does.
	Doctor func(ctx context.Context) (found int, err error)

	// LateEvents are events of acts that are not in the ledger yet; nil: there are never any.
	LateEvents store.LateEvents

	// Folds are those of other packages, which the job counts does with its own.
	Folds []func(context.Context) error

	// Jobs are those that other packages bring along. Each takes its turn where [Job.After]
	// says.
	Jobs []Job
}

// How large a chunk is. A sweep locks its errors, so it takes few at a time.
const (
	sweepChunk = 200
	purgeChunk = 1000
)

// doctorPatience is how long the doctor may look: other jobs wait for it.
const doctorPatience = 30 * time.Second

// How long is kept what the policy says nothing of.
const (
	keepNotices = 30 * 24 * time.Hour  // delivered or given up
	keepFigures = 35 * 24 * time.Hour  // what rates are made of: they look back policy.MaxWindow at most
	keepGroups  = 90 * 24 * time.Hour  // of errors, once they have none
	keepAlerts  = 365 * 24 * time.Hour // resolved
)

// All returns every job there is, in the order in which they take turns: first
// what ends an attempt, then what ends an error, then what notifies people of it.
func All(p Parts) []Job {
	jobs := []Job{
		p.sweep("leases", "count leases that ran out as failed attempts", store.DueLapse),
		p.sweep("windows", "park errors whose retry window has closed", store.DueWindow),
		p.sweep("ttl", "archive errors whose TTL is over", store.DueExpiry),
		p.sweep("resolved", "archive resolved errors", store.DueResolved),
		p.sweep("escalation", "escalate what was parked for too long", store.DueEscalation),
		p.sweep("reminders", "notify of missed reviews and of blocks that are about to expire", store.DueReminder),
		{
			Name: "operations", About: "carry out bulk operations that were confirmed", Every: time.Second, Late: 30 * time.Minute,
			Chunk: func(ctx context.Context, _ Run) (int, bool, error) { return p.Engine.CarryOperations(ctx) },
		},
		{
			Name: "counts", About: "fold the counts of errors and their groups, of what happens to them, of batches and dead letters", Every: 5 * time.Second, Late: 15 * time.Minute,
			Chunk: fold(append([]func(context.Context) error{p.Store.FoldCounts, p.Store.FoldErrorGroups, p.Store.FoldActivity, p.Store.FoldDeadLetterCounts}, p.Folds...)...),
		},
		{
			Name: "rollups", About: "fold the counts of events, late ones too", Every: 5 * time.Second, Late: 15 * time.Minute,
			Chunk: fold(p.Store.FoldRollups),
		},
		{
			Name: "receipts", About: "delete expired idempotency receipts, console sessions and operations", Every: time.Minute, Late: 6 * time.Hour,
			Chunk: each(purge(p.Store.PurgeReceipts, nil), purge(p.Store.PurgeSessions, nil), purge(p.Store.PurgeOperations, nil)), Overdue: p.overdue(store.DueReceipt, nil),
		},
		{
			Name: "partitions", About: "make partitions ahead, and drop history that nobody can need", Every: time.Hour, Late: 24 * time.Hour,
			Chunk: p.partitions,
		},
	}
	if p.LateEvents != nil {
		jobs = append(jobs, lateEvents(p.LateEvents))
	}
	if p.Alerts != nil {
		jobs = append(jobs, Job{
			Name: "alerts", About: "evaluate the alert rules", Every: 15 * time.Second, Idle: DefaultIdle, Late: 5 * time.Minute, Fenced: true,
			Chunk: func(ctx context.Context, t Run) (int, bool, error) {
				n, err := p.Alerts(ctx, t.Term)
				return n, false, err
			},
		})
	}
	if p.Doctor != nil {
		jobs = append(jobs, Job{
			Name: "doctor", About: "look for what is wrong with the installation", Every: time.Hour, Late: 24 * time.Hour,
			Chunk: func(ctx context.Context, _ Run) (int, bool, error) {
				ctx, cancel := context.WithTimeout(ctx, doctorPatience)
				defer cancel()
				_, err := p.Doctor(ctx)
				return 0, false, err
			},
		})
	}
	for _, j := range p.Jobs {
		at := len(jobs)
		if i := slices.IndexFunc(jobs, func(other Job) bool { return other.Name == j.After }); i >= 0 {
			at = i + 1
		}
		jobs = slices.Insert(jobs, at, j)
	}
	return append(jobs, p.retention()...)
}

// lateEvents delivers events of acts that the ledger could not take with their act.
func lateEvents(of store.LateEvents) Job {
	return Job{
		Name: "late-events", About: "write events to the ledger that it could not take with their act", Every: time.Second, Late: 5 * time.Minute,
		Chunk: func(ctx context.Context, _ Run) (int, bool, error) {
			n, err := of.DeliverEvents(ctx, purgeChunk)
			return n, n >= purgeChunk, err
		},
		Overdue: func(ctx context.Context, _ time.Time, limit int) (store.Overdue, error) {
			return of.LateEvents(ctx, limit)
		},
	}
}

// retention are the jobs that end what has been kept as long as the policy says.
func (p Parts) retention() []Job {
	events := func() time.Duration { return p.Policy().Ledger.EventRetention }
	rollups := func() time.Duration { return p.Policy().Ledger.RollupRetention }
	retain := func(name, about string, chunk chunker, due store.Deadline, keep func() time.Duration) Job {
		j := Job{Name: name, About: about, Every: time.Hour, Late: 3 * 24 * time.Hour, Chunk: chunk}
		if due != "" {
			j.Overdue = p.overdue(due, keep)
		}
		return j
	}
	return []Job{
		retain("archive", "delete archived errors whose retention is over", purge(p.Store.PurgeArchive, nil), store.DuePurge, nil),
		retain("events", "drop months of events whose retention is over", func(ctx context.Context, t Run) (int, bool, error) {
			return 0, false, p.Store.DropEvents(ctx, t.Now.Add(-events()))
		}, "", nil),
		retain("rollup-retention", "delete counts of events whose retention is over", func(ctx context.Context, t Run) (int, bool, error) {
			n, err := p.Store.PurgeRollups(ctx, store.Retention{Hourly: t.Now.Add(-events()), Daily: t.Now.Add(-rollups())}, purgeChunk)
			return n, n >= purgeChunk, err
		}, store.DueDaily, rollups),
		retain("outbox", "delete notices that were delivered or given up a month ago", purge(p.Store.PurgeNotices, kept(keepNotices)), store.DueNotice, kept(keepNotices)),
		retain("processed", "delete old counts of work done", purge(p.Store.PurgeProcessed, kept(keepFigures)), store.DueProcessed, kept(keepFigures)),
		retain("activity", "delete old counts of what happened to errors", purge(p.Store.PurgeActivity, kept(keepFigures)), "", nil),
		retain("group-retention", "delete groups of errors that were last seen long ago and have no errors", purge(p.Store.PurgeErrorGroups, kept(keepGroups)), "", nil),
		retain("alert-retention", "delete alerts and silences that were over a year ago", purge(p.Store.PurgeAlerts, kept(keepAlerts)), "", nil),
	}
}

type chunker = func(ctx context.Context, t Run) (rows int, more bool, err error)

func kept(d time.Duration) func() time.Duration { return func() time.Duration { return d } }

// sweep is the job that meets a kind of deadline of errors. An expiry that waits
// for a live lease counts as overdue for the quarter of an hour that it may.
func (p Parts) sweep(name, about string, d store.Deadline) Job {
	return Job{
		Name: name, About: about, Every: time.Second, Late: 30 * time.Minute,
		Chunk: func(ctx context.Context, _ Run) (int, bool, error) {
			n, err := p.Engine.Sweep(ctx, d, sweepChunk)
			return n, n >= sweepChunk, err
		},
		Overdue: p.overdue(d, nil),
	}
}

// overdue looks for what has been due since a time, or since the end of what it
// was to be kept for.
func (p Parts) overdue(d store.Deadline, keep func() time.Duration) func(context.Context, time.Time, int) (store.Overdue, error) {
	return func(ctx context.Context, now time.Time, limit int) (store.Overdue, error) {
		var age time.Duration
		if keep != nil {
			age = keep()
		}
		found, err := p.Store.Overdue(ctx, d, now.Add(-age), limit)
		if !found.Since.IsZero() {
			found.Since = found.Since.Add(age)
		}
		return found, err
	}
}

// purge deletes, chunk by chunk, what is older than it is to be kept.
func purge(delete func(ctx context.Context, before time.Time, limit int) (int, error), keep func() time.Duration) chunker {
	return func(ctx context.Context, t Run) (int, bool, error) {
		before := t.Now
		if keep != nil {
			before = before.Add(-keep())
		}
		n, err := delete(ctx, before, purgeChunk)
		return n, n >= purgeChunk, err
	}
}

// each runs a chunk of every kind, and goes on while one of them has more.
func each(chunks ...chunker) chunker {
	return func(ctx context.Context, t Run) (rows int, more bool, err error) {
		for _, c := range chunks {
			n, again, failed := c(ctx, t)
			rows, more, err = rows+n, more || again, errors.Join(err, failed)
		}
		return rows, more, err
	}
}

// fold runs every fold and joins their errors.
func fold(folds ...func(context.Context) error) chunker {
	return func(ctx context.Context, _ Run) (int, bool, error) {
		var failed []error
		for _, f := range folds {
			failed = append(failed, f(ctx))
		}
		return 0, false, errors.Join(failed...)
	}
}

// partitions makes ready what the next writes need.
func (p Parts) partitions(ctx context.Context, t Run) (int, bool, error) {
	return 0, false, errors.Join(p.Store.EnsurePartitions(ctx, t.Now),
		p.Store.EnsureEventPartitions(ctx, t.Now, p.Policy().Ledger.EventRetention))
}
