// Package policy turns the policy file into decisions: which table an error
// belongs to, whether it is retried, parked, archived or ignored, how long it
// lives, whom it is owned by. It is pure: it reads no clock and no database,
// and it knows nothing of the states an error passes through, which package
// lifecycle decides.
package policy

import (
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/retry"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// Policy is one checked version of the policy file, ready to be asked. It is
// immutable after loading and safe for concurrent use. Lists are in the order
// of the file.
type Policy struct {
	Version       string
	EffectiveFrom string // the day from which it is meant to hold
	Authority     string

	Tiers      []Tier
	Hubs       []*Hub
	DeadTables []DeadTable

	// PlatformHub is the hub whose team owns the last rung of the ladder.
	PlatformHub *Hub

	// OrphanTable is where a report goes that has no table to go to.
	OrphanTable *Table

	Severities []SeverityRule // worst first
	Categories []CategoryRule
	Floors     map[recoup.Class]time.Duration // least delay of a retry
	Reasons    []Description                  // why errors are parked
	Conditions []*Condition

	// Ladder holds the rungs of escalation from tier 1 up (spec 000, 10.1).
	Ladder []Rung

	// ExpiryNotice is how long before a blocking error expires its owner is notified.
	ExpiryNotice time.Duration

	// Leases bound how long a worker may hold an error.
	Leases Leases

	Metrics    []Metric
	MinSamples int // a rate with fewer samples is silent
	Alerts     []Alert
	Repeat     time.Duration // of alerts that name no interval of their own
	Providers  []ProviderGroup

	// Notifications says who is notified of what, and where.
	Notifications Notifications

	Requests       map[recoup.Code]fault.RetryPolicy
	DefaultRequest fault.RetryPolicy // of codes that have no retries of their own
	Stage          retry.Policy

	// How long replays that have ended are kept, and the outputs of stages whose work
	// ended elsewhere.
	ReplayRetention     time.Duration
	CheckpointRetention time.Duration

	Gate   GateZero
	Ledger Ledger

	// Codes are those that the policy registers.
	Codes []fault.Definition

	text       string
	registry   *fault.Registry
	doc        *document
	tables     []*Table
	byName     map[string]*Table
	conditions map[recoup.Code][]*Condition
}

// Table returns the governed error table of that name. Dead tables are none.
func (p *Policy) Table(name string) (*Table, bool) {
	t, ok := p.byName[name]
	return t, ok
}

// Text returns the file that the policy was read from.
func (p *Policy) Text() string { return p.text }

// Registry returns the codes that the policy was checked against, with its own, and with the
// retries of requests that it gives them.
func (p *Policy) Registry() *fault.Registry { return p.registry }

// WithRequests returns a registry whose codes have the retries of requests that the policy gives
// them (spec 001).
func (p *Policy) WithRequests(codes *fault.Registry) *fault.Registry {
	return codes.WithRetries(p.DefaultRequest, p.Requests)
}

// Tables returns every governed table in the order of the file.
func (p *Policy) Tables() []*Table { return slices.Clone(p.tables) }

// OtherEntityColumn is the second name of the entity in the view of a table, the same in all
// views where possible, so that one promotion check does for each. It is that of spec 000, 6.3 if
// the policy has a table with that column.
func (p *Policy) OtherEntityColumn(t *Table) string {
	isSpec := func(t *Table) bool { return t.EntityColumn == SpecEntityColumn }
	switch {
	case !isSpec(t) && slices.ContainsFunc(p.tables, isSpec):
		return SpecEntityColumn
	case t.EntityColumn == defaultEntityColumn:
		return "entity"
	}
	return defaultEntityColumn
}

// ClaimedTables names the tables whose errors workers claim as retries: all but those
// of dead letters, which come back as staged work.
func (p *Policy) ClaimedTables() (names []string) {
	for _, t := range p.tables {
		if !t.DeadLetter {
			names = append(names, t.Name)
		}
	}
	return names
}

// Rung is one tier of the escalation ladder.
type Rung struct {
	Tier         int
	Owner        string        // the role that owns it: HUB_TEAM, HUB_LEAD, PLATFORM_TEAM
	After        time.Duration // parked for this long, an error stands at least here
	ReviewWithin time.Duration
}

// Leases are the bounds of a worker's lease.
type Leases struct {
	Default     time.Duration
	Max         time.Duration
	ExpiryGrace time.Duration // how long an expiry waits for a live lease
}

// Length is how long a lease lasts that was asked for: the default without a wish, and
// never above the maximum.
func (l Leases) Length(asked time.Duration) time.Duration {
	if asked <= 0 {
		asked = l.Default
	}
	return min(asked, l.Max)
}

// Table is one governed error table.
type Table struct {
	Name         string
	Hub          string
	Layer        Layer
	EntityColumn string
	TTLTier      string
	TTL          time.Duration // zero: never expires
	Default      recoup.Action
	Blocks       bool
	BlocksWhy    string            // why it blocks, or why it does not
	DeadLetter   bool              // its errors leave by the dead-letter workflow only
	ParkReason   recoup.ParkReason // of what its default parks
	Archive      string
	Retention    time.Duration    // of the archive
	Source       wire.SourceRules // where its rows are those of an adopted table

	// EntityOptional is true for tables whose errors need not belong to an entity.
	EntityOptional bool

	allowed   [4]bool                    // by position in recoup.Actions
	owners    [recoup.MaxTier + 1]string // by tier; tier 0 is the system
	hub       *Hub
	overrides *Overrides // the hub's, or none
}

// HubName is what people call the hub that owns the table.
func (t *Table) HubName() string { return t.hub.Name }

// Infinite reports whether errors of this table are kept for ever, untouched.
func (t *Table) Infinite() bool { return t.TTL == 0 }

// Allows reports whether the table's errors may have this disposition.
func (t *Table) Allows(a recoup.Action) bool {
	i := actionIndex(a)
	return i >= 0 && t.allowed[i]
}

// Allowed lists the dispositions that the table allows.
func (t *Table) Allowed() []recoup.Action {
	return slices.DeleteFunc(recoup.Actions(), func(a recoup.Action) bool { return !t.Allows(a) })
}

// actionIndex is the position of a in recoup.Actions, or -1.
func actionIndex(a recoup.Action) int {
	switch a {
	case recoup.ActionRetry:
		return 0
	case recoup.ActionPark:
		return 1
	case recoup.ActionArchive:
		return 2
	case recoup.ActionIgnore:
		return 3
	}
	return -1
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
	Table       *Table
	Orphaned    bool // the report's own table is unknown, dead, or needs an entity it lacks
	Action      recoup.Action
	ParkReason  recoup.ParkReason // why it must be parked; kept where the table has no PARK, unless it is retried
	NotifyOwner bool              // it should have been parked, and its table does not allow that
	Page        bool              // the platform's operator is paged
	TTLTier     string
	TTL         time.Duration // zero: never
	Blocks      bool
	MaxRetries  int
	Manual      bool // never retried by the system; an unpark buys one try
	Schedule    retry.Schedule
	Floor       time.Duration // least delay, by class
	Window      time.Duration // zero: none
	Family      *Family       // the failures counted together for this entity, or nil
}

// Family is a set of codes whose failures are counted per entity across
// errors; the one that reaches After parks (spec 000, 9.2).
type Family struct {
	Name   string
	After  int
	Reason recoup.ParkReason
	Codes  []recoup.Code
}

// GateZero is the policy of Gate Zero (spec 004).
type GateZero struct {
	Schedule       retry.Schedule
	MaxAttempts    int
	RecoveryWindow time.Duration
	Reasons        []Description
}

// Exists reports whether the policy has a Gate Zero.
func (g *GateZero) Exists() bool { return g.MaxAttempts > 0 }
