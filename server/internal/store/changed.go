package store

import (
	"time"

	"github.com/recoup-dev/recoup/server/internal/wire"
)

// Changed is an error that something has happened to.
type Changed struct {
	wire.Changed
	Seq int64     // of the transition; no two have the same
	At  time.Time // when it happened
}

// ChangeMark is up to where changes were read.
type ChangeMark struct {
	Seq int64     // where commits are in the order of their transitions
	At  time.Time // the newest that was seen
}

// Moving is a thing that pages show while it changes, other than an error.
type Moving struct {
	wire.ChangedObject
	Of   string // its hub, or its pipeline; empty: of all hubs
	Mark MovingMark
}

// MovingMark differs from the last one if the thing has changed.
type MovingMark struct {
	State string
	N     int64
	At    time.Time
}

// ChangeOverlap is how far back a look goes behind the mark: for so long a transaction
// may wait between its act and its commit and still be seen.
const ChangeOverlap = 3 * time.Second
