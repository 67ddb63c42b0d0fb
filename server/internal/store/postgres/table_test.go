package postgres_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/postgres"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
)

// prompt is a person or a program with plain SQL.
type prompt struct {
	testing.TB
	*pgx.Conn
}

func at(t testing.TB, url string) prompt {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return prompt{t, conn}
}

func (p prompt) run(sql string, args ...any) {
	p.Helper()
	if _, err := p.Exec(p.Context(), sql, args...); err != nil {
		p.Fatalf("%s: %v", sql, err)
	}
}

func ask[T any](p prompt, sql string, args ...any) (v T) {
	p.Helper()
	if err := p.QueryRow(p.Context(), sql, args...).Scan(&v); err != nil {
		p.Fatalf("%s: %v", sql, err)
	}
	return v
}

// sqlState of a statement that is to fail.
func (p prompt) sqlState(sql string) string {
	p.Helper()
	_, err := p.Exec(p.Context(), sql)
	var server *pgconn.PgError
	if !errors.As(err, &server) {
		p.Fatalf("%s: got %v, want a refusal", sql, err)
	}
	return server.Code
}

// governed is a database in which the default policy holds.
func governed(t testing.TB) (s *postgres.Store, owner, app prompt) {
	t.Helper()
	ownerURL, appURL := pgtest.Migrated(t)
	s = open(t, appURL)
	if err := s.SyncTables(t.Context(), policy.Default()); err != nil {
		t.Fatal(err)
	}
	return s, at(t, ownerURL), at(t, appURL)
}

