package store

import (
	"context"
	"time"

	"github.com/recoup-dev/recoup"
)

// DayReader reads the ledger by whole days.
type DayReader interface {
	// ReadEventDay reads the events that happened on a day, as they are at one moment:
	// first it hands over how many each code has, sorted by code, then the events,
	// sorted by code, time and id. What is handed over is valid until the next. An
	// error of either ends it and is returned.
	ReadEventDay(ctx context.Context, day time.Time, counts func([]recoup.CodeCount) error, event func(*Event) error) error

	// EventDays returns the days before a time of which the ledger still has events, or
	// had when their month was dropped last, oldest first. How much that is, the
	// retention of events decides.
	EventDays(ctx context.Context, before time.Time) ([]EventDay, error)
}

// EventFiler keeps the manifest of files of events. While filing is on, DropEvents keeps
// every month that has an event which is in no file.
type EventFiler interface {
	DayReader

	// SaveEventFile records the file of a day, instead of an older one. One that was
	// replaced in the same place meanwhile changes nothing: whoever was slow has a
	// version that the place may have no more.
	SaveEventFile(ctx context.Context, f EventFile, by Act) error

	// EventFiling returns the filing that is on, or nil.
	EventFiling(ctx context.Context) (*EventFiling, error)

	// SetEventFiling turns filing on for a place, or off if the place is empty. Where
	// that is so already, nothing changes.
	SetEventFiling(ctx context.Context, place string, by Act) error
}
