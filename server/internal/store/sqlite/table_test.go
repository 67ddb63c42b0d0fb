package sqlite_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/test/conformance"
)

// Views carry the policy's names and follow it.
func TestViews(t *testing.T) {
	t.Parallel()
	d := conformance.NewDriver(t, open(t))
	raw := d.Store.(opened).raw()
	e := d.Report(dol, "CO-1", "NETWORK_TIMEOUT", recoup.Medium)
	const promotionQuery = `select count(*) from "outreach.dol_errors"
		where outreach_id = 'CO-1' and disposition in ('RETRY', 'PARKED') and archived_at is null`
	if n := count(t, raw, promotionQuery); n != 1 {
		t.Errorf("%d blocking", n)
	}
	for _, table := range []string{"outreach.company_target_errors", "people.people_errors", "company.url_discovery_failures",
		"public.shq_error_log", "public.shq_master_error_log"} {
		if n := count(t, raw, strings.Replace(promotionQuery, dol, table, 1)); n != 0 {
			t.Errorf("%s: %d blocking", table, n)
		}
	}
	if _, err := raw.Exec(`delete from "outreach.dol_errors"`); err == nil {
		t.Error("a view is not read-only")
	}
	d.Archive(e.ID)
	if n := count(t, raw, `select count(*) from "outreach.dol_errors_archive" where outreach_id = 'CO-1' and archived_at > 0`); n != 1 {
		t.Errorf("%d archived", n)
	}
	before := count(t, raw, `pragma schema_version`)
	if err := d.Store.SyncTables(t.Context(), d.Policy); err != nil {
		t.Fatal(err)
	}
	if after := count(t, raw, `pragma schema_version`); before != after {
		t.Errorf("a sync that changes nothing changed the schema from %d to %d", before, after)
	}
}

// A new policy renames a column and an archive, forbids a disposition and drops
// a table. What was recorded stays, under the new names.
func TestViewsFollowThePolicy(t *testing.T) {
	t.Parallel()
	d := conformance.NewDriver(t, open(t))
	raw := d.Store.(opened).raw()
	d.Archive(d.Report(dol, "CO-1", "NETWORK_TIMEOUT", recoup.Medium).ID)
	d.Report("people.people_errors", "CO-2", "NETWORK_TIMEOUT", recoup.Medium)
	file := policy.DefaultFile()
	for _, change := range []struct{ old, new string }{
		{"outreach.dol_errors_archive", "outreach.dol_attic"},
		{"entity: outreach_id", "entity: filing_id"}, // the first is of dol_errors
		{"allowed: [RETRY, PARK, ARCHIVE]", "allowed: [RETRY, PARK]"},
		{"  people.people_errors:", "  people.person_errors:"},
		{"people.people_errors_archive", "people.person_errors_archive"},
		{"tables: [people.people_errors]", "tables: [people.person_errors]"},
	} {
		file = bytes.Replace(file, []byte(change.old), []byte(change.new), 1)
	}
	next, err := policy.Load("next.yaml", file, fault.Default())
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Store.SyncTables(t.Context(), next); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		question string
		want     int
	}{
		{`select count(*) from "outreach.dol_attic" where filing_id = 'CO-1'`, 1},
		{`select count(*) from sqlite_schema where name = 'outreach.dol_errors_archive'`, 0},
		{`select count(*) from "people.people_errors" where outreach_id = 'CO-2'`, 1},
		{`select count(*) from "people.person_errors"`, 0},
		{`select retired from error_table where table_name = 'people.people_errors'`, 1},
		{`select retired from error_table where table_name = 'outreach.dol_errors'`, 0},
		{`select count(*) from error_table_disposition where table_name = 'outreach.dol_errors' and disposition = 'ARCHIVE'`, 0},
	} {
		if got := count(t, raw, row.question); got != row.want {
			t.Errorf("%s: %d, want %d", row.question, got, row.want)
		}
	}
	if err := d.Store.(opened).RawInsert(t.Context(), "people.people_errors", "CO-3", "X"); err == nil {
		t.Error("a retired table takes new errors")
	}
}

