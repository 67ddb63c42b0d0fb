package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/recoup-dev/recoup/server/internal/wire"
)

// Facts are what a database shows of itself. Lists are in the order of their names.
type Facts struct {
	Added map[string]any // what slices have found, by the names of their checks

	Kind  string    // sqlite or postgres
	Clock time.Time // the database's
	Since time.Time // when its first migration was applied

	Expected []Object // the schema as the migrations of this binary make it
	Present  []Object // and as it is

	Names      []NameFact
	DeadTables []Relation // tables that the policy calls dead and that exist
	Lookalikes []Relation // tables of others whose names are about failures
	Partitions []Partition
	Breaches   []Breach

	Outbox       OutboxLevel
	LateEvents   Overdue       // see [LateEvents]
	Keys         []wire.Key    // without their hashes
	PlatformKeys []PlatformKey // without their secrets; live ones
	LastBackup   time.Time     // as far as the audit knows; zero: never

	Server *ServerFacts // of PostgreSQL; nil: there is none
	File   *FileFacts   // of SQLite; nil: there is none

	Unseen []Unseen
}

// The kinds of objects.
const (
	ObjectTrigger    = "trigger"
	ObjectFunction   = "function"
	ObjectIndex      = "index"
	ObjectConstraint = "constraint"
	ObjectColumn     = "column"
	ObjectTable      = "table"
	ObjectView       = "view"
	ObjectGrant      = "grant"
)

// Object is a thing in a schema, with its definition in one line. That of a grant is
// a list of privileges, that of a function a digest.
type Object struct {
	Kind, Name, Definition string

	Table  string // that it is on, where its name does not say so
	State  string // "": as it should be; else disabled or invalid
	Source string // of what is expected: the statement that makes it, if its definition is none
}

// Statement makes the object.
func (o Object) Statement() string { return cmp.Or(o.Source, o.Definition) }

// The states of objects that do not work.
const (
	ObjectDisabled = "disabled" // a trigger
	ObjectInvalid  = "invalid"  // an index
)

// NameFact is what has a name that the policy gives: of a table, or of its archive.
type NameFact struct {
	Name  string
	Is    string // "": nothing; NameOurs; else what others have under it: a table, a view
	Known bool   // the mirror of the policy has it

	// Barred is why the owner of Recoup's schema may not create a view of this name: "schema", in
	// which it has no right, or NameSchemaMissing. Empty: it may.
	Barred string
}

// NameSchemaMissing is a schema that does not exist and may not be created.
const NameSchemaMissing = "missing schema"

// NameOurs is what a name is that carries our view, or a table that was adopted.
const NameOurs = "our view"

// Relation is a table of others.
type Relation struct {
	Name    string
	Rows    int64 // estimated
	Columns []RelationColumn
	Queue   *JobQueue // whose table it is, as far as a slice recognises it; nil: none
}

// JobQueue is a queue of jobs whose tables a slice knows.
type JobQueue struct {
	Name string // of the preset
	Of   string // the project
}

// RelationColumn is a column of a table of others.
type RelationColumn struct {
	Name, Type string
	Key        bool // of its primary key
}

// Partition is a month of a partitioned table.
type Partition struct {
	Parent, Name string
	Attached     bool
	Default      bool     // it takes what no other does
	Rows         bool     // it has some; asked of defaults only
	Lacks        []string // guards that it has not, or that are disabled
}

// Breach is an invariant that rows break.
type Breach struct {
	Rule   string
	Rows   int  // how many were found, at most BreachRows
	More   bool // there are more
	Sample []string
}

// BreachRows is how many rows that break an invariant are counted.
const BreachRows = 100

// The rules that rows are held to.
const (
	RuleDeadline    = "open errors have a deadline or an owner"
	RuleQueued      = "errors that wait for a retry are in the queue"
	RuleQueue       = "what is queued waits for a retry"
	RuleGateClosed  = "the gate's log has every error that blocks"
	RuleGateOpened  = "the gate's log has no error that does not block"
	RuleCounts      = "counts agree with the errors"
	RuleArchive     = "archived errors are deleted when their retention is over"
	RuleCodes       = "codes are registered"
	RuleDeadLetters = "dead letters have their error"
	RulePayloadKeys = "the keys of payloads exist"
	RuleAdmission   = "rows of plain SQL are admitted"
	RuleNotices     = "notifications that were given up are requeued"
)

