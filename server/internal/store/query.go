package store

import (
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
)

// Filter selects open errors. Empty fields do not restrict; all that are set
// must hold.
type Filter struct {
	Table      string
	Tables     []string // any of these; for a hub's tables
	State      recoup.State
	Entity     string
	Code       recoup.Code
	AssignedTo string
	Group      recoup.ID
	Groups     []recoup.ID // any of these; for a search, that has found them
	Text       string      // of messages; nothing is listed before a search has found its groups
	Tier       int         // zero: any
	Blocking   *bool       // nil: either
	Parked     *bool       // PARKED or ESCALATED, or neither of them; nil: either
	Before     time.Time
	After      time.Time // created in [After, Before)
}

// Claim asks for errors that are due, the longest overdue of each table first.
// Decide turns each into its leased version (or, where an expired lease has spent
// the budget, into a parked one, which is stored and not returned). What it
// refuses is skipped.
type Claim struct {
	Tables  []string
	Limit   int
	Now     time.Time // zero: as the store's clock says
	Decide  func(current *recoup.Error, now time.Time) (recoup.Error, lifecycle.Effects, error)
	EventOf EventOf     // of leases that have expired; nil: the ledger gets no event
	Without []recoup.ID // due or not, these are passed over

	// Like is what claims have in common that Decide answers alike, but for tokens and
	// the worker: a store may then lease to Worker what agrees with errors that were
	// decided on before, under tokens that it makes of Token. nil: each is decided for
	// itself.
	Like   any
	Token  recoup.ID
	Worker string
}

// Deadline is a kind of deadline that a sweep looks for.
type Deadline string

// The deadlines of errors, each an index scan.
const (
	DueExpiry     Deadline = "expiry"     // the TTL is over
	DueWindow     Deadline = "window"     // the retry window is over
	DueLapse      Deadline = "lapse"      // a lease ran out
	DueEscalation Deadline = "escalation" // the ladder's clock has struck
	DueReminder   Deadline = "reminder"   // somebody is to be reminded
	DueResolved   Deadline = "resolved"   // resolved, waiting for the archive
)

// Promotion moves an entity to its next phase.
type Promotion struct {
	ID     recoup.ID
	Entity string
	Phase  string
	By     string
	At     time.Time // zero: as the store's clock says

	Receipt *PromotionReceipt // nil: none
}

// Promoted is a promotion that was recorded: its number in the gate's order, and
// when it was, by the clock that was read while the gate was held.
type Promoted struct {
	Seq int64
	At  time.Time
}

// GateAct is something that happened at the promotion gate.
type GateAct string

// The acts in the gate's order.
const (
	GateBlock   GateAct = "block"   // an error begins to block the entity
	GateUnblock GateAct = "unblock" // it ends
	GatePromote GateAct = "promote" // the entity went on
)

// GateEntry is one act in the gate's order. The order is that of Seq, which is
// drawn while the gate is locked; clocks cannot order them.
type GateEntry struct {
	Seq    int64
	Entity string
	Act    GateAct
	ID     recoup.ID // of the error, or of the promotion
}
