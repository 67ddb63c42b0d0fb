package app

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/recoup-dev/recoup/server/internal/store"
)

// loop is something that runs beside the requests: at least so often, and at
// once when the store wakes it.
type loop struct {
	name  string
	every time.Duration
	wake  string // the store's channel; empty: none
	run   func(context.Context) error
	idle  func(context.Context) error // takes the place of run on an idle node; nil: the loop waits until the node is awake
}

func (n *Node) allLoops() []loop {
	list := []loop{
		{"database", 500 * time.Millisecond, "", n.watchDatabase, nil},
		{"admit", 500 * time.Millisecond, store.WakeErrors, n.admit, nil},
		{"refresh", 10 * time.Second, store.WakePolicy, n.followPolicy, n.followIdly},
		{"key use", 10 * time.Second, "", n.api.FlushKeyUse, nil},
		{"workers", 5 * time.Second, "", n.heartbeats.Flush, nil},
		{"refusals", 10 * time.Second, "", n.api.LogRefusals, n.api.LogRefusals},
		{"clock", clockEvery, "", n.clock.follow, nil},
		{"clockwork", time.Second, "", n.jobs.Tick, n.idleJobs()},
		{"replays", 250 * time.Millisecond, "", n.advanceLetters, nil},
		{"letter retention", time.Hour, "", n.letters.Purge, nil},
		{"notifications", 2 * time.Second, store.WakeNotices, n.notifier.Run, nil},
		{"receivers", time.Second, store.WakeWork, n.pusher.Run, nil},
	}
	if n.adoptions != nil {
		list = append(list, loop{"adoptions", 300 * time.Millisecond, "", n.adoptions.Run, nil})
	}
	if s, can := n.store.(store.LockWatcher); can {
		list = append(list, loop{"locks", time.Second, "", (&lockWatch{n: n, store: s}).run, nil})
	}
	if s, can := n.store.(store.TakenOverRedactor); can {
		list = append(list, loop{"rows taken over", time.Second, "", n.redactTakenOver(s), nil})
	}
	if n.o.Standby {
		list = slices.DeleteFunc(list, func(l loop) bool { return !slices.Contains(standbyLoops(), l.name) })
	}
	return list
}

// runLoops starts all loops; they end with ctx.
func (n *Node) runLoops(ctx context.Context) {
	wakes := map[string]chan struct{}{}
	for _, l := range n.allLoops() {
		woken := make(chan struct{}, 1)
		if l.wake != "" {
			wakes[l.wake] = woken
		}
		n.loops.Go(func() { n.run(ctx, l, woken) })
	}
	n.loops.Go(func() { n.pace.Run(ctx) })
	if n.archiver != nil {
		n.loops.Go(func() { n.archiver.run(ctx) })
	}
	if n.consumer != nil {
		n.loops.Go(func() { n.consumer.Run(ctx) })
	}
	n.loops.Go(func() {
		err := n.store.Listen(ctx, func(channel string) {
			n.wakePace(channel)
			switch channel {
			case store.WakeErrors:
				n.engine.Wake()
			case store.WakeWork:
				n.letters.Wake()
			}
			select {
			case wakes[channel] <- struct{}{}:
			default: // it is awake, or nobody waits
			}
		})
		if err != nil && ctx.Err() == nil {
			n.o.Logger.Error("LISTEN connection ended; falling back to polling", "cause", err)
		}
	})
}

// run runs one loop. A failure is logged once until it is over.
func (n *Node) run(ctx context.Context, l loop, woken <-chan struct{}) {
	tick := time.NewTicker(l.every)
	defer tick.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-woken:
		}
		run := l.run
		if n.pace.Asleep() {
			if run = l.idle; run == nil {
				run = l.run
				if n.pace.Wait(ctx) != nil {
					return
				}
			}
		}
		err := run(ctx)
		switch {
		case err != nil && ctx.Err() == nil && !errors.Is(err, store.ErrBusy):
			if !failing {
				n.o.Logger.Warn("loop failed; it will be retried", "loop", l.name, "cause", err)
			}
			failing = true
		case failing:
			n.o.Logger.Info("loop recovered", "loop", l.name)
			failing = false
		}
	}
}

// admit brings what plain SQL wrote under the policy, until nothing is left.
func (n *Node) admit(ctx context.Context) error {
	for {
		if admitted, err := n.engine.Admit(ctx); admitted == 0 || err != nil {
			return err
		}
	}
}
