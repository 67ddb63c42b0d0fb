package store

import (
	"context"

	"github.com/recoup-dev/recoup"
)

// EventBatch is events that a transport carries together.
type EventBatch struct {
	ID       recoup.ID // by which it is written once; zero: of a batch that nobody can read
	Sequence int64     // on the transport; zero: it did not come that way
	Events   []Event
}

// EventBatchWriter writes events that a transport carries. A store whose file one node alone writes
// has none.
type EventBatchWriter interface {
	// WriteEventBatches adds the events of batches and counts them, as InsertEvents does, and
	// notes their ids and the sequences that they had on a stream, all or nothing. A batch
	// whose id is known adds no event, whichever way it came before. It returns how many
	// events were new. Of a batch without an id the sequence alone is noted.
	WriteEventBatches(ctx context.Context, stream string, batches []EventBatch) (added int, err error)
}
