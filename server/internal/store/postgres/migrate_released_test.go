package postgres_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup/server/internal/gatezero/gatezerotest"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/postgres"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/test/conformance"
)

// A database of every released version can be migrated and answers as it did, and no
// migration that was released has changed.
func TestReleased(t *testing.T) {
	t.Parallel()
	steps, err := store.ReadMigrations(os.DirFS("migrations"))
	if err != nil {
		t.Fatal(err)
	}
	owner, app := pgtest.Migrated(t)
	s := open(t, app)
	conformance.Fill(t, s, gatezerotest.Filler())
	at(t, owner).run(`insert into recoup.name_taken (name, table_name, kind) select table_name, table_name, 'table' from recoup.error_table limit 1;
		insert into cl.gate_zero_taken_over (intakes, recoveries) values (1, 0); insert into cl.gate_zero_left values ('cl_before.gate_zero_intake', '1', 'it has no company_name');
		insert into recoup.bus_batch values (gen_random_uuid()); insert into recoup.bus_range values ('RECOUP_EVENTS', 1, 9);
		insert into cl.gate_zero_unread values ('intake', gen_random_uuid());
		insert into recoup.event_late (event_id, code, correlation_id, service, ts) values (gen_random_uuid(), 'TIMEOUT', gen_random_uuid(), 'late', now())`)
	fillAdoption(at(t, owner))
	wantRows(t, owner)
	pgtest.HoldToClock(t, owner)
	next := conformance.Release{Answers: conformance.Snapshot(t, s, gatezerotest.Filler()), Database: pgtest.DumpSQL(t, owner)}
	conformance.RunReleased(t, steps, next, func(t *testing.T, database string) conformance.Whole {
		t.Helper()
		address := pgtest.New(t)
		at(t, address).run(regexp.MustCompile(`(?m)^\\.*$`).ReplaceAllString(database, "")) // but for commands of psql
		if err := postgres.Migrate(t.Context(), address); err != nil {
			t.Fatal(err)
		}
		return open(t, as(t, address, postgres.AppRole, ""))
	}, gatezerotest.Filler())
}

// wantRows says that every table has a row, or nothing would show whether an upgrade
// keeps it. One is empty at the end of every transaction; row
// security is the owner's to turn on; tables without columns are locks.
func wantRows(t *testing.T, owner string) {
	t.Helper()
	p := at(t, owner)
	rows, err := p.Query(t.Context(), `select oid::regclass::text from pg_class where relkind in ('r', 'p') and not relispartition and relnatts > 0
		and relnamespace in ('recoup'::regnamespace, 'cl'::regnamespace) and oid not in
		('cl.gate_zero_revoked'::regclass, 'recoup.read_grant'::regclass)`)
	if err != nil {
		t.Fatal(err)
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(tables) == 0 {
		t.Fatal(tables, err)
	}
	for _, table := range tables {
		if ask[int](p, "select count(*) from "+table) == 0 {
			t.Errorf("%s has no row", table)
		}
	}
}

// fillAdoption adds rows of an adopted table, which only this store can have.
func fillAdoption(owner prompt) {
	owner.run(`insert into recoup.adoption (table_name, source, source_oid, owner, key_columns, mapping, begun_by) values ('a.errors', 'a.failures', 1, 'a', '{id}', '{"entity": "id"}', 'ada')`)
	owner.run(`insert into recoup.adoption_login (adoption_id, role) values (1, 'recoup_adopter_1_1')`)
	owner.run(`insert into recoup.adopted_row (adoption_id, key, error_id, digest) values (1, '7', gen_random_uuid(), '\x')`)
	owner.run(`insert into recoup.adopted_mirror (adoption_id, error_id) values (1, gen_random_uuid())`)
	owner.run(`insert into recoup.adopted_change (adoption_id, keys) values (1, '{7}')`)
	owner.run(`insert into recoup.adopted_entity (adoption_id, change_id, hash) values (1, 1, 7)`)
	owner.run(`insert into recoup.adopted_unreadable (adoption_id, key, cause) values (1, '7', 'division by zero')`)
	owner.run(`insert into recoup.adopted_refused (adoption_id, error_id, key, cause, attempts, retry_at) values (1, gen_random_uuid(), '7', 'locked', 1, now())`)
	owner.run(`insert into recoup.adopted_kept (source, key, error_id, digest) values ('a.failures', '7', gen_random_uuid(), '\x')`)
	owner.run(`insert into recoup.source_detail (error_id, table_name, details) values (gen_random_uuid(), 'a.errors', '{"note": "x"}')`)
}
