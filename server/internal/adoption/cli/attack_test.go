package cli_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup/server/internal/cli/clitest"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
)

// hostile is a server with a role mallory, who may create schemas and is otherwise without rights,
// and a database with nothing in it.
type hostile struct {
	*testing.T
	server *pgtest.Server
	owner  string // URL of the database's owner
}

// ran is what planted code writes to the server's log.
const ran = "planted code ran as "

// trap is the body of a function of mallory's: it tries to come to the rights of the session's user.
const trap = `begin
	begin execute 'reset role'; exception when others then null; end;
	begin execute 'set role none'; exception when others then null; end;
	raise log '` + ran + `% in a session of %', current_user, session_user;`

func newHostile(t *testing.T) *hostile {
	t.Helper()
	server := pgtest.Start(t, pgtest.Options{})
	h := &hostile{t, server, server.New(t)}
	h.exec("postgres", "create role mallory login; create role recoup_app login; grant mallory to recoup_owner; do $$ begin execute format('grant create on database %I to mallory', current_database()); end $$")
	return h
}

// as is the URL of another user.
func (h *hostile) as(user string) string {
	return strings.Replace(h.owner, "recoup_owner@", user+"@", 1)
}

func (h *hostile) exec(user, sql string) {
	h.Helper()
	conn := h.connect(user)
	defer func() { _ = conn.Close(context.Background()) }()
	if _, err := conn.Exec(h.Context(), "set search_path = pg_catalog; set role none; "+sql, pgx.QueryExecModeSimpleProtocol); err != nil {
		h.Fatalf("as %s: %s: %v", user, sql, err)
	}
}

func (h *hostile) connect(user string) *pgx.Conn {
	h.Helper()
	conn, err := pgx.Connect(h.Context(), h.as(user))
	if err != nil {
		h.Fatal(err)
	}
	return conn
}

// run runs a command as a user, and wants its status and a part of what it prints.
func (h *hostile) run(user string, want int, says string, args ...string) {
	h.Helper()
	out, stderr, status := clitest.Run(h.T, append(args, "--database", h.as(user))...)
	if status != want || !strings.Contains(out+stderr, says) {
		h.Errorf("as %s: %v: status %d, want %d and %q:\n%s%s", user, args, status, want, says, out, stderr)
	}
}

// harmless checks that planted code has run with mallory's rights only.
func (h *hostile) harmless() {
	h.Helper()
	for line := range strings.Lines(h.server.Log(h.T)) {
		if _, who, found := strings.Cut(line, ran); found && !strings.HasPrefix(who, "mallory ") && !strings.Contains(line, "STATEMENT") {
			h.Error(strings.TrimSpace(line))
		}
	}
}

// shop has a user migrate, and mallory make a table.
func (h *hostile) shop(user string) {
	h.Helper()
	h.run(user, 0, "", "migrate", "up")
	h.exec(user, `insert into recoup.error_table (table_name, hub, entity_column, dispositions, default_disposition, ttl, blocks, policy_version)
		values ('shop.errors', 'shop', 'order_id', '{RETRY,PARKED,ARCHIVE,RESOLVED}', 'RETRY', '30 days', true, '1.0.0')`)
	h.exec("mallory", "create schema shop; create table shop.failures (id int primary key, order_id text, kind text); insert into shop.failures values (1, 'o1', 'TIMEOUT')")
}

var adoptShop = []string{"adopt", "shop.failures", "--as", "shop.errors", "--entity", "order_id"}