// An installation has no name of the specification's domain unless its policy has.
func TestSecondNameOfTheEntity(t *testing.T) {
	t.Parallel()
	d := conformance.NewDriver(t, open(t))
	raw := d.Store.(opened).raw()
	const own, foreign = "\n  billing.invoice_errors: {ttl: MEDIUM, entity: invoice_id}", "\n  clinic.errors: {ttl: MEDIUM, entity: outreach_id}"
	for tables, name := range map[string]string{own: "entity_id", own + foreign: "outreach_id"} {
		p, err := policy.Load("own.yaml", []byte("version: 2\ntables:"+tables+"\n"), fault.Default())
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Store.SyncTables(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		for table, column := range map[string]string{"billing.invoice_errors": name, "pipeline.dead_letters": map[string]string{"entity_id": "entity"}[name]} {
			if n := count(t, raw, `select count(*) from pragma_table_info('`+table+`') where name = '`+column+`'`); column != "" && n != 1 {
				t.Errorf("%s with %s lacks the column %s", table, tables, column)
			}
		}
	}
}

func count(t *testing.T, db *sql.DB, question string) (n int) {
	t.Helper()
	if err := db.QueryRow(question).Scan(&n); err != nil {
		t.Fatalf("%s: %v", question, err)
	}
	return n
}

// A table or a view of somebody else keeps its name; the others have theirs, and it is
// taken once it is free.
func TestNameTaken(t *testing.T) {
	t.Parallel()
	s := open(t)
	shell := s.raw()
	for _, sql := range []string{`create table "outreach.dol_errors" (id)`, `create view "people.people_errors" as select 7 as id from error`} {
		if _, err := shell.Exec(sql); err != nil {
			t.Fatal(err)
		}
	}
	taken := func() (list []string) {
		t.Helper()
		if err := s.SyncTables(t.Context(), policy.Default()); err != nil {
			t.Fatal(err)
		}
		names, err := s.TableNames(t.Context())
		if err != nil || len(names) < len(policy.Default().Tables()) {
			t.Fatal(names, err)
		}
		for _, n := range names {
			if !n.Adopted() {
				list = append(list, n.Name+" "+n.Kind)
			}
		}
		return list
	}
	if got := taken(); !slices.Equal(got, []string{"outreach.dol_errors table", "people.people_errors view"}) {
		t.Errorf("taken are %q", got)
	}
	if _, err := shell.Exec(`drop table "outreach.dol_errors"; drop view "people.people_errors"`); err != nil {
		t.Fatal(err)
	}
	if got := taken(); len(got) != 0 {
		t.Errorf("taken are still %q", got)
	}
}

// A policy of many tables changes the schema once, and leaves in it what one table after
// the other would: views that other connections find, and what is somebody else's.
func TestViewsOfManyTables(t *testing.T) {
	t.Parallel()
	d := conformance.NewDriver(t, open(t))
	raw := d.Store.(opened).raw()
	const many = 120
	if _, err := raw.Exec(`create table "APP.errors_7" (id)`); err != nil { // somebody else's, who keeps the name
		t.Fatal(err)
	}
	of := func(entity string) *policy.Policy {
		file := bytes.NewBufferString("version: 1\ntables:\n")
		for i := range many {
			fmt.Fprintf(file, "  app.errors_%d: {entity: %s}\n", i, entity)
		}
		p, err := policy.Load("many", file.Bytes(), fault.Default())
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	for _, entity := range []string{"order_id", "invoice_id"} { // made, and made anew
		before := count(t, raw, `pragma schema_version`)
		if err := d.Store.SyncTables(t.Context(), of(entity)); err != nil {
			t.Fatal(err)
		}
		if changes := count(t, raw, `pragma schema_version`) - before; changes != 1 {
			t.Errorf("the schema changed %d times", changes)
		}
		for _, query := range []string{
			`select count(*) - 119 from sqlite_schema where type = 'view' and name like 'app.errors\__%' escape '\' and name not like '%archive'`,
			`select count(*) from "app.errors_0" where ` + entity + ` = 'CO-1' and entity_id = 'CO-1'`,
			`select count(*) from "app.errors_119_archive" where ` + entity + ` = 'CO-1'`,
			`select count(*) from pragma_integrity_check where integrity_check <> 'ok'`,
		} {
			if n := count(t, raw, query); n != 0 {
				t.Errorf("%s: %d", query, n)
			}
		}
	}
	if n := count(t, raw, `select count(*) from sqlite_schema where name like 'app.errors_7'`); n != 1 {
		t.Errorf("%d have the name that was taken", n)
	}
}
