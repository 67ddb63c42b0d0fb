package store

import (
	"context"
	"time"
)

// HeartbeatWriter keeps which workers claim. Nodes write seldom, and each its own rows.
type HeartbeatWriter interface {
	// SaveHeartbeats takes the place of what a node has written about the same queues.
	SaveHeartbeats(ctx context.Context, beats []Heartbeat) error

	// PurgeHeartbeats deletes at most limit heartbeats that ended before a time, and
	// returns how many.
	PurgeHeartbeats(ctx context.Context, before time.Time, limit int) (int, error)
}

// QueueReader says whether workers keep up.
type QueueReader interface {
	// QueueLevels says of some error tables and of the lanes of staged work how much is
	// due there and held by nobody, since when, and who claims it. What cannot be
	// claimed, because it is paused or its replay does not run, does not count. It
	// counts as far as MaxFigure, of which each queue has its share, and costs no more
	// than the claims of one worker for all of them.
	QueueLevels(ctx context.Context, now time.Time, tables []string) ([]QueueLevel, error)
}
