package app

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/recoup-dev/recoup/server/internal/slice"
	"github.com/recoup-dev/recoup/server/internal/store"
)

func (n *Node) allLoops() []slice.Loop {
	list := []slice.Loop{
		{Name: "database", Every: 500 * time.Millisecond, Run: n.watchDatabase},
		{Name: "admit", Every: 500 * time.Millisecond, Wake: store.WakeErrors, Run: n.admit},
		{Name: "refresh", Every: 10 * time.Second, Wake: store.WakePolicy, Run: n.followPolicy, Idle: n.followIdly},
		{Name: "key use", Every: 10 * time.Second, Run: n.api.FlushKeyUse},
		{Name: "workers", Every: 5 * time.Second, Run: n.heartbeats.Flush},
		{Name: "refusals", Every: 10 * time.Second, Run: n.api.LogRefusals, Idle: n.api.LogRefusals},
		{Name: "clock", Every: clockEvery, Run: n.clock.follow},
		{Name: "clockwork", Every: time.Second, Run: n.jobs.Tick, Idle: n.idleJobs()},
		{Name: "replays", Every: 250 * time.Millisecond, Run: n.advanceLetters},
		{Name: "letter retention", Every: time.Hour, Run: n.letters.Purge},
		{Name: "notifications", Every: 2 * time.Second, Wake: store.WakeNotices, Run: n.notifier.Run},
		{Name: "receivers", Every: time.Second, Wake: store.WakeWork, Run: n.pusher.Run},
	}
	if s, can := n.store.(store.LockWatcher); can {
		list = append(list, slice.Loop{Name: "locks", Every: time.Second, Run: (&lockWatch{n: n, store: s}).run})
	}
	list = append(list, n.sliceLoops()...)
	if n.o.Standby {
		list = slices.DeleteFunc(list, func(l slice.Loop) bool { return !slices.Contains(standbyLoops(), l.Name) })
	}
	return list
}

// runLoops starts all loops; they end with ctx.
func (n *Node) runLoops(ctx context.Context) {
	wakes := map[string][]chan struct{}{}
	for _, l := range n.allLoops() {
		woken := make(chan struct{}, 1)
		if l.Wake != "" {
			wakes[l.Wake] = append(wakes[l.Wake], woken)
		}
		n.loops.Go(func() { n.run(ctx, l, woken) })
	}
	n.loops.Go(func() { n.pace.Run(ctx) })
	for _, s := range n.slices {
		for _, run := range s.Background {
			n.loops.Go(func() { run(ctx) })
		}
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
			for _, woken := range wakes[channel] {
				select {
				case woken <- struct{}{}:
				default: // it is awake
				}
			}
		})
		if err != nil && ctx.Err() == nil {
			n.o.Logger.Error("LISTEN connection ended; falling back to polling", "cause", err)
		}
	})
}

// run runs one loop. A failure is logged once until it is over.
func (n *Node) run(ctx context.Context, l slice.Loop, woken <-chan struct{}) {
	tick := time.NewTicker(l.Every)
	defer tick.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-woken:
		}
		run := l.Run
		if n.pace.Asleep() {
			if run = l.Idle; run == nil {
				run = l.Run
				if n.pace.Wait(ctx) != nil {
					return
				}
			}
		}
		err := run(ctx)
		switch {
		case err != nil && ctx.Err() == nil && !errors.Is(err, store.ErrBusy):
			if !failing {
				n.o.Logger.Warn("loop failed; it will be retried", "loop", l.Name, "cause", err)
			}
			failing = true
		case failing:
			n.o.Logger.Info("loop recovered", "loop", l.Name)
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
