// Package doctor finds what is wrong with an installation. Facts come from a store
// (store.Inspector) and from the node; each [Check] judges them, and what it finds has
// evidence and the command that fixes it. Judging is pure: it asks nobody, changes
// nothing and reads no clock. What puts a thing right is a [Fix], as data; who applies
// it is not decided here.
package doctor

import (
	"cmp"
	"slices"
	"time"

	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// Input is everything that is judged.
type Input struct {
	Facts    store.Facts
	Now      time.Time
	Policy   *policy.Policy // in force; nil: none ever was
	Warnings []string       // of the policy's checker
	Jobs     []wire.Job     // as they went; none: not looked at
	Skew     time.Duration  // how far the machine's clock is ahead of the database's
	Node     *Node          // that looks; nil: there is none, a command looks at the database itself
}

// Node is what the doctor knows of the node that looks.
type Node struct {
	Listen     string
	Secure     bool // it speaks TLS, or proxies in front of it are known
	Demo       bool
	MaxConns   int            // of its pool; zero: unknown
	Channels   []wire.Channel // how they do
	Unreached  []string       // actions of alerts, with their teams, that reach only its log
	Unrouted   []string       // channels that it has and no route names
	MasterKey  bool
	LooseFiles []LooseFile // files with secrets that others can read
}

// LooseFile is a file with secrets that more users can read than should, and the mode of
// chmod that changes that.
type LooseFile struct{ Path, Mode string }

// FixableFinding is a finding with its fix, if Recoup has one.
type FixableFinding struct {
	wire.Finding
	Repair Fix
}

// Fix describes how Recoup fixes a finding itself. The zero value is no fix.
type Fix struct {
	Statements []string // to be run by the schema's owner
	Views      bool     // the names of the policy are to be made anew
	Partitions bool     // partitions are to be made
	Grants     bool     // privileges are to be granted anew, as migrations do

	// Of a slice: what it is to do, and to what.
	Slice, Act, On string
}

// Check is one thing that is looked for.
type Check struct {
	Name  string
	About string // what it looks for
	Judge func(in *Input) []FixableFinding
	After string // the check that one of a slice follows; empty: all
}

// Checks are those of every installation, in the order in which they are made.
func Checks() []Check {
	return []Check{
		{"tables", "names of the policy that are missing or taken by something else", judgeNames, ""},
		{"dead-tables", "tables that the policy calls dead and that still exist", judgeDeadTables, ""},
		{"ungoverned", "tables that look like error tables and have no policy", judgeLookalikes, ""},
		{"schema", "tables, columns and defaults that are not as the migrations made them", judgeColumns, ""},
		{TriggerCheck, "guards that are missing, disabled or replaced", judgeTriggers, ""},
		{"functions", "functions that are missing or replaced", judgeFunctions, ""},
		{"constraints", "constraints that are missing or changed", judgeConstraints, ""},
		{"indexes", "indexes that are missing, invalid or changed", judgeIndexes, ""},
		{"grants", "privileges that our roles lack or have beyond what nodes, pipelines and analysts need", judgeGrants, ""},
		{"other-roles", "privileges of roles that are not Recoup's, and default privileges", judgeOtherRoles, ""},
		{"roles", "roles that are missing, too powerful or changed, and read grants of roles that were dropped", judgeRoles, ""},
		{checkOwners, "objects in the schemas of Recoup that belong to another role", judgeOwners, ""},
		{"dependents", "objects of other roles that depend on Recoup's tables", judgeDependents, ""},
		{"public-schema", "a schema public in which every role may create objects", judgePublicSchema, ""},
		{"row-security", "tables left open while row security is on", judgeRowSecurity, ""},
		{"partitions", "months that are missing ahead, not attached, unguarded or in a default partition", judgePartitions, ""},
		{"rows", "rows that break an invariant", judgeRows, ""},
		{"jobs", "scheduled jobs that fail, are behind or have stopped", judgeJobs, ""},
		{"outbox", "notifications that wait for too long", judgeOutbox, ""},
		{"channels", "channels that are missing, that fail, that nobody reaches or no route names", judgeChannels, ""},
		{"vacuum", "dead rows that autovacuum does not get to, and transaction ids that run out", judgeVacuum, ""},
		{"locks", "sessions that keep others from writing Recoup's tables", judgeLocks, ""},
		{"horizon", "transactions and replication slots that keep dead rows or the log", judgeHolders, ""},
		{"clock", "a machine whose clock differs from the database's", judgeClock, ""},
		{"connections", "a connection budget that nodes exhaust", judgeConnections, ""},
		{"pooler", "a pooler in the way of notifications", judgePooler, ""},
		{"durability", "settings that lose acknowledged writes", judgeDurability, ""},
		{"settings", "settings that hurt", judgeSettings, ""},
		{"events", "events that are not in the ledger yet", judgeEvents, ""},
		{"keys", "API keys: no admin, no expiry, unused admins", judgeKeys, ""},
		{"encryption", "platform keys in plaintext, and a master key that others can read", judgeEncryption, ""},
		{"backups", "backups that were never made or are old", judgeBackups, ""},
		{"file", "a damaged file, a log out of hand, a disk almost full", judgeFile, ""},
		{"listener", "a listener beyond loopback without TLS", judgeListener, ""},
		{"policy", "warnings of the policy's checker", judgePolicy, ""},
		{"unseen", "what could not be looked at", judgeUnseen, ""},
	}
}

// checkOwners is the name of the check that [JudgeOwners] makes.
const checkOwners = "owners"

// Judge makes every check, and those that parts of a node add, and returns what they find,
// worst first.
func Judge(in *Input, added ...Check) []FixableFinding {
	var found []FixableFinding
	all := Checks()
	for _, check := range added {
		at := len(all)
		if i := slices.IndexFunc(all, func(other Check) bool { return other.Name == check.After }); i >= 0 {
			at = i + 1
		}
		all = slices.Insert(all, at, check)
	}
	for _, check := range all {
		for _, ill := range check.Judge(in) {
			ill.Check, ill.Safe = check.Name, ill.Repair.any()
			found = append(found, ill)
		}
	}
	slices.SortStableFunc(found, func(a, b FixableFinding) int { return cmp.Compare(rank(a.Severity), rank(b.Severity)) })
	return found
}

func rank(s wire.FindingSeverity) int { return slices.Index(wire.FindingSeverities(), s) }

func (r Fix) any() bool {
	return len(r.Statements) > 0 || r.Views || r.Partitions || r.Grants || r.Slice != ""
}

// NewFinding makes a finding of a check, which Judge names.
func NewFinding(severity wire.FindingSeverity, subject, evidence, fix string) FixableFinding {
	return FixableFinding{Finding: wire.Finding{Severity: severity, Subject: subject, Evidence: evidence, Fix: fix}}
}

// With gives a finding its fix.
func (i FixableFinding) With(r Fix) FixableFinding {
	i.Repair = r
	return i
}
