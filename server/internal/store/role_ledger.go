package store

import (
	"context"
	"iter"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// CodeRegistry keeps the registry of codes, which events are held to.
type CodeRegistry interface {
	// SyncCodes registers codes, and renews what is known of those that are
	// registered already. It never removes one. Safe to run from many nodes at
	// once.
	SyncCodes(ctx context.Context, now time.Time, codes []*fault.Definition) error

	// Codes returns everything that is registered, sorted by code.
	Codes(ctx context.Context) ([]fault.Definition, error)
}

// EventWriter keeps failures as facts (spec 003). An event is identified by its id
// together with its time: the same again is ignored.
type EventWriter interface {
	// InsertEvents adds events and counts them, all or none of them, and returns
	// how many were new. A code that is not registered, or details that spec 003
	// does not allow, are refused with ErrRefused.
	InsertEvents(ctx context.Context, events []Event) (added int, err error)

	// CountDrops notes what was left out of the ledger.
	CountDrops(ctx context.Context, drops []Drop) error
}

// EventLoader backfills events.
type EventLoader interface {
	// BulkLoad adds any number of events of a span, as a backfill does, in large
	// chunks, each of which succeeds or fails on its own, and then renews what the
	// database knows of its contents. An event outside of the span ends it with
	// ErrRefused. Whatever ended it, it may be run again.
	BulkLoad(ctx context.Context, span Span, events iter.Seq[Event]) (added int, err error)
}

// EventReader answers what failed and how often, from counts that are exact at every
// moment: late events are counted where they belong, duplicates nowhere, and
// nothing is counted twice.
type EventReader interface {
	// Events lists events, newest first, and where times are equal by id from
	// large to small. It returns the cursor to go on from, or the zero cursor
	// once there is nothing more.
	Events(ctx context.Context, f EventFilter, p sqldb.Page) ([]Event, sqldb.Cursor, error)

	// TopCodes returns the codes with the most events in a span, most first, and
	// where they have equally many by name. It is exact as far back as hourly
	// counts are kept.
	TopCodes(ctx context.Context, span Span, limit int) ([]recoup.CodeCount, error)

	// RetryableRates returns for every service how many of its events from a day
	// to a day, both included, were worth trying again, the highest share first.
	RetryableRates(ctx context.Context, from, to time.Time) ([]recoup.ServiceRate, error)

	// Daily returns the counts from a day to a day, both included, by day,
	// service and code. How much that is, the number of days decides.
	Daily(ctx context.Context, f DailyFilter, from, to time.Time) ([]DailyCount, error)

	// Drops returns what was left out of the ledger from a day to a day, both included,
	// by day and reason.
	Drops(ctx context.Context, from, to time.Time) ([]Drop, error)
}

// ProcessedWriter counts what services have done.
type ProcessedWriter interface {
	// AddProcessed adds to counts, all of them or none.
	AddProcessed(ctx context.Context, counts []Processed) error
}

// ForecastReader answers what forecasts are made of, beside what happened and what there is.
type ForecastReader interface {
	// ParkDeadlines counts open deadlines of parked errors by table and bucket, of which
	// edges are the limits, in order: the earliest MaxDeadlines of them, of all tables
	// together. A resolved error keeps its expiry until it is archived.
	ParkDeadlines(ctx context.Context, kind ParkDeadline, edges []time.Time) ([]DeadlineCount, error)

	// HourlyActivity returns what happened in each of the hours that begin in a span, by
	// hour and table: as far as it is folded, and where there was any. The minute of each
	// is the beginning of its hour.
	HourlyActivity(ctx context.Context, span Span) ([]Activity, error)

	// StagedActivity sums up what came into the queues of staged work and left them in
	// the minutes that begin in a span, by pipeline. Pipelines in which nothing happened
	// are left out.
	StagedActivity(ctx context.Context, span Span) ([]StagedActivity, error)

	// StagedLevels counts what the queue of work holds, by lane, as far as MaxFigure goes:
	// the largest lanes by name, and all others together.
	StagedLevels(ctx context.Context, now time.Time) (largest []LaneLevel, others LaneLevel, err error)
}

// SeriesReader answers what charts are drawn of.
type SeriesReader interface {
	// ActivityHours sums up what happened in each of the hours that begin in a span, of
	// all tables or of some together: as far as it is folded, and where there was any.
	// The minute of each is the beginning of its hour.
	ActivityHours(ctx context.Context, tables []string, span Span) ([]Activity, error)

	// EventHours counts the events of each of the hours that begin in a span, of one code
	// or, if it is empty, of all: where there were any.
	EventHours(ctx context.Context, code recoup.Code, span Span) ([]HourCount, error)
}

// FigureReader answers what rates and levels are made of. No answer costs more because
// there are more errors.
type FigureReader interface {
	QueueReader

	// Activity sums up what happened in the minutes that begin in a span, by table.
	// Tables in which nothing happened are left out.
	Activity(ctx context.Context, span Span) ([]Activity, error)

	// Levels returns what there is at now, by table. Tables without errors are
	// left out.
	Levels(ctx context.Context, now time.Time) ([]Level, error)

	// RecentEvents counts the events of some codes that happened in a span, by code
	// and provider. The cost depends on what happened in the span.
	RecentEvents(ctx context.Context, span Span, codes []recoup.Code) ([]RecentCount, error)

	// Processed sums up the minutes that begin in a span, by table and service. The
	// cost depends on the span, and not on how much there is.
	Processed(ctx context.Context, span Span, f ProcessedFilter) ([]Processed, error)
}