// TestReleaseOfDroppedTable releases a table that its owner has dropped. Functions that fit better
// than those of pg_catalog, in the schemas of the administrator's search path, do not run.
func TestReleaseOfDroppedTable(t *testing.T) {
	t.Parallel()
	h := newHostile(t)
	h.shop("postgres")
	h.run("postgres", 0, "", append(adoptShop, "--apply", "--yes", "--no-wait")...)
	h.exec("postgres", "create schema if not exists postgres authorization mallory; grant create, usage on schema public to mallory; grant usage on schema postgres to public")
	h.exec("mallory", "drop table shop.failures cascade")
	for _, schema := range []string{"postgres", "public"} {
		for _, f := range []struct{ head, returns string }{
			{"unnest(text[]) returns setof text", "return query select pg_catalog.unnest($1)"},
			{"string_to_array(text, text) returns text[]", "return null"},
			{"format(text, name, name) returns text", "return null"},
			{"has_column_privilege(oid, oid, text, text) returns bool", "return true"},
		} {
			h.exec("mallory", "create function "+schema+"."+f.head+" language plpgsql as $f$ "+trap+f.returns+"; end $f$")
		}
	}
	h.run("postgres", 0, "", "adopt", "release", "shop.failures", "--yes", "--no-wait")
	h.run("postgres", 1, "there is no table nothing", "adopt", "nothing")
	h.run("postgres", 1, "not adopted", "adopt", "release", "nothing", "--yes")
	h.harmless()
}

// TestSettingsOfTheDatabase has the database's owner set a role and a search path for every session.
// Commands of the administrator run with the administrator's own.
func TestSettingsOfTheDatabase(t *testing.T) {
	t.Parallel()
	h := newHostile(t)
	h.exec("recoup_owner", `do $$ declare s text; begin foreach s in array '{role = mallory,"search_path = public, pg_catalog",quote_all_identifiers = on,standard_conforming_strings = off,client_encoding = LATIN1,transform_null_equals = on}'::text[] loop
		execute format('alter database %I set %s', current_database(), s); end loop; end $$`)
	h.shop("postgres")
	h.run("postgres", 0, "", append(adoptShop, "--apply", "--yes", "--no-wait")...)
	conn := h.connect("postgres")
	defer func() { _ = conn.Close(context.Background()) }()
	var owners string
	if err := conn.QueryRow(t.Context(), `select pg_catalog.string_agg(distinct nspname operator(pg_catalog.||) ' ' operator(pg_catalog.||) pg_catalog.pg_get_userbyid(nspowner)::pg_catalog.text, ', ')
		from pg_catalog.pg_namespace where nspname operator(pg_catalog.=) any (array['recoup', 'cl'])`).Scan(&owners); err != nil || owners != "cl postgres, recoup postgres" {
		t.Errorf("owners: %s, %v", owners, err)
	}
	out, stderr, _ := clitest.Run(t, "doctor", "--database", h.as("postgres"))
	for _, drift := range []string{"missing", "changed", "differs", "belongs to"} {
		if strings.Contains(out+stderr, drift) {
			t.Errorf("the doctor says %q:\n%s%s", drift, out, stderr)
		}
	}
	h.run("postgres", 0, "", "adopt", "release", "shop.failures", "--yes", "--no-wait")
}

