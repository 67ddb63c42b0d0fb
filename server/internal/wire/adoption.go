package wire

import (
	"encoding/json"
	"slices"
	"time"
)

// AdoptionState is how far an adoption has come.
type AdoptionState string

// The states of an adoption.
const (
	AdoptionAdopting    AdoptionState = "ADOPTING"    // its triggers and columns are being made
	AdoptionBackfilling AdoptionState = "BACKFILLING" // what is new is governed, what was there is being read
	AdoptionGoverned    AdoptionState = "GOVERNED"    // every row is
	AdoptionReleasing   AdoptionState = "RELEASING"   // it is being taken back
)

// Mapping says which columns of an adopted table mean what. A name is a column's, as
// the database has it, or a place in a column of JSON: args->>'company_id', and
// errors[last]->>'error' for the last of an array. An empty one is none.
type Mapping struct {
	Entity    string `json:"entity" doc:"the column that names what cannot go on"`
	Code      string `json:"code,omitempty" doc:"the column with the code"`
	CodeValue string `json:"code_value,omitempty" doc:"the code of every row, if no column has it, and of rows whose column is empty"`
	Message   string `json:"message,omitempty" doc:"the column with the message"`
	Severity  string `json:"severity,omitempty" doc:"the column with the severity; default: the code's"`
	CreatedAt string `json:"created_at,omitempty" doc:"the column with the time of the failure; default: when it was first seen"`

	TimeZone string `json:"time_zone,omitempty" doc:"the time zone in which times without one are read, as the database names it; default: UTC"`
	LastSeen string `json:"last_seen,omitempty" doc:"the column that changes when the row fails again: the time of the last failure, or a count of them; an update that changes it is a repeated report"`

	// Conditions in the words of the source's own SQL.
	GovernedWhen string `json:"governed_when,omitempty" doc:"an SQL condition; rows for which it does not hold are no failures"`
	ResolvedWhen string `json:"resolved_when,omitempty" doc:"an SQL condition; rows for which it holds are resolved"`
	UnderwayWhen string `json:"underway_when,omitempty" doc:"an SQL condition; rows for which it holds are being worked at, and their errors wait for what comes of it; set by presets"`

	// Where the source is told.
	Disposition string `json:"disposition" doc:"the column that Recoup writes the disposition into"`
	ArchivedAt  string `json:"archived_at" doc:"the column that Recoup writes the time of archiving into"`
}

// SourceEnd is what becomes of a row of an adopted table when its error is over.
type SourceEnd string

// What becomes of a row. None is keep.
const (
	SourceKeep   SourceEnd = "keep"
	SourceMove   SourceEnd = "move"   // with its error into the archive
	SourceDelete SourceEnd = "delete" // when the archive has kept its error for its retention
)

// SourceRules say what becomes of the rows of an adopted table (decision 0087): which of
// their columns are kept with their errors, and whether they stay.
type SourceRules struct {
	Details   []string  `json:"details,omitempty" doc:"columns that are kept with the error, redacted"`
	Encrypted []string  `json:"encrypted,omitempty" doc:"columns that are kept with the error, encrypted"`
	AtEnd     SourceEnd `json:"at_end,omitempty" enum:"keep,move,delete" doc:"what becomes of the row: keep, the default; move: with its error into the archive; delete: when the archive's retention is over"`

	// DeadLetters is for the tables of queues: see decision 0086.
	DeadLetters bool `json:"dead_letters,omitempty" doc:"of a queue's table: the job of an error that the policy parks becomes a dead letter, and a replay of that sets the job off again"`
}

// Columns lists every column that is kept.
func (r SourceRules) Columns() []string { return slices.Concat(r.Details, r.Encrypted) }

// Removes reports whether rows leave their table.
func (r SourceRules) Removes() bool { return r.AtEnd == SourceMove || r.AtEnd == SourceDelete }

