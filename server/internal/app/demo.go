package app

import (
	"context"
	"errors"
	"log/slog"

	"github.com/recoup-dev/recoup/server/internal/demo"
	"github.com/recoup-dev/recoup/server/internal/store/sqlite"
)

// openDemoStore is openStore for data that nobody minds losing.
func openDemoStore(ctx context.Context, o *Options, logger *slog.Logger) (Store, error) {
	kind, path, err := splitDatabase(o.Database)
	if err != nil || kind != "sqlite" {
		return openStore(ctx, o, logger)
	}
	s, err := sqlite.Open(ctx, path, sqlite.Options{Unsynced: true})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// AddSamples adds the sample data of a demo.
func (n *Node) AddSamples(ctx context.Context) error { return n.demoParts().Add(ctx) }

// PlayDemo adds the sample data of a demo to a node that does not serve yet, and begins a
// replay. With a clock, by which the node was opened, a month that ends now is played
// before.
func (n *Node) PlayDemo(ctx context.Context, clock *demo.Clock, progress func(played, all int)) error {
	parts := n.demoParts()
	if clock != nil {
		month := demo.Month{Parts: parts, Clock: clock, Tick: n.tick, Progress: progress}
		n.playing.Store(true) // the doctor looks at the end, not every hour of it
		err := month.Play(ctx)
		n.playing.Store(false)
		if err != nil {
			return err
		}
	}
	if err := errors.Join(parts.Add(ctx), parts.Ramp(ctx)); err != nil {
		return err
	}
	_, err := n.checkUp(ctx)
	return err
}

func (n *Node) demoParts() *demo.Parts {
	_, own := n.store.(timed)
	parts := &demo.Parts{
		Store: n.store, OwnClock: own, Engine: n.engine, DeadLetters: n.letters, Now: n.o.Now, IDs: n.letters.IDs,
	}
	for _, s := range n.slices {
		if s.Demo != nil {
			parts.Slices = append(parts.Slices, s.Demo)
		}
	}
	return parts
}

// tick does once what the clock makes a node do.
func (n *Node) tick(ctx context.Context) error {
	err := errors.Join(n.heartbeats.Flush(ctx), n.jobs.Tick(ctx), n.advanceLetters(ctx), n.notifier.Run(ctx))
	n.notifier.Wait()
	return err
}
