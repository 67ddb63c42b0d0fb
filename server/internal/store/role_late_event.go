package store

import "context"

// LateEvents keeps events of acts that the ledger could not take with their act, because
// another session held a lock on it or its month could not be made. They are durable, and
// in the ledger once they are delivered. A store whose one writer locks everything has
// none.
type LateEvents interface {
	// DeliverEvents moves at most limit late events to the ledger, the oldest first, all or
	// none of them, and returns how many. An event that the ledger has already is not added
	// again.
	DeliverEvents(ctx context.Context, limit int) (int, error)

	// LateEvents says how many events are late, at most limit, and since when.
	LateEvents(ctx context.Context, limit int) (Overdue, error)
}