// Adoption is an existing table that is governed where it is.
type Adoption struct {
	ID         int           `json:"adoption_id" doc:"names the adoption"`
	Table      string        `json:"table" doc:"the error table of the policy"`
	Source     string        `json:"source" doc:"the table that was there before"`
	Key        []string      `json:"key" doc:"the columns that tell its rows apart"`
	Mapping    Mapping       `json:"mapping" doc:"which column means what"`
	Preset     string        `json:"preset,omitempty" doc:"whose tables these are, such as river"`
	State      AdoptionState `json:"state" doc:"ADOPTING, BACKFILLING, GOVERNED or RELEASING"`
	Scanned    int64         `json:"scanned" doc:"rows that were there before and have been read"`
	Rows       int64         `json:"rows" doc:"how many there were, by estimate"`
	BegunAt    time.Time     `json:"begun_at" doc:"when it was adopted"`
	GovernedAt time.Time     `json:"governed_at,omitzero" doc:"since when every row is governed"`
	BegunBy    string        `json:"begun_by" doc:"who adopted it"`
	Agreed     SourceRules   `json:"source_rules" doc:"which columns nodes may keep with errors, and whether they may remove rows: as the policy was at the last recoup adopt --apply"`

	// Rows that the policy would have removed and that are kept, as of the last sweep.
	KeptBack int64  `json:"kept_back" doc:"rows that should be moved or deleted and are kept, because the table refuses it"`
	KeptWhy  string `json:"kept_why,omitempty" doc:"why, of the last of them"`

	// How far nodes are.
	Pending   int64   `json:"pending" doc:"changes of its rows that no node has looked at, counted up to 10000; those of blocking tables block their entities until then"`
	Behind    float64 `json:"behind_s" doc:"seconds since the oldest of these"`
	Unwritten int64   `json:"unwritten" doc:"rows that do not show yet what became of their error, counted up to 10000"`

	// Partitions, when a node last looked.
	Partitions   int       `json:"partitions,omitempty" doc:"how many partitions it has; nodes look about every 15 seconds"`
	Unseen       []string  `json:"unseen_partitions,omitempty" doc:"partitions without triggers, to which nodes could not add them: what is written into these directly is not governed"`
	UnseenSince  time.Time `json:"unseen_since,omitzero" doc:"when a node first found one"`
	UnseenReason string    `json:"unseen_reason,omitempty" doc:"why nodes could not add the triggers of one of them"`

	// Rows that no node could read.
	Unreadable       int64  `json:"unreadable" doc:"rows on which a condition of the owner fails, counted up to 10000; they are looked at again when they change"`
	UnreadableKey    string `json:"unreadable_key,omitempty" doc:"the key of one of them"`
	UnreadableReason string `json:"unreadable_reason,omitempty" doc:"what the database says of it"`

	// Rows that show an old disposition.
	Refused       int64  `json:"refused" doc:"rows that refuse what became of their error, by a constraint or a trigger, counted up to 10000; nodes retry with growing pauses of up to an hour"`
	RefusedKey    string `json:"refused_key,omitempty" doc:"the key of one of them"`
	RefusedReason string `json:"refused_reason,omitempty" doc:"what the database says of it"`
}

// DecryptedSource is what of it is encrypted, in plaintext.
type DecryptedSource struct {
	Columns json.RawMessage `json:"columns,omitempty" doc:"the columns that the policy has encrypted"`
	Row     json.RawMessage `json:"row,omitempty" doc:"the whole row, if it has moved here"`
}

// Adoptions are the tables that are governed where they are.
type Adoptions struct {
	Adoptions []Adoption `json:"adoptions" doc:"the tables, in the order in which they were adopted; none on the embedded store"`
}

// DecryptSourceRequest asks for the encrypted columns of the source row of an error. The reason is audited.
type DecryptSourceRequest struct {
	Reason string `json:"reason" maxLength:"1000" doc:"why it is read; the audit keeps it"`
}

// AdoptionSum is what became of the rows that were there when a table was adopted: how many have
// errors, and where these are now. It counts what stands where its past has put it.
type AdoptionSum struct {
	Source   string `json:"source,omitempty"`
	Table    string `json:"table,omitempty"`
	Rows     int64  `json:"rows,omitempty"` // that have errors
	Parked   int64  `json:"parked"`         // escalated ones too
	Retried  int64  `json:"retried"`        // wait for their retry
	Archived int64  `json:"archived"`       // their TTL was over
	Blocking int64  `json:"blocking"`       // hold their entity back until they end or expire
}
