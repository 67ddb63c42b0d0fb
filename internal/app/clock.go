package app

import (
	"context"
	"sync/atomic"
	"time"
)

// clock is the node's clock, corrected to that of its database, so that nodes
// whose own clocks differ agree on what is due. Times are whole microseconds,
// which is what the stores keep.
type clock struct {
	read   func() time.Time
	offset atomic.Int64 // nanoseconds that the database is ahead
}

func (c *clock) now() time.Time {
	return c.read().Add(time.Duration(c.offset.Load())).UTC().Truncate(time.Microsecond)
}

// timed is a store with a clock of its own.
type timed interface {
	Time(ctx context.Context) (time.Time, error)
}

// follow compares the clock with the database's. Half of the way there and back
// is taken for the way back.
func (c *clock) follow(ctx context.Context, s any) error {
	database, ok := s.(timed)
	if !ok {
		return nil
	}
	sent := c.read()
	there, err := database.Time(ctx)
	if err != nil {
		return err
	}
	took := c.read().Sub(sent)
	c.offset.Store(int64(there.Sub(sent.Add(took / 2))))
	return nil
}
