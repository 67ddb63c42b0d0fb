// Package policy turns the policy file into decisions: which table an error
// belongs to, whether it is retried, parked, archived or ignored, how long it
// lives, whom it is owned by. It is pure: it reads no clock and no database,
// and it knows nothing of the states an error passes through, which package
// lifecycle decides.
package policy

import (
	"time"

	"recoup"
	"recoup/retry"
)

// Policy is one checked version of the policy file, ready to be asked. It is
// immutable after loading and safe for concurrent use.
type Policy struct {
	Version string

	// Ladder holds the rungs of escalation from tier 1 up (spec 000, 10.1).
	Ladder []Rung

	// Leases bound how long a worker may hold an error.
	Leases Leases

	// ExpiryNotice is how long before a blocking error expires its owner is told.
	ExpiryNotice time.Duration

	// OrphanTable is where a report goes that has no table to go to.
	OrphanTable *Table
}

// Rung is one tier of the escalation ladder.
type Rung struct {
	Tier         int
	Owner        string        // the role that owns it: hub team, hub lead, platform team
	After        time.Duration // parked for this long, an error stands at least here
	ReviewWithin time.Duration
}

// Leases are the bounds of a worker's lease.
type Leases struct {
	Default     time.Duration
	Max         time.Duration
	ExpiryGrace time.Duration // how long an expiry waits for a live lease
}

// Table is one governed error table.
type Table struct {
	Name         string
	Hub          string
	EntityColumn string
	TTLTier      string
	TTL          time.Duration // zero: never expires
	Default      recoup.Action
	Blocks       bool
	BlocksWhy    string // why it blocks, or why it does not
	DeadLetter   bool   // its errors leave by the dead-letter workflow only
	Archive      string
	Retention    time.Duration // of the archive

	// EntityOptional is true for tables whose errors need not belong to an entity.
	EntityOptional bool

	allowed [4]bool   // by position in recoup.Actions
	owners  [4]string // by tier; tier 0 is the system
}

// Infinite reports whether errors of this table are kept for ever, untouched.
func (t *Table) Infinite() bool { return t.TTL == 0 }

// Allows reports whether the table's errors may have this disposition.
func (t *Table) Allows(a recoup.Action) bool {
	for i, known := range recoup.Actions() {
		if known == a {
			return t.allowed[i]
		}
	}
	return false
}

// Owner returns who owns the table's errors at a tier.
func (t *Table) Owner(tier int) string {
	return t.owners[min(max(tier, 0), recoup.MaxTier)]
}

// Question is what a policy is asked about one failure.
type Question struct {
	Table    string
	Entity   bool // the report names an entity
	Code     recoup.Code
	Class    recoup.Class // concrete: conditional counts as fatal
	Category recoup.Category
	Severity recoup.Severity // the report's, else the code's
}

// Effective is the policy's answer for one failure.
type Effective struct {
	Table      *Table
	Orphaned   bool // the report's own table is unknown, dead, or needs an entity it lacks
	Action     recoup.Action
	ParkReason recoup.ParkReason // why it must be parked; kept where the table has no PARK
	TellOwner  bool              // it should have been parked, and its table does not allow that
	Page       bool              // the platform's operator is paged
	TTLTier    string
	TTL        time.Duration // zero: never
	Blocks     bool
	MaxRetries int
	Manual     bool // never retried by the system; an unpark buys one try
	Schedule   retry.Schedule
	Floor      time.Duration // least delay, by class
	Window     time.Duration // zero: none
	Family     *Family       // the failures counted together for this entity, or nil
}

// Family is a set of codes whose failures are counted per entity across
// errors; the one that reaches After parks (spec 000, 9.2).
type Family struct {
	Name   string
	After  int
	Reason recoup.ParkReason
}
