package store

import (
	"context"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// AdoptionReader says what is adopted.
type AdoptionReader interface {
	// Adoptions lists the adopted tables, by id.
	Adoptions(ctx context.Context) ([]Adoption, error)

	// AdoptionFigures returns how far nodes are with each adoption.
	AdoptionFigures(ctx context.Context) ([]AdoptionFigures, error)
}

// Adopter governs tables that were there before (decision 0076). It is an optional
// role: only PostgreSQL has it. What is done under a [Turn] is ErrOutOfTurn once
// another node has a later one.
type Adopter interface {
	AdoptionReader

	// TakeTurn gives a node the turn at an adoption, or lengthens the one that it has,
	// and reports whether it has it then.
	TakeTurn(ctx context.Context, adoption int, node string, lasts time.Duration) (turn Turn, held bool, err error)

	// EndTurns lets other nodes have all turns of one.
	EndTurns(ctx context.Context, node string) error

	// Changes returns the first changes of an adoption, as many as have some thousands of
	// keys together, and reports whether there are more.
	Changes(ctx context.Context, adoption, limit int) (list []AdoptedChange, more bool, err error)

	// TendPartitions adds triggers to partitions of a source that have none and has their rows
	// read. It notes which partitions there are, and those that it could not add triggers to. If
	// partitions are gone, every row that has an error is looked at again.
	TendPartitions(ctx context.Context, turn Turn) error

	// IndexChanges lets the gate find the entities of changes that wait by an index, about
	// as many entities as said, and returns of how many changes. It needs no turn.
	IndexChanges(ctx context.Context, adoption, entities int) (int, error)

	// PassChanges notes how far changes are read or indexed, of all adoptions. Writers of an
	// adoption that is behind index their changes. IndexChanges and ForgetChanges do so too.
	PassChanges(ctx context.Context) error

	// ForgetChanges ends changes, once all that they lead to is committed. They are the first of
	// their adoption.
	ForgetChanges(ctx context.Context, turn Turn, ids []int64) error

	// SourceRows returns the rows of keys as they are now, with the columns that rules list as
	// far as the source's owner has agreed. Those that are gone are left out.
	SourceRows(ctx context.Context, adoption int, keys []string, rules wire.SourceRules) ([]SourceRow, error)

	// ScanSource returns the keys of a source behind one, up to another, in their order. It
	// refuses keys that are too long to be noted.
	ScanSource(ctx context.Context, adoption int, after *string, until string, limit int) ([]string, error)

	// Pairs returns what is known of the rows of keys, and PairsAfter of those behind a key,
	// in the order of keys of the pairs.
	Pairs(ctx context.Context, adoption int, keys []string) ([]AdoptedRow, error)
	PairsAfter(ctx context.Context, adoption int, after *string, limit int) ([]AdoptedRow, error)

	// SavePairs gives pairs another digest and attempt, and forgets others.
	SavePairs(ctx context.Context, turn Turn, changed []AdoptedRow, gone []string) error

	// SaveUnreadable notes which rows cannot be read, and that others of those keys can
	// be again, or are gone.
	SaveUnreadable(ctx context.Context, turn Turn, keys []string, bad []Unreadable) error

	// DueRows returns rows whose errors in a table are due, and those that a worker has leased
	// whose jobs were not set off yet, the longest due first.
	DueRows(ctx context.Context, adoption int, table, worker string, limit int) ([]DueRow, error)

	// RequeueJobs lets the jobs of rows run once more, then notes under which leases, and returns the
	// keys of those that it has set off. What is no failure any more is noted, and not set off.
	RequeueJobs(ctx context.Context, turn Turn, rows []DueRow) ([]string, error)

	// ParkedRows returns rows of the errors in a table that the policy has parked and nobody
	// is assigned to, the longest parked first, out of so many parked errors behind a cursor,
	// and that of the last of these; zero: there are none further.
	ParkedRows(ctx context.Context, adoption int, table string, after sqldb.Cursor, limit int) ([]ParkedRow, sqldb.Cursor, error)

	// LanesOf returns the lanes behind one in which work waits or is held, of the pipeline of
	// that name and of those whose names go on with a colon, in their order.
	LanesOf(ctx context.Context, pipeline string, after recoup.Lane, limit int) ([]recoup.Lane, error)

	// KeysOf returns the rows that have these errors, by the errors.
	KeysOf(ctx context.Context, adoption int, ids []recoup.ID) (map[recoup.ID]string, error)

	// PairsUnderway returns the pairs behind a key that have an attempt, in the order of keys.
	PairsUnderway(ctx context.Context, adoption int, after string, limit int) ([]AdoptedRow, error)

	// BeginScan returns how far the backfill is. If it has not begun, it notes the last key of
	// the source as the one at which the backfill ends.
	BeginScan(ctx context.Context, turn Turn) (Scan, error)

	// SaveScan notes how far the backfill is, and that it is done.
	SaveScan(ctx context.Context, turn Turn, to *string, rows int, done bool) error

	// SumAdoption counts what became of the rows of an adoption. It reads all of its pairs.
	SumAdoption(ctx context.Context, adoption int) (AdoptionSum, error)

	// Mirror writes into the source what became of its errors, from the queue of those that
	// have moved, behind an entry of it. It waits for no lock: what others hold stays in the queue.
	Mirror(ctx context.Context, turn Turn, after int64, limit int) (Mirrored, error)

	// KeepPairs forgets the pairs of a table that is released, and remembers their errors for the case
	// that it is adopted again.
	KeepPairs(ctx context.Context, turn Turn, keys []string) error

	// RefuseMoved takes an entry out of that queue that the source refuses, and keeps it for another
	// attempt.
	RefuseMoved(ctx context.Context, turn Turn, r Refusal) error

	// RetryRefused queues refused entries whose time has come again.
	RetryRefused(ctx context.Context, turn Turn, now time.Time, limit int) error

	// EndedRows returns the rows behind a key whose errors are over, of as many pairs as the
	// limit says, and the key of the last of these; empty: there are none.
	EndedRows(ctx context.Context, adoption int, after string, limit int) (ended []EndedRow, last string, err error)

	// RemoveRows deletes rows of a source, forgets their pairs, and returns which were deleted or
	// refused. Take is asked about the rows as they are, and returns those to delete and what of
	// them to keep beside their archived errors, of each or of none, which is kept first. A row that changes in
	// between stays, as do rows that are locked.
	RemoveRows(ctx context.Context, turn Turn, keys []string, take func([]RemovedRow) (remove []RemovedRow, moved []MovedRow, err error)) ([]RemovedRow, error)

	// LeaveSource closes the connection to a source, once a node has done its turn at it.
	LeaveSource(ctx context.Context, adoption int)

	// SaveSweep notes when a sweep has ended, how many rows it could not remove, and why.
	SaveSweep(ctx context.Context, turn Turn, at time.Time, kept int64, why string) error

	// SourceDetail returns what an error keeps of its source row; ErrNotFound: nothing.
	SourceDetail(ctx context.Context, id recoup.ID) (SourceDetail, error)

	// ReplicationLag is how far the slowest standby is behind, as far as the schema's owner may know.
	ReplicationLag(ctx context.Context) (time.Duration, error)

	// EndAdoption forgets an adoption that is released, once it has no pair and nothing of
	// its definition is there, and reports whether it did.
	EndAdoption(ctx context.Context, turn Turn) (bool, error)
}
