package app

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/recoup-dev/recoup/server/internal/httpapi"
	"github.com/recoup-dev/recoup/server/internal/pace"
	"github.com/recoup-dev/recoup/server/internal/scheduler"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// Idle is how a node without work leaves a database server alone. The zero value has the
// defaults of package pace.
type Idle struct {
	Every time.Duration // between two looks for what is due; zero: half a minute, a second where work comes without a notification
	After time.Duration // how long a request keeps the node awake

	Linger time.Duration // how long something that was due does
}

// newPace lets the node rest, if its store can be left alone: one on a server. Events
// that a transport carries arrive without a request, so a node with one is always awake.
func (n *Node) newPace() (err error) {
	s, can := n.store.(store.Rester)
	if !can || n.transport != nil {
		return nil
	}
	if n.o.Standby { // nothing is due to a standby
		n.pace, err = pace.New(pace.Options{
			Look:    func(context.Context) (pace.Look, error) { return pace.Look{}, nil },
			Elapsed: n.clock.since, After: n.o.Idle.After, Linger: n.o.Idle.Linger, Change: s.Rest,
		})
		return err
	}
	look := func(ctx context.Context) (pace.Look, error) {
		ctx, cancel := context.WithTimeout(ctx, lookPatience)
		defer cancel()
		next, err := s.NextDue(ctx, n.firstDue()...)
		return pace.Look{Pending: next.Any, Next: next.In, Silent: (next.Silent || n.sliceSilent()) && n.o.Idle.Every == 0}, err
	}
	n.pace, err = pace.New(pace.Options{
		Look: look, Elapsed: n.clock.since, After: n.o.Idle.After, Linger: n.o.Idle.Linger, Every: n.o.Idle.Every,
		Announce: func() { s.Announce(store.WakeActive) },
		Change: func(asleep bool) {
			s.Rest(asleep)
			n.o.Logger.Debug("idle", "idle", asleep)
		},
		Logger: n.o.Logger,
	})
	return err
}

// lookPatience is how long a look may take: a serverless database may have to start for it.
const lookPatience = 30 * time.Second

// wakePace wakes the node for what the store has heard.
func (n *Node) wakePace(channel string) {
	switch channel {
	case store.WakeActive:
		n.pace.Active()
	case store.WakeMissed:
		n.pace.LookAgain()
	default:
		n.pace.Due()
	}
}

// counted has requests keep the node awake, but for those that machines send all the time
// to see how it does.
func (n *Node) counted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n.o.Standby {
			w.Header().Set(httpapi.StandbyHeader, "true")
		}
		switch r.URL.Path {
		case "/healthz", "/readyz", "/metrics":
		default:
			defer n.pace.Begin()()
		}
		next.ServeHTTP(w, r)
	})
}

// idleJobs returns what an idle node does for its jobs, whose own rhythm is the clock's, and
// what loops do that are no jobs and wait for no deadline.
func (n *Node) idleJobs() func(context.Context) error {
	var purged time.Duration
	return func(ctx context.Context) error {
		ran, err := n.jobs.Idle(ctx)
		if !ran {
			return err
		}
		err = errors.Join(err, n.followPolicy(ctx)) // a notification may have been lost
		err = errors.Join(err, n.sliceIdle(ctx))
		if now := n.clock.since(); now-purged >= time.Hour {
			purged = now
			err = errors.Join(err, n.letters.Purge(ctx))
		}
		return err
	}
}

// followIdly looks for changes of the policy where no notification of them can come: in the
// node's file and, behind a pooler without a direct address, in the database.
func (n *Node) followIdly(ctx context.Context) error {
	if s, can := n.store.(interface{ Polls() bool }); can && s.Polls() && n.o.Idle.Every == 0 {
		return n.followPolicy(ctx)
	}
	return n.followFile(ctx)
}

// jobsWhenIdle is how often an idle node runs jobs: no more often than it looks.
func (n *Node) jobsWhenIdle() time.Duration { return max(scheduler.DefaultIdle, n.o.Idle.Every) }
