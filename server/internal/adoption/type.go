package adoption

import (
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// Target is an adopted table as nodes work at it.
type Target struct {
	wire.Adoption
	Owner       string    // of the source
	Partitioned bool      // the source is partitioned
	Defined     bool      // something of its definition is there
	Changed     bool      // there are changes to look at
	Moved       bool      // there are errors whose source row is to be notified
	SweptAt     time.Time // when the last sweep for rows to be removed ended; zero: there was none
	Tabled      bool      // the policy in force has its table
	Bad         bool      // there are rows that could not be read
	RefusedAt   time.Time // when the first of the rows that refuse what became of their error is tried again; zero: there are none
}

// Scan is how far the backfill of an adoption is.
type Scan struct {
	To  *string // the last key; nil: none yet
	End *string // the key at which it ends; nil: there are no rows
}

// Lease lets a node work at an adoption, as long as no other has a later one. It is the node's turn.
type Lease struct {
	Adoption int
	Number   int64
}

// Change says at which rows of a source to look again.
type Change struct {
	ID   int64
	Keys []string
	All  bool // at every row that has an open error: the source was emptied
	At   time.Time
}

// SourceRow is a row of an adopted table, mapped, and not yet redacted. It is never
// stored, logged or traced as it is.
type SourceRow struct {
	Key       string
	EntityID  string
	Code      string
	Severity  string
	Message   string
	Cut       bool      // the message is longer
	CreatedAt time.Time // zero: it has none, or none that is a date
	Governed  bool      // it is a failure, by the owner's conditions
	Underway  bool      // it is being worked at, by those of its queue
	Pipeline  string    // of a job: the queue that it is in; empty: its table has but one
	Stage     string    // and of what kind it is
	LastSeen  string    // changes when the row fails again; empty: it does not say

	// JSON objects of the columns that were asked for; nil: there are none.
	Details   []byte
	Encrypted []byte
}

// Kept is what an error keeps of its source row.
type Kept struct {
	Details  []byte // JSON, redacted
	Sealed   []byte // JSON, encrypted
	SealedBy string // the key
}

// SourceDetail is what an error keeps of its source row, as it is stored.
type SourceDetail struct {
	Kept
	Moved   []byte // the whole row, encrypted; nil: it is not here
	MovedBy string
}

// EndedRow is a source row whose error is over.
type EndedRow struct {
	Key      string
	ErrorID  recoup.ID
	Digest   []byte // as in [Row]
	Archived bool   // its error is in the archive; else the archive has deleted it
}

// RemovedRow is a source row that is to be deleted, or was, or why it was not.
type RemovedRow struct {
	SourceRow
	Mark    string // of its version: any change of the row makes another
	Whole   []byte // all of it, as JSON, if it is moved
	Refused string // by what; empty: it was deleted
}

// MovedRow is a source row on its way into the archive.
type MovedRow struct {
	ErrorID   recoup.ID
	Encrypted []byte
	Key       string // by which
}

// Row is the pair of a source row and the error that it has.
type Row struct {
	Key     string
	ErrorID recoup.ID
	Digest  []byte // of what was mapped; empty: the row was no failure when it was last looked at

	// Attempt is the token of the lease under which the job of the row was set off, or
	// [ByOthers]; zero: it is not under way.
	Attempt recoup.ID

	// Of the error, as it is by now: whether it is open, what it is about, and its lease.
	Open        bool
	Table       string
	EntityID    string
	Code        recoup.Code
	Severity    recoup.Severity
	LeaseToken  recoup.ID
	LeaseEndsAt time.Time

	// Of a dead letter: its work, whose lease it then is, the stage of that and how far it
	// has come. The work is zero if it is none.
	WorkID recoup.ID
	Stage  string
	Step   recoup.WorkflowStep
}

// ByOthers is the attempt of a job that is under way without a node having set it off. It
// is no token: those have a time in them.
var ByOthers = recoup.ID{15: 1}

// DueRow is a source row whose error is due for retry, or leased without its job having
// been set off.
type DueRow struct {
	Key     string
	ErrorID recoup.ID
	Token   recoup.ID // of that lease; zero: it is to be claimed

	// Of a dead letter: its work and the stage of that.
	WorkID recoup.ID
	Stage  string
}

// ParkedRow is a source row whose error the policy has parked and nobody is assigned to.
type ParkedRow struct {
	Key        string
	ErrorID    recoup.ID
	EntityID   string
	Exhausted  bool // its attempts are used up, or the time for them is
	RetryCount int
	CreatedAt  time.Time
}

// Mirrored is how far a source knows what became of its errors.
type Mirrored struct {
	Written int   // rows that know by now, or are gone
	Last    int64 // the last entry of the queue that was looked at; zero: there is none further

	// Of a batch of one that fails.
	Key      string // of its row
	Attempts int    // that have failed before
}

// Refusal is a source row that refuses what became of its error.
type Refusal struct {
	Entry    int64 // of the queue of errors that have moved
	Key      string
	Cause    string // redacted
	Attempts int
	RetryAt  time.Time
}

// Progress is how far nodes are with an adoption.
type Progress struct {
	Table   string
	Source  string
	State   wire.AdoptionState
	Pending int64         // changes that no node has looked at
	Oldest  time.Duration // since the oldest of them
	Queued  int64         // errors whose source row is to be notified
	Bad     int64         // rows that could not be read
	Example Unreadable    // one of them
	Refused int64         // rows that refuse what became of their error
	Refuser Unreadable    // one of them
}
