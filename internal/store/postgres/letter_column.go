package postgres

import (
	"recoup"
	"recoup/internal/store"
)

// The columns of the tables of staged work on the wire.
var (
	letterColumns     = columns(store.DeadLetters.Columns)
	roundColumns      = columns(store.Rounds.Columns)
	noteColumns       = columns(store.Notes.Columns)
	groupColumns      = columns(store.Groups.Columns)
	payloadColumns    = columns(store.Payloads.Columns)
	checkpointColumns = columns(store.Checkpoints.Columns)
	queueColumns      = columns(store.WorkQueue.Columns)
	replayColumns     = columns(store.Replays.Columns)
	itemColumns       = columns(store.ReplayItems.Columns)
	itemChanges       = columns(store.ReplayItems.Changing().Columns)
	partColumns       = columns(store.LetterParts)

	// wholeColumns reads a letter with the error that stands in its table.
	wholeColumns = append(partColumns[:len(partColumns):len(partColumns)],
		within("e.", errorColumns(), func(l *store.Letter) *recoup.Error { return &l.Error })...)
)

// queueChanges is how many of queueColumns can change, the key counted.
var queueChanges = len(store.WorkQueue.Changing().Columns)

// within makes columns of a part, as they are read, into columns of the whole.
func within[W, P any](prefix string, columns []column[P], part func(*W) *P) []column[W] {
	list := make([]column[W], len(columns))
	for i, c := range columns {
		list[i] = column[W]{name: prefix + c.name, read: func(w *W, value []byte) error { return c.read(part(w), value) }}
	}
	return list
}
