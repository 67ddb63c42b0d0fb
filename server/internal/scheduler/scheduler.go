// Package scheduler schedules what a policy asks for. A [Job] is a scheduled job,
// as data; the [Clock] of every node bids for one leadership, and the one that
// leads gives each job its turn, chunk by chunk.
//
// A leader that dies is replaced when its term is over; one that slept does
// nothing. Whatever a job writes is written under the leader's term
// ([store.UnderTerm]), which the store holds in the same transaction and refuses once
// another has begun. Whatever acts on errors is decided again by lifecycle.Step under a
// lock on each row besides, so that an error that has moved on is left alone: a job that
// a person runs on a node that does not lead does no harm either.
//
// The package knows neither HTTP nor SQL, reads no clock and starts nothing:
// whoever owns a Clock ticks it.
package scheduler

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/recoup-dev/recoup/server/internal/store"
)

// Leadership is the name of what is led.
const Leadership = "clockwork"

// Job is a piece of regular work.
type Job struct {
	Name  string
	About string        // what it does, in a few words
	Every time.Duration // how often it is begun
	Late  time.Duration // how far it may fall behind, or how long go without success, before people are notified
	Idle  time.Duration // how often it is begun while all nodes are idle; zero: once an hour, or as seldom as Every says

	// After is the job after which it takes its turn, if there is one of that name. Empty: it
	// comes before the jobs that delete what has been kept long enough.
	After string

	// Fenced says that a chunk does harm when it is done twice, and therefore hands
	// the term on to the store. Only a leader can run such a job.
	Fenced bool

	// Chunk does a bounded chunk of the work, in transactions of its own, and says
	// how many rows it has moved and whether there is more at once. Cut off
	// anywhere, or done by two nodes at once, it leaves nothing but less to do.
	Chunk func(ctx context.Context, t Run) (rows int, more bool, err error)

	// Overdue says how much there is to do, at most limit, and since when the first
	// of it has been due. Nil: there is nothing to be counted.
	Overdue func(ctx context.Context, now time.Time, limit int) (store.Overdue, error)
}

// Run holds the time of a chunk and the term it is run under: the zero term if a person
// asked for it on a node that need not lead.
type Run struct {
	Now  time.Time
	Term store.Term
}

// Store is where leadership and what is known of jobs is kept.
type Store interface {
	store.Leadership
	store.NoticeWriter
}

// Options are what a clock is made of. Store, Node, Now, NotifyTo and Jobs are
// required.
type Options struct {
	Store    Store
	Node     string // unique among all that share the store
	Now      func() time.Time
	NotifyTo func() string // who is notified of a job that falls behind
	Jobs     []Job
	Logger   *slog.Logger

	// Tenure is how long a leader leads without a sign of life: so long it may take
	// until another takes over.
	Tenure time.Duration

	// Since is how much time has gone by, by the monotonic clock: by it a leader
	// knows that its term is over, also where it does not reach the store. Nil: as
	// Now says.
	Since func() time.Duration

	// Quiet is how often a job that does nothing is noted to have run.
	Quiet time.Duration

	// Idle is how often an idle node looks whether a job is to be run that no deadline
	// asks for.
	Idle time.Duration
}

// The defaults of the options.
const (
	DefaultTenure = 10 * time.Second
	DefaultQuiet  = 15 * time.Second
	DefaultIdle   = 10 * time.Minute
)

func (o Options) withDefaults() Options {
	if o.Tenure == 0 {
		o.Tenure = DefaultTenure
	}
	if o.Quiet == 0 {
		o.Quiet = DefaultQuiet
	}
	if o.Idle == 0 {
		o.Idle = DefaultIdle
	}
	if o.Since == nil && o.Now != nil {
		start, now := o.Now(), o.Now
		o.Since = func() time.Duration { return now().Sub(start) }
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

func (o Options) validate() error {
	if o.Store == nil || o.Node == "" || o.Now == nil || o.NotifyTo == nil || len(o.Jobs) == 0 {
		return errors.New("scheduler: store, node, clock, notifier and jobs are required")
	}
	names := map[string]bool{}
	for _, j := range o.Jobs {
		if j.Name == "" || j.Chunk == nil || j.Every <= 0 || j.Late <= 0 || names[j.Name] {
			return errors.New("scheduler: a job needs a name of its own, a chunk, and how often and how late it may be: " + j.Name)
		}
		names[j.Name] = true
	}
	return nil
}

// ErrNoJob is returned for a name that no job has.
var ErrNoJob = errors.New("there is no such job")

// ErrNotLeader is returned for a job that only the leader can run.
var ErrNotLeader = errors.New("another node leads, and only that one can run this job")
