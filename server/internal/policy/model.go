package policy

import (
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/retry"
)

// Tier is a named lifetime (spec 000, 1).
type Tier struct {
	Name string
	TTL  time.Duration // zero: for ever
	Use  string
}

// Hub owns error tables (spec 000, 9).
type Hub struct {
	ID        string
	Name      string
	Team      string
	Lead      string
	Services  []string // that its keys may speak for, beside its tables
	Pipelines []string // whose work, dead letters and replays are its keys' as well
	Overrides Overrides
}

// Overrides are what a hub decides otherwise for its tables.
type Overrides struct {
	Tables     []string // empty: all of the hub's
	MaxRetries int      // zero: no override
	TTLTier    string   // empty: no override
	Families   []*Family

	ttl time.Duration
}

// Layer says whether a table belongs to a hub or to everyone (spec 000, 3).
type Layer string

// The layers of spec 000.
const (
	HubLayer    Layer = "HUB"
	GlobalLayer Layer = "GLOBAL"
)

// DeadTable is a table that plans mention and no database has.
type DeadTable struct {
	Name string
	Todo string
}

// SeverityRule is what a severity changes (spec 000, 8). Without an action it
// is neutral.
type SeverityRule struct {
	Severity   recoup.Severity
	Action     recoup.Action
	Otherwise  recoup.Action // where the table does not allow Action
	TTLTier    string        // empty: no override
	ParkReason recoup.ParkReason

	ttl time.Duration
}

// CategoryRule is the retry budget of a category (spec 000, 5.1).
type CategoryRule struct {
	Category   recoup.Category
	MaxRetries int
	Schedule   retry.Schedule
	Window     time.Duration // zero: none
}

// Condition parks the failures it matches (spec 000, 4.3 and 9.3; spec 002, 8.1).
type Condition struct {
	Name   string
	Codes  []recoup.Code
	Tables []string // empty: all
	Reason recoup.ParkReason
	Page   bool // the platform's operator is paged

	index int // in the file's list
}

// Description is a name and what it means.
type Description struct {
	Name string
	Text string
}

// Role is who owns a rung of the ladder; the hub says which people that is.
type Role string

// The roles of spec 000, 10.1.
const (
	HubTeam      Role = "HUB_TEAM"
	HubLead      Role = "HUB_LEAD"
	PlatformTeam Role = "PLATFORM_TEAM"
)

// ProviderGroup lists providers that can stand in for each other, the
// preferred one first.
type ProviderGroup struct {
	Name      string
	Members   []string
	BackAfter time.Duration // quiet for so long, the first one is used again; zero: only by hand
	Hub       string        // that alone uses them; empty: all do
}

// Ledger says what the ledger may keep, and how long (spec 003).
type Ledger struct {
	Details         []Detail
	MaxValueBytes   int
	MaxBytes        int
	EventRetention  time.Duration
	RollupRetention time.Duration
}

// Detail is one key that an event's details may have.
type Detail struct {
	Key  string
	Type DetailType
}

// DetailType is the type of a value in an event's details.
type DetailType string

// The types of spec 003, Governance of details.
const (
	DetailBool   DetailType = "bool"
	DetailString DetailType = "string"
	DetailInt    DetailType = "int"
	DetailUUID   DetailType = "uuid"
)
