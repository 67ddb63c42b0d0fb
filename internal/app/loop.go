package app

import (
	"context"
	"errors"
	"time"

	"recoup/internal/store"
)

// loop is something that runs beside the requests: at least so often, and at
// once when the store wakes it.
type loop struct {
	name  string
	every time.Duration
	wake  string // the store's channel; empty: none
	run   func(context.Context) error
}

func (n *Node) allLoops() []loop {
	list := []loop{
		{"database", 500 * time.Millisecond, "", n.watchDatabase},
		{"admit", 500 * time.Millisecond, store.WakeErrors, n.admit},
		{"refresh", 10 * time.Second, store.WakePolicy, n.followPolicy},
		{"key use", 10 * time.Second, "", n.api.FlushKeyUse},
		{"workers", 5 * time.Second, "", n.roster.Flush},
		{"refusals", 10 * time.Second, "", n.api.LogRefusals},
		{"clock", clockEvery, "", n.clock.follow},
		{"clockwork", time.Second, "", n.jobs.Tick},
		{"replays", 250 * time.Millisecond, "", n.advanceLetters},
		{"letter retention", time.Hour, "", n.letters.Purge},
		{"notifications", 2 * time.Second, store.WakeNotices, n.notifier.Run},
		{"receivers", time.Second, store.WakeWork, n.pusher.Run},
	}
	if n.adoptions != nil {
		list = append(list, loop{"adoptions", 300 * time.Millisecond, "", n.adoptions.Run})
	}
	if s, can := n.store.(store.LockWatcher); can {
		list = append(list, loop{"locks", time.Second, "", (&lockWatch{n: n, store: s}).run})
	}
	if s, can := n.store.(store.TakenOverRedactor); can {
		list = append(list, loop{"rows taken over", time.Second, "", n.redactTakenOver(s)})
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
	if n.filing != nil {
		n.loops.Go(func() { n.filing.run(ctx) })
	}
	if n.consumer != nil {
		n.loops.Go(func() { n.consumer.Run(ctx) })
	}
	n.loops.Go(func() {
		err := n.store.Listen(ctx, func(channel string) {
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
		err := l.run(ctx)
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