// ServerFacts are those of a PostgreSQL server.
type ServerFacts struct {
	Settings map[string]string // in force for nodes
	Sources  map[string]string // where a setting comes from that was set for the database or the role

	Sessions, Available int // client sessions, and how many ordinary ones there may be
	Limits              []ConnectionLimit
	Pooled              bool // a pooler is in the way, and nobody listens past it

	Tables      []TableHealth
	Holders     []Holder
	FrozenAge   int64 // transactions since the oldest that is not frozen
	Size        int64 // of the database, in bytes
	Archiving   bool
	ArchivedAt  time.Time // zero: never
	ArchiveFail time.Time // zero: never
	Unsecured   []string  // tables without row security while others have it
	Roles       []RoleFact
	RoleAdmins  []RoleAdmin
	Owner       SchemaOwner

	// RoleSettings are settings of Recoup's roles that differ from those that migrations make.
	RoleSettings []RoleSetting

	// StaleReaders are grants of recoup.allow_read to roles that were dropped since.
	StaleReaders []StaleReader

	// Foreign are objects in the schemas recoup and cl, and the schemas themselves, that belong to
	// another role than the error table does.
	Foreign []ForeignObject

	// Dependents are objects of other roles that depend on tables in the schemas recoup and cl.
	Dependents []Dependent

	// OtherGrants are privileges in the schemas recoup and cl of roles that are not Recoup's.
	OtherGrants []OtherGrant

	// DefaultGrants are default privileges that grant new objects in them to such roles.
	DefaultGrants []DefaultGrant

	// Locks are sessions that keep nodes from writing tables, or from dropping old months.
	Locks []LockHolder

	// PublicCreate is set if every role may create objects in the schema public.
	PublicCreate bool
}

// ForeignObject is an object of another owner than Recoup's.
type ForeignObject struct {
	Name   string // as PostgreSQL describes it: schema cl, function cl.refuse(text)
	Owner  string
	Wanted string // the owner that it should have
}

// Dependent is an object of another role that depends on a table of Recoup's.
type Dependent struct {
	Name  string // as PostgreSQL describes it: view shop.keep
	Owner string
	On    string // the table
	Month bool   // the table is a partition
	Keeps bool   // the table cannot be dropped while the object exists
	Drop  string // the statement that ends the dependency; empty: unknown
}

// OtherGrant is what a role that is not Recoup's may do with an object.
type OtherGrant struct {
	Role       string // in SQL
	Kind       string // schema, table, sequence or function
	On         string // in SQL
	Privileges []string
}

// DefaultGrant is what a role gets on new objects.
type DefaultGrant struct {
	On     string // tables in schema recoup
	Role   string // in SQL
	Revoke string // the statement that revokes it
}

// RoleSetting is a setting of a role of Recoup's, in this database or in all, that differs from what migrations set.
type RoleSetting struct {
	Role  string
	Name  string
	Value string
	Fix   string // the statement that undoes it
}

// StaleReader is what a role that was dropped could read.
type StaleReader struct {
	Reader string
	Kind   string // service, hub, or the kind of a receiver
	Name   string
	Fix    string // the statement that deletes it
}

// LockHolder is a session that holds, or waits for, a lock on a table of Recoup's that keeps others
// from writing it, or that holds gates, or a large part of the locks that the server has room for.
type LockHolder struct {
	PID      int    // 0 if it is a prepared transaction, which belongs to no session
	Prepared string // the prepared transaction
	Role     string
	Mode     string // AccessExclusiveLock; AccessShareLock keeps only months from being dropped
	On       string
	Waits    bool
	Since    time.Time // when its transaction began; zero: unknown
	Blocked  int       // sessions that wait for it

	Transaction string // tells it from an earlier or later one of the session
}