// changed is the default policy with some of its text replaced.
func changed(t testing.TB, oldnew ...string) *policy.Policy {
	t.Helper()
	text := strings.NewReplacer(oldnew...).Replace(string(policy.DefaultFile()))
	p, err := policy.Load("changed.yaml", []byte(text), fault.Default())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// What plain SQL inserts is born governed and blocks at once.
func TestPlainInsertIsBornGoverned(t *testing.T) {
	t.Parallel()
	s, _, app := governed(t)
	app.run("INSERT INTO outreach.dol_errors (outreach_id, code) VALUES ('CO-1', 'NETWORK_TIMEOUT')")
	if !ask[bool](app, promotionCheck(t, dol), "CO-1") || !ask[bool](app, "select recoup.is_blocked('CO-1')") {
		t.Error("the row does not block")
	}
	if ask[bool](app, promotionCheck(t, dol), "CO-2") {
		t.Error("an entity without errors is blocked")
	}
	got := ask[string](app, `select concat_ws(' ', state, disposition, blocking, expires_at - created_at, policy_version is null)
		from outreach.dol_errors`)
	if got != "ACTIVE RETRY t 30 days t" {
		t.Errorf("born as %s", got)
	}
	if _, _, err := s.Promote(t.Context(), store.Promotion{ID: [16]byte{1}, Entity: "CO-1", Phase: "next", By: "ada"}); !errors.Is(err, store.ErrBlocked) {
		t.Errorf("promoted: %v", err)
	}
}

// Each table of the policy has its view, with defaults of its own.
func TestViewDefaults(t *testing.T) {
	t.Parallel()
	_, _, app := governed(t)
	for _, row := range []struct{ insert, want string }{
		{"company.url_discovery_failures (company_unique_id, code) values ('C1', 'X')", "ARCHIVE f 90 days"},
		{"public.shq_error_log (code) values ('X')", "IGNORE f 90 days"},
		{"public.shq_master_error_log (code) values ('X')", "IGNORE f never"},
		{"public.shq_orphan_errors (code) values ('X')", "PARKED f 30 days"},
	} {
		got := ask[string](app, "insert into "+row.insert+
			" returning concat_ws(' ', disposition, blocking, coalesce((expires_at - created_at)::text, 'never'))")
		if got != row.want {
			t.Errorf("%s: %s, want %s", row.insert, got, row.want)
		}
	}
}

func TestViewRefuses(t *testing.T) {
	t.Parallel()
	_, _, app := governed(t)
	for _, row := range []struct{ sql, state string }{
		{"insert into outreach.dol_errors (outreach_id, code, table_name) values ('E', 'X', 'people.people_errors')", "44000"},
		{"insert into pipeline.dead_letters (entity_id, code) values ('E', 'X')", "RC001"},
		{"insert into outreach.dol_errors (outreach_id, code, state) values ('E', 'X', 'RETRY_PENDING')", "RC001"},
		{"insert into outreach.dol_errors (outreach_id, code, disposition, blocking) values ('E', 'X', 'IGNORE', false)", "RC001"},
		{"insert into outreach.dol_errors_archive (outreach_id, code) values ('E', 'X')", "42501"},
		{"delete from outreach.dol_errors", "42501"},
	} {
		if got := app.sqlState(row.sql); got != row.state {
			t.Errorf("%s: %s, want %s", row.sql, got, row.state)
		}
	}
}

// The archive's view is for reading, also for the owner.
func TestArchiveViewIsReadOnly(t *testing.T) {
	t.Parallel()
	_, owner, _ := governed(t)
	for _, sql := range []string{
		"insert into outreach.dol_errors_archive (outreach_id, code) values ('E', 'X')",
	} {
		if got := owner.sqlState(sql); got != "RC001" {
			t.Errorf("%s: %s", sql, got)
		}
	}
}

// A renamed column is renamed in the views, and whoever could read them still
// can. A table that leaves the policy takes no new errors, and keeps its rows.
func TestViewsFollowThePolicy(t *testing.T) {
	t.Parallel()
	s, owner, app := governed(t)
	app.run("insert into outreach.dol_errors (outreach_id, code) values ('E', 'X')")
	owner.run("create role hub_reader nologin; grant select on outreach.dol_errors to hub_reader")
	next := changed(t, "entity: outreach_id", "entity: company_id", "people.people_errors", "people.person_errors")
	if err := s.SyncTables(t.Context(), next); err != nil {
		t.Fatal(err)
	}
	if got := ask[string](app, "select company_id from outreach.dol_errors"); got != "E" {
		t.Errorf("got %s", got)
	}
	if !ask[bool](app, "select has_table_privilege('hub_reader', 'outreach.dol_errors', 'select')") {
		t.Error("the reader lost the view")
	}
	app.run("insert into people.person_errors (company_id, code) values ('E', 'X')")
	if got := app.sqlState("insert into people.people_errors (outreach_id, code) values ('E', 'X')"); got != "RC001" {
		t.Errorf("a retired table took an error: %s", got)
	}
	if !ask[bool](app, "select retired from recoup.error_table where table_name = 'people.people_errors'") {
		t.Error("the table is not retired")
	}
	if err := s.SyncTables(t.Context(), policy.Default()); err != nil {
		t.Fatal(err)
	}
	app.run("insert into people.people_errors (outreach_id, code) values ('E', 'X')")
}

// An installation has no name of the specification's domain unless its policy has: the second name of
// an entity is entity_id, and becomes outreach_id with the first table that has this column.
func TestSecondNameOfTheEntity(t *testing.T) {
	t.Parallel()
	ownerURL, appURL := pgtest.Migrated(t)
	s, app, writer := open(t, appURL), at(t, appURL), at(t, strings.Replace(ownerURL, "recoup_owner", "recoup_writer", 1))
	must(t, s.SyncTables(t.Context(), loaded(t, "1", "billing.invoice_errors: {ttl: MEDIUM, entity: invoice_id}")))
	if found := ask[string](app, `select coalesce(string_agg(attrelid::regclass || '.' || attname, ', '), '') from pg_attribute where attname = 'outreach_id'`); found != "" {
		t.Errorf("there are columns %s", found)
	}
	writer.run("insert into billing.invoice_errors (invoice_id, code) values ('I-1', 'X')")
	if got := ask[string](app, "select entity_id from billing.invoice_errors"); got != "I-1" {
		t.Errorf("its entity is %s", got)
	}
	more := loaded(t, "2", "billing.invoice_errors: {ttl: MEDIUM, entity: invoice_id}", "clinic.errors: {ttl: MEDIUM, entity: outreach_id}")
	must(t, s.SyncTables(t.Context(), more))
	writer.run("insert into clinic.errors (outreach_id, code) values ('C-1', 'X')")
	writer.run("insert into billing.invoice_errors (outreach_id, code) values ('I-2', 'X')")
	if got := ask[string](app, "select string_agg(invoice_id, ' ' order by invoice_id) from billing.invoice_errors where outreach_id like 'I-%'"); got != "I-1 I-2" {
		t.Errorf("its entities are %s", got)
	}
	before := ask[string](app, "select max(xmin::text::bigint)::text from pg_rewrite")
	must(t, s.SyncTables(t.Context(), more))
	if after := ask[string](app, "select max(xmin::text::bigint)::text from pg_rewrite"); after != before {
		t.Error("views were replaced that are current")
	}
}

// loaded is a policy with these tables.
func loaded(t testing.TB, version string, tables ...string) *policy.Policy {
	t.Helper()
	p, err := policy.Load("own.yaml", []byte("version: "+version+"\ntables:\n  "+strings.Join(tables, "\n  ")+"\n"), fault.Default())
	must(t, err)
	return p
}

func TestSyncTablesFromManyNodes(t *testing.T) {
	t.Parallel()
	_, app := pgtest.Migrated(t)
	p := policy.Default()
	var wg sync.WaitGroup
	for range 8 {
		s := open(t, app)
		wg.Go(func() {
			if err := s.SyncTables(t.Context(), p); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	got := ask[[]string](at(t, app), "select array_agg(table_name::text order by table_name) from recoup.error_table where not retired")
	var want []string
	for _, table := range p.Tables() {
		want = append(want, table.Name)
	}
	if slices.Sort(want); !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}

// A sync that waits for a lock in vain is deferred if the database has the tables of this
// policy already. With another policy it fails: its tables are missing.
func TestSyncTablesIsDeferred(t *testing.T) {
	t.Parallel()
	ownerURL, appURL := pgtest.Migrated(t)
	s, err := postgres.Open(t.Context(), appURL, postgres.Options{MaxConns: 4, LockTimeout: 100 * time.Millisecond})
	must(t, err)
	t.Cleanup(func() { _ = s.Close() })
	must(t, s.SyncTables(t.Context(), policy.Default()))
	owner := at(t, ownerURL)
	owner.run("begin; lock table recoup.error_table in share mode")
	if err := s.SyncTables(t.Context(), policy.Default()); !errors.Is(err, store.ErrSyncDeferred) {
		t.Errorf("with the same policy: %v", err)
	}
	next := changed(t, "version: 1.0.0", "version: 1.0.1", "people.people_errors", "people.person_errors")
	if err := s.SyncTables(t.Context(), next); !errors.Is(err, store.ErrBusy) || errors.Is(err, store.ErrSyncDeferred) {
		t.Errorf("with another policy: %v", err)
	}
	owner.run("rollback")
	must(t, s.SyncTables(t.Context(), next))
}

// A view that is current is not replaced. One that was changed is.
func TestSyncTablesRepairsViews(t *testing.T) {
	t.Parallel()
	s, owner, app := governed(t)
	version := func() string { return ask[string](app, "select max(xmin::text::bigint)::text from pg_rewrite") }
	before := version()
	must(t, s.SyncTables(t.Context(), policy.Default()))
	if version() != before {
		t.Error("views were replaced that are current")
	}
	const text = "select string_agg(recoup.view_text(c.oid), ' ' order by c.oid) from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = 'outreach'"
	want := ask[string](owner, text)
	for _, change := range []string{
		"alter view outreach.dol_errors alter column blocking set default false", "alter view outreach.dol_errors alter column disposition drop default",
		"alter view outreach.dol_errors reset (check_option)", "alter view outreach.dol_errors set (security_barrier = true)",
		"drop trigger forbidden on outreach.dol_errors_archive",
		"alter view outreach.dol_errors rename column outreach_id to company",
	} {
		owner.run(change)
		if ask[string](owner, text) == want {
			t.Errorf("not seen: %s", change)
		}
		must(t, s.SyncTables(t.Context(), policy.Default()))
		if ask[string](owner, text) != want {
			t.Errorf("not repaired: %s", change)
		}
	}
}
