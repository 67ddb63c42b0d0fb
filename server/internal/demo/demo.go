// Package demo fills a node with sample data, so that whoever looks at Recoup for the
// first time finds what an operator finds in the morning: a [Month], played by a [Clock]
// that is moved, and a night that went wrong.
package demo

import (
	"context"
	"fmt"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/deadletter"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// Parts are those of the node that a demo plays on.
type Parts struct {
	Store interface {
		store.ProcessedWriter
		UseClock(func() time.Time)
	}
	OwnClock    bool // the store has a clock of its own, which cannot be moved
	Engine      *engine.Engine
	DeadLetters *deadletter.Service
	Now         func() time.Time
	IDs         *recoup.IDSource

	// Slices add what slices show of themselves. past lets acts happen by another clock
	// until end is called; nil: the store has a clock of its own.
	Slices []func(ctx context.Context, past func(clock func() time.Time) (end func())) error

	failed map[string]recorded // by incident
}

// caller is who does what the demo does.
var caller = engine.Caller{Name: "demo"}

// Add adds the failures of a night, dead letters, and what slices show.
// What the policy does not have is left out, so that a demo runs with any policy.
func (s *Parts) Add(ctx context.Context) error {
	for _, add := range []func(context.Context) error{s.addDeadLetters, s.addSlices, s.addErrors} {
		if err := add(ctx); err != nil {
			return fmt.Errorf("adding sample data: %w", err)
		}
	}
	return nil
}

// addSlices adds what slices show.
func (s *Parts) addSlices(ctx context.Context) error {
	past := func(clock func() time.Time) func() {
		s.Store.UseClock(clock)
		return func() { s.Store.UseClock(s.Now) }
	}
	if s.OwnClock { // it cannot be taken back
		past = nil
	}
	for _, add := range s.Slices {
		if err := add(ctx, past); err != nil {
			return err
		}
	}
	return nil
}