// GateLocks is what a [LockHolder] holds that keeps others from blocking or promoting entities.
const GateLocks = "recoup.gate_stripe_…"

// ManyObjects is what a [LockHolder] holds a large part of the server's locks on. Once the lock table of the
// server is full, statements of all sessions fail.
const ManyObjects = "various objects"

// Same reports whether a holder has the same lock in the same transaction as another.
func (h LockHolder) Same(other LockHolder) bool {
	return h.PID == other.PID && h.On == other.On && h.Transaction == other.Transaction
}

// End is the statement that ends the transaction.
func (h LockHolder) End() string {
	if h.Prepared != "" {
		return "rollback prepared '" + strings.ReplaceAll(h.Prepared, "'", "''") + "'"
	}
	return fmt.Sprintf("select pg_terminate_backend(%d)", h.PID)
}

// LockWatcher finds the sessions that keep a node from writing.
type LockWatcher interface {
	// LockHolders lists them if a statement has waited for a lock in vain since the last
	// call; otherwise ok is false.
	LockHolders(ctx context.Context) (list []LockHolder, ok bool, err error)
}

// ConnectionLimit bounds the sessions of a database or of a role.
type ConnectionLimit struct {
	Of    string
	Limit int
}

// TableHealth is how a table of ours is vacuumed.
type TableHealth struct {
	Name          string
	Live, Dead    int64
	Vacuumed      time.Time // zero: never
	AutovacuumOff bool      // for this table
}

// Holder keeps rows from being vacuumed, or the log from being removed.
type Holder struct {
	Kind  string // transaction, prepared transaction or replication slot
	Name  string
	Since time.Time // zero: unknown
	Bytes int64     // of the log that it keeps
}

// RoleFact is what a role of ours may do beyond its grants.
type RoleFact struct {
	Name    string
	Missing bool
	Powers  []string // superuser, bypassrls, member of the owner
}

// RoleAdmin is another role that may grant a role of ours to itself. It is no superuser, and has
// nothing to do with the schema's owner.
type RoleAdmin struct {
	Role   string // of ours
	Admin  string
	Revoke string // the statement that ends it
}

func (a RoleAdmin) String() string {
	return fmt.Sprintf("role %s may grant %s to itself and to others: it has the ADMIN OPTION, as PostgreSQL 16 and later give it to the role that creates another. %s", a.Admin, a.Role, a.Effect())
}

// Effect is what the other role can do.
func (a RoleAdmin) Effect() string {
	switch a.Role {
	case "recoup_app":
		return "It can act as a node: change errors and keys, and promote."
	case "recoup_writer":
		return "It can report errors, promote, and hold locks."
	}
	return "It can read errors and events, and hold locks."
}

// FileFacts are those of an SQLite file.
type FileFacts struct {
	Path       string
	Damage     string // what the check of its pages has found; empty: nothing
	Unchecked  bool   // it is too large to be checked
	Bytes      int64
	WALBytes   int64 // of the write-ahead log beside it
	FreeBytes  int64 // of its file system; -1: unknown
	TotalBytes int64
	Shared     bool // others than its owner may read or write it
}

// Unseen is something that could not be looked at, and why. What is one of the facts below, a
// rule that rows are held to, or another name.
type Unseen struct{ What, Why string }

// The facts that findings are derived from by their absence. If one of them could not be read,
// an empty list says nothing.
const (
	FactSchema     = "the schema" // Expected and Present, without grants
	FactGrants     = "privileges"
	FactPartitions = "partitions"
	FactRoles      = "roles"
	FactArchiver   = "the archiver"
	FactBackups    = "backups"
)

// Seen reports whether a fact could be read.
func (f *Facts) Seen(fact string) bool {
	return !slices.ContainsFunc(f.Unseen, func(u Unseen) bool { return u.What == fact })
}

// NewBreach is that of the subjects that were found.
func NewBreach(rule string, found []string) Breach {
	const shown = 3
	return Breach{Rule: rule, Rows: min(len(found), BreachRows), More: len(found) > BreachRows, Sample: found[:min(len(found), shown)]}
}
