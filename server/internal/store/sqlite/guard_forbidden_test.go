package sqlite_test

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/test/conformance"
)

// The forbidden acts are tried with plain SQL by somebody else's connection,
// which has SQLite's defaults: no recursive triggers, no foreign keys. Each is
// refused and leaves the file as it was.
//
// The rows it is tried on, by entity: "open" and "other" wait for a retry,
// "done" is resolved, "gone" is archived, "kept" is in the table that keeps for
// ever, and "twin" was written by plain SQL with the key of "open".
func TestForbidden(t *testing.T) {
	t.Parallel()
	s := open(t)
	raw := s.raw()
	stage(t, conformance.NewDriver(t, s), raw)
	before := dump(t, raw)
	for _, act := range forbiddenActs {
		if _, err := raw.Exec(act); err == nil {
			t.Errorf("allowed: %s", act)
		}
		if after := dump(t, raw); after != before {
			t.Fatalf("%s\nchanged the file:\n%s", act, difference(before, after))
		}
	}
	var broken string
	if err := raw.QueryRow(`pragma integrity_check`).Scan(&broken); err != nil || broken != "ok" {
		t.Errorf("%s, %v", broken, err)
	}
}

func stage(t *testing.T, d *conformance.Driver, raw *sql.DB) {
	t.Helper()
	d.Report(dol, "open", "NETWORK_TIMEOUT", recoup.Medium)
	d.Report(dol, "other", "NETWORK_TIMEOUT", recoup.Medium)
	d.Resolve(d.Report(dol, "done", "NETWORK_TIMEOUT", recoup.Medium).ID)
	gone := d.Report(dol, "gone", "NETWORK_TIMEOUT", recoup.Medium)
	d.Apply(gone.ID, lifecycle.Park{By: "ada", Reason: "look"})
	d.Archive(gone.ID)
	d.Report("public.shq_master_error_log", "kept", "NETWORK_TIMEOUT", recoup.Medium)
	for _, entity := range []string{"free", "gone"} {
		p := store.Promotion{ID: d.ID(), Entity: entity, Phase: "next", By: "ada", At: d.Now()}
		if _, _, err := d.Store.Promote(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	for _, statement := range []string{
		`insert into error (table_name, entity_id, code, disposition, blocking, message)
			values ('outreach.dol_errors', 'open', 'NETWORK_TIMEOUT', 'RETRY', 1, 'twin')`,
		`insert into error_code (code, domain, description) values ('A_CODE', 'data', ''), ('B_CODE', 'data', '')`,
	} {
		if _, err := raw.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
}

const (
	theOpen = ` where entity_id = 'open' and message is null`
	theDone = ` where entity_id = 'done'`
	theKept = ` where entity_id = 'kept'`
	someone = `insert into error (table_name, entity_id, code, disposition, blocking) values `
)

var forbiddenActs = []string{
	// History is never rewritten.
	`delete from transition`,
	`delete from transition where seq = 1`,
	`update transition set actor = 'mallory'`,
	`update transition set at = at + 1 where seq = 1`,
	`replace into transition select * from transition`,
	`insert or replace into transition (seq, error_id, at, input, actor, policy_version)
		values (1, zeroblob(16), 0, 'report', 'mallory', '1')`,
	`update or replace transition set seq = 2 where seq = 1`,
	`insert into transition (seq, error_id, at, input, actor, policy_version)
		values (-1, zeroblob(16), 0, 'report', 'mallory', '1')`,
	`insert into transition (seq, error_id, at, input, actor, policy_version)
		values (1, zeroblob(16), 0, 'report', 'mallory', '1') on conflict do update set actor = 'mallory'`,

	// An error leaves its table only for the archive.
	`delete from error`,
	`delete from error` + theOpen,
	`delete from error` + theDone,
	`replace into error select * from error`,
	`insert or replace into error (rowid, table_name, code, disposition)
		select rowid, 'public.shq_error_log', 'X', 'IGNORE' from error` + theOpen,
	`insert or replace into error (table_name, entity_id, code, disposition, blocking, replaceable)
		values ('outreach.dol_errors', 'open', 'NETWORK_TIMEOUT', 'RETRY', 1, 1)`,
	`insert into error (error_id, table_name, code, disposition)
		select error_id, table_name, 'X', 'IGNORE' from error` + theOpen + ` on conflict do update set message = 'mallory'`,
	`update or replace error set error_id = (select error_id from error where entity_id = 'other')` + theOpen,
	`update or replace error set rowid = (select rowid from error where entity_id = 'other')` + theOpen,
	`update or replace error set replaceable = 1 where message = 'twin'`,
	`insert into error (rowid, table_name, code, disposition) values (-1, 'public.shq_error_log', 'X', 'IGNORE')`,

	// What an error is, and when it was made, is permanent.
	`update error set error_id = randomblob(16)` + theOpen,
	`update error set rowid = 1000` + theOpen,
	`update error set table_name = 'people.people_errors'` + theOpen,
	`update error set reported_table = 'no.such_table'` + theOpen,
	`update error set entity_id = 'else'` + theOpen,
	`update error set entity_id = null, blocking = 0` + theOpen,
	`update error set code = 'OTHER'` + theOpen,
	`update error set created_at = created_at - 1` + theOpen,
	`update error set correlation_id = randomblob(16)` + theOpen,

	// What is resolved is over.
	`update error set state = 'RETRY_PENDING', disposition = 'RETRY', blocking = 1` + theDone,
	`update error set message = 'rewritten'` + theDone,

	// A budget is a budget, and a ladder has three rungs.
	`update error set retry_count = max_retries + 1` + theOpen,
	`update error set retry_count = -1` + theOpen,
	`update error set escalation_level = 4` + theOpen,
	`update error set escalation_level = -1` + theOpen,

	// An error is what its table allows.
	`update error set disposition = 'IGNORE', blocking = 0` + theOpen,
	`update error set disposition = 'FORGET'` + theOpen,
	`update error set state = 'ARCHIVED'` + theOpen,
	`update error set state = 'GONE'` + theOpen,
	`update error set state = 'RESOLVED'` + theOpen,
	`update error set state = 'PARKED', disposition = 'PARKED', park_reason = null` + theOpen,
	someone + `('no.such_table', 'e', 'X', 'RETRY', 1)`,
	someone + `('outreach.dol_errors', 'e', 'X', 'IGNORE', 0)`,
	someone + `('outreach.dol_errors', 'e', 'X', 'RETRY', 0)`,
	someone + `('public.shq_error_log', 'e', 'X', 'IGNORE', 1)`,
	someone + `('outreach.dol_errors', 'e', 'X', 'RETRY', 2)`,
	`insert into error (table_name, entity_id, code, state, disposition, policy_version)
		values ('outreach.dol_errors', 'e', 'X', 'RESOLVED', 'RESOLVED', '1.0.0')`,
	`insert into error (table_name, entity_id, code, state, disposition, blocking)
		values ('outreach.dol_errors', 'e', 'X', 'RETRY_PENDING', 'RETRY', 1)`,
	`update error set policy_version = null` + theOpen,
	`update error set blocking = 0` + theOpen,
	`update error set error_id = x'00'` + theOpen,
	`update error set created_at = 'yesterday'` + theOpen,

	// Only a node archives.
	archiveOf(`e.error_id, e.table_name`) + theOpen,
	archiveOf(`e.error_id, e.table_name`) + theDone,

	// What is kept for ever is kept as it is.
	`update error set message = 'rewritten'` + theKept,
	`delete from error` + theKept,
	archiveOf(`e.error_id, e.table_name`) + theKept,
	archiveOf(`e.error_id, 'outreach.dol_errors'`) + theKept,

	// The archive is never rewritten, and nothing comes back from it.
	`delete from error_archive`,
	`update error_archive set message = 'rewritten'`,
	`update error_archive set purge_at = 0`,
	`replace into error_archive select * from error_archive`,
	`update or replace error_archive set rowid = 1000`,
	`insert into error (error_id, table_name, entity_id, code, disposition, blocking)
		select error_id, table_name, entity_id, code, 'RETRY', 1 from error_archive`,

	// The gate's order is what happened.
	`delete from gate_entry`,
	`update gate_entry set blocks = 0`,
	`replace into gate_entry select * from gate_entry`,
	`update or replace gate_entry set seq = 1 where seq = 2`,
	`insert into gate_entry (seq, entity_id, error_id, blocks, at) values (-1, 'e', zeroblob(16), 1, 0)`,
	`insert or replace into gate_entry select entity_id, seq, error_id, 1 - blocks, at from gate_entry`,
	`update gate_number set seq = 1`,
	`delete from gate_number`,
	`replace into gate_number values (1, 0)`,
	`insert into tally values (2, 1)`,
	`delete from promotion`,
	`update promotion set entity_id = 'open'`,
	`replace into promotion select * from promotion`,
	`insert or replace into promotion select seq + 1000, promotion_id, 'else', phase, promoted_by, promoted_at from promotion`,
	`insert or replace into promotion select seq, randomblob(16), 'else', phase, promoted_by, promoted_at from promotion`,
	`update or replace promotion set promotion_id = (select max(promotion_id) from promotion)`,
	`insert into promotion values (1000, randomblob(16), 'open', 'next', 'mallory', 0)`,

	// Codes and tables are permanent.
	`delete from error_code`,
	`update error_code set code = 'C_CODE' where code = 'A_CODE'`,
	`update or replace error_code set code = 'B_CODE' where code = 'A_CODE'`,
	`update error_code set created_at = 0`,
	`replace into error_code (code, domain, description) values ('A_CODE', 'data', 'rewritten')`,
	`insert into error_code (code, domain, description) values ('lower', 'data', '')`,
	`delete from error_table`,
	`update error_table set table_name = 'a.b' where table_name = 'outreach.dol_errors'`,
	`replace into error_table select * from error_table`,

	// The views are for reading.
	`delete from error_history`,
	`update gate_log set blocks = 0`,
	`delete from "outreach.dol_errors"`,
	`update "outreach.dol_errors" set message = 'rewritten'`,
	`insert into "outreach.dol_errors" (outreach_id, code) values ('e', 'X')`,
}

const (
	archivedColumns = `error_id, table_name, entity_id, code, policy_version, state, disposition, blocking, created_at,
		updated_at, retry_count, max_retries, retry_exhausted, escalation_level, replaceable, archived_at, archived_by, archive_reason,
		final_disposition, purge_at, was_state, was_blocking, end_seq, end_input, end_policy, end_gate`
	archivedValues = `e.entity_id, e.code, e.policy_version, 'ARCHIVED', e.disposition, 0, e.created_at,
		e.updated_at, 0, 0, 0, 0, 0, 0, 'mallory', 'MANUAL', e.disposition, 9e15, e.state, e.blocking, 1000, 'archive', '1.0.0',
		case when e.blocking then 1000 end from error e`
)

// archiveOf archives an error under an id and a table.
func archiveOf(identity string) string {
	return `insert or replace into error_archive (` + archivedColumns + `) select ` + identity + `, ` + archivedValues
}

// The same path is open to what may leave, or the acts above prove nothing.
func TestAllowed(t *testing.T) {
	t.Parallel()
	s := open(t)
	raw := s.raw()
	stage(t, conformance.NewDriver(t, s), raw)
	for _, act := range []string{
		someone + `('outreach.dol_errors', 'e', 'X', 'RETRY', 1)`,
		someone + `('public.shq_error_log', null, 'X', 'IGNORE', 0)`,
		`update error set message = 'corrected' where entity_id = 'other'`,
		`insert into promotion values (1000, randomblob(16), 'free', 'next', 'ada', 0)`,
		`update error_code set description = 'better' where code = 'A_CODE'`,
		`insert into transition (error_id, at, input, actor, policy_version) values (zeroblob(16), 0, 'note', 'ada', '1')`,
	} {
		if _, err := raw.Exec(act); err != nil {
			t.Errorf("%s: %v", act, err)
		}
	}
}

// The purge deletes what is over and nothing else, also for somebody who writes
// into its one-row table.
func TestPurgeIsBounded(t *testing.T) {
	t.Parallel()
	s := open(t)
	raw := s.raw()
	stage(t, conformance.NewDriver(t, s), raw)
	if n, err := s.PurgeArchive(t.Context(), conformance.Epoch(), 10); n != 0 || err != nil {
		t.Errorf("purged %d, %v", n, err)
	}
	if err := s.EnsurePartitions(t.Context(), conformance.Epoch()); err != nil {
		t.Error(err)
	}
	before := dump(t, raw)
	for _, act := range []string{
		`begin; update retention set archive_until = (select min(purge_at) - 1 from error_archive); delete from error_archive`,
		`begin; update retention set history_until = (select min(at) from transition); delete from transition`,
		`begin; delete from retention; delete from error_archive`,
		`begin; insert into retention values (2, 1e18, 1e18)`,
	} {
		if _, err := raw.Exec(act); err == nil {
			t.Errorf("allowed: %s", act)
		}
		if _, err := raw.Exec(`rollback`); err != nil {
			t.Fatal(err)
		}
	}
	if after := dump(t, raw); after != before {
		t.Errorf("changed:\n%s", difference(before, after))
	}
	var idle bool
	err := raw.QueryRow(`select archive_until is null and history_until is null from retention`).Scan(&idle)
	if err != nil || !idle {
		t.Errorf("nothing is purging and yet the way is open (%v)", err)
	}
}

// dump returns every row of every table.
func dump(t *testing.T, db *sql.DB) string {
	t.Helper()
	var b strings.Builder
	for _, table := range []string{
		"error", "error_archive", "transition", "error_code", "error_table", "error_table_disposition",
		"entity_streak", "error_count", "outbox", "gate_entry", "gate_number", "promotion", "retention", "tally",
	} {
		rows, err := db.Query(`select * from ` + table)
		if err != nil {
			t.Fatal(err)
		}
		columns, err := rows.Columns()
		if err != nil {
			t.Fatal(err)
		}
		values, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		for rows.Next() {
			if err := rows.Scan(into...); err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "%s %v\n", table, values)
		}
		if err := rows.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

func difference(before, after string) string {
	var b strings.Builder
	for _, line := range strings.Split(before, "\n") {
		if !strings.Contains(after, line) {
			b.WriteString("- " + line + "\n")
		}
	}
	for _, line := range strings.Split(after, "\n") {
		if !strings.Contains(before, line) {
			b.WriteString("+ " + line + "\n")
		}
	}
	return b.String()
}

// An error is not resolved without its history.
func TestNothingIsForged(t *testing.T) {
	t.Parallel()
	s := open(t)
	raw := s.raw()
	stage(t, conformance.NewDriver(t, s), raw)
	_, err := raw.Exec(`update error set state = 'RESOLVED', disposition = 'RESOLVED', blocking = 0, replaceable = 0, resolved_at = 1, resolved_by = 'ada' where entity_id = 'other'`)
	if err == nil || !strings.Contains(err.Error(), "together with the row of its history") {
		t.Error(err)
	}
}

// Whoever says to be a node that archives is held to what is true of every archived
// error and to what is kept for ever; see also [TestLetterActs].
func TestArchivesAreWhole(t *testing.T) {
	t.Parallel()
	s := open(t)
	raw := s.raw()
	stage(t, conformance.NewDriver(t, s), raw)
	const move = `; delete from error where error_id in (select error_id from error_archive)`
	right := archiveOf(`e.error_id, e.table_name`)
	for _, row := range []struct{ act, why string }{
		{right + theOpen + move, ""},
		{strings.Replace(right, "'MANUAL'", "'RESOLVED'", 1) + theDone + move, ""},
		{right + theDone, "error_archive_resolved"},
		{strings.Replace(right, "'MANUAL'", "'RESOLVED'", 1) + theOpen, "error_archive_resolved"},
		{strings.Replace(right, "'MANUAL'", "'SUPERSEDED'", 1) + theOpen, "error_archive_superseded"},
		{strings.Replace(right, "'MANUAL', e.disposition", "'MANUAL', 'IGNORE'", 1) + theOpen, "error_archive_final"},
		{strings.Replace(right, "case when e.blocking then 1000 end", "null", 1) + theOpen, "error_archive_gate"},
		{strings.Replace(right, "'MANUAL'", "'BECAUSE'", 1) + theOpen, "archive_reason"},
		{`delete from error` + theOpen, "only for the archive"},
		{right + theKept + move, "kept for ever"},
	} {
		_, err := raw.Exec(`begin; update tally set batch = 1; ` + row.act)
		if (err == nil) != (row.why == "") || err != nil && !strings.Contains(err.Error(), row.why) {
			t.Errorf("%s: %v, want %q", row.act, err, row.why)
		}
		if _, err := raw.Exec(`rollback`); err != nil {
			t.Fatal(err)
		}
	}
}
