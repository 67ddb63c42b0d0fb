package store

import (
	"context"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// EventBatch is events that travel together by a bus.
type EventBatch struct {
	ID       recoup.ID // by which it is written once; zero: of a batch that nobody can read
	Sequence int64     // on the bus; zero: it did not come that way
	Events   []Event
}

// EventBatchWriter keeps events that travel by a bus. A store whose file one node alone writes
// has none.
type EventBatchWriter interface {
	// WriteEventBatches adds the events of batches and counts them, as InsertEvents does, and
	// notes their ids and the sequences that they had on a stream, all or nothing. A batch
	// whose id is known adds no event, whichever way it came before. It returns how many
	// events were new. Of a batch without an id the sequence alone is noted.
	WriteEventBatches(ctx context.Context, stream string, batches []EventBatch) (added int, err error)

	// FoldEventBatches joins the noted sequences that have no gap between them, and forgets at
	// most limit ids, and gaps, that are older than a time. It returns how many ids.
	FoldEventBatches(ctx context.Context, before time.Time, limit int) (int, error)

	// BusGaps returns at most limit gaps between the noted sequences that have been known
	// since before a time, the oldest first.
	BusGaps(ctx context.Context, before time.Time, limit int) ([]wire.BusGap, error)
}