// TestPlantedSchema has mallory plant a schema recoup. Commands of users with more rights refuse it
// and run nothing of it.
func TestPlantedSchema(t *testing.T) {
	t.Parallel()
	h := newHostile(t)
	h.shop("mallory")
	h.exec("mallory", `create or replace function recoup.clock() returns timestamptz language plpgsql as $f$ `+trap+` return now(); end $f$;
		create function recoup.spy() returns bool language plpgsql as $f$ `+trap+` return true; end $f$; grant execute on all functions in schema recoup to public; grant usage on schema recoup to public;
		create function recoup.spied() returns trigger language plpgsql as $f$ `+trap+` return new; end $f$;
		create trigger spied before insert or update on recoup.adoption for each row execute function recoup.spied();
		alter table recoup.adoption enable row level security; create policy spy on recoup.adoption using (recoup.spy());
		alter table recoup.schema_version alter column is_applied set default recoup.spy()`)
	file := filepath.Join(t.TempDir(), "intakes.csv")
	if err := os.WriteFile(file, []byte("company_name\nx\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, user := range []string{"postgres", "recoup_owner"} {
		for _, args := range [][]string{
			{"doctor"}, adoptShop, append(adoptShop, "--apply", "--yes", "--no-wait"), {"adopt", "release", "shop.failures", "--yes"}, {"migrate", "status"}, {"migrate", "up"},
			{"keys", "create", "--name", "ada", "--role", "admin"}, {"keys", "list"}, {"export", "parquet", "--to-dir", t.TempDir()},
		} {
			_, stderr, status := clitest.Run(t, append(args, "--database", h.as(user))...)
			out, _, _ := clitest.Run(t, append(args, "--database", h.as(user))...)
			if said := out + stderr; status == 0 || !strings.Contains(said, "belongs to mallory") && !strings.Contains(said, "owner mallory") {
				t.Errorf("as %s: %v: status %d:\n%s", user, args, status, said)
			}
		}
	}
	h.harmless()
}

// TestStatedOwner has a superuser act on a schema of another role, after stating its owner.
func TestStatedOwner(t *testing.T) {
	t.Parallel()
	h := newHostile(t)
	h.shop("recoup_owner")
	stated := []string{"--schema-owner", "recoup_owner"}
	h.run("postgres", 1, "the schema recoup belongs to recoup_owner, and postgres has rights that recoup_owner lacks (SUPERUSER)", "doctor")
	h.run("postgres", 1, "set --schema-owner recoup_owner", adoptShop...)
	h.run("postgres", 1, "the schema recoup belongs to recoup_owner, and --schema-owner is mallory", "migrate", "status", "--schema-owner", "mallory")
	h.run("recoup_owner", 1, "and --schema-owner is mallory", append(adoptShop, "--schema-owner", "mallory")...)
	h.run("recoup_app", 0, "001", "migrate", "status")
	h.run("postgres", 0, "001", append([]string{"migrate", "status"}, stated...)...)
	h.run("postgres", 0, "", append(append(adoptShop, "--apply", "--yes", "--no-wait"), stated...)...)
	if out, stderr, _ := clitest.Run(t, append([]string{"doctor", "--database", h.as("postgres")}, stated...)...); !strings.Contains(out, "public-schema") && !strings.Contains(out, "backup") {
		t.Errorf("the doctor: %s%s", out, stderr)
	}
	h.run("postgres", 0, "", append([]string{"adopt", "release", "shop.failures", "--yes", "--no-wait"}, stated...)...)
	h.exec("postgres", "alter function recoup.clock() owner to mallory")
	h.run("postgres", 1, "function recoup.clock() (owner mallory, expected recoup_owner)", append([]string{"adopt", "release", "shop.failures", "--yes"}, stated...)...)
	h.run("recoup_owner", 1, "It belongs to mallory and not to recoup_owner", "doctor")
	h.run("recoup_owner", 1, "function recoup.clock() (owner mallory", "keys", "list")
}

// TestLockedSettings holds locks that every role can take. Neither a plan nor the doctor waits for them.
func TestLockedSettings(t *testing.T) {
	t.Parallel()
	h := newHostile(t)
	h.shop("postgres")
	conn := h.connect("mallory")
	defer func() { _ = conn.Close(context.Background()) }()
	hold := func(lock string, do func()) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), "begin; "+lock); err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() { defer close(done); do() }()
		select {
		case <-done:
		case <-time.After(20 * time.Second):
			t.Errorf("it waits for %s", lock)
		}
		if _, err := conn.Exec(t.Context(), "rollback"); err != nil {
			t.Fatal(err)
		}
		<-done
	}
	hold("lock table pg_catalog.pg_settings in access exclusive mode", func() { h.run("postgres", 0, "shop.failures", adoptShop...) })
	hold("lock table pg_catalog.pg_settings in access exclusive mode", func() {
		if out, stderr, _ := clitest.Run(t, "doctor", "--database", h.as("postgres")); strings.Contains(out+stderr, "not checked: it took longer") {
			t.Errorf("the doctor: %s%s", out, stderr)
		}
	})
	hold("lock table shop.failures in access exclusive mode", func() { h.run("postgres", 1, "locked by another session", adoptShop...) })
}
