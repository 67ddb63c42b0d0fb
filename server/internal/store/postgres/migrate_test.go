package postgres_test

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/postgres"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
)

// Ten nodes that start at once on an empty database all find it migrated.
func TestMigrateFromManyNodes(t *testing.T) {
	t.Parallel()
	address := pgtest.New(t)
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			if err := postgres.Migrate(t.Context(), address); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	list, err := postgres.Status(t.Context(), address, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range list {
		if m.AppliedAt.IsZero() {
			t.Errorf("%s is not applied", m.Name)
		}
	}
	applied := ask[int](at(t, address), "select count(*) from recoup.schema_version where version_id > 0")
	if applied != len(list) {
		t.Errorf("%d migrations were applied %d times", len(list), applied)
	}
	open(t, address)
}

func TestStatusChangesNothing(t *testing.T) {
	t.Parallel()
	address := pgtest.New(t)
	list, err := postgres.Status(t.Context(), address, "")
	if err != nil || len(list) == 0 || slices.ContainsFunc(list, func(m store.Migration) bool { return !m.AppliedAt.IsZero() }) {
		t.Errorf("an empty database has %v, %v", list, err)
	}
	if n := ask[int](at(t, address), "select count(*) from pg_namespace where nspname = 'recoup'"); n != 0 {
		t.Error("asking made a schema")
	}
	_, err = postgres.Open(t.Context(), address, postgres.Options{})
	if err == nil || !strings.Contains(err.Error(), "run recoup migrate") {
		t.Errorf("opened: %v", err)
	}
}

// A binary that is older than the schema leaves it alone.
func TestSchemaNewer(t *testing.T) {
	t.Parallel()
	address, _ := pgtest.Migrated(t)
	at(t, address).run("insert into recoup.schema_version (version_id, is_applied) values (9999, true)")
	_, openErr := postgres.Open(t.Context(), address, postgres.Options{})
	_, statusErr := postgres.Status(t.Context(), address, "")
	for verb, err := range map[string]error{"migrate": postgres.Migrate(t.Context(), address), "open": openErr, "status": statusErr} {
		if !errors.Is(err, store.ErrSchemaNewer) || !strings.Contains(err.Error(), "9999") {
			t.Errorf("%s: %v", verb, err)
		}
	}
}

// A node starts on a schema that is newer than its binary if what was added says that it
// needs no more than the binary knows; only nodes do, so that an older binary neither migrates
// nor grants.
func TestSchemaBeside(t *testing.T) {
	t.Parallel()
	address, app := pgtest.Migrated(t)
	owner := at(t, address)
	latest := ask[int64](owner, "select max(version_id) from recoup.schema_version")
	owner.run("insert into recoup.schema_version (version_id, is_applied) values (9998, true), (9999, true)")
	for _, row := range []struct {
		needs int64
		opens bool
	}{{latest, true}, {latest - 1, true}, {latest + 1, false}} {
		owner.run(fmt.Sprintf("delete from recoup.schema_needs where version > %[1]d; insert into recoup.schema_needs values (9998, %[1]d), (9999, %[2]d)", latest, row.needs))
		s, err := postgres.Open(t.Context(), app, postgres.Options{})
		if err == nil {
			err = s.Close()
		}
		if opens := err == nil; opens != row.opens || !opens && !errors.Is(err, store.ErrSchemaNewer) {
			t.Errorf("a schema that needs %d, on a binary of %d: %v", row.needs, latest, err)
		}
		if err := postgres.Migrate(t.Context(), address); !errors.Is(err, store.ErrSchemaNewer) {
			t.Errorf("an older binary migrated: %v", err)
		}
	}
}

// A role that created ours before the migration may grant them to itself from PostgreSQL 16 on.
// Migrations and the doctor name it, and the statement that ends it.
func TestAdminsOfRolesAreNamed(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, pgtest.Options{})
	address := server.New(t)
	server.Admin(t, "create role mallory login createrole", "create role team", "create role dba login superuser")
	mallory := at(t, as(t, address, "mallory", ""))
	mallory.run("create role recoup_app login; create role recoup_reader login")
	old := ask[int](mallory, "select current_setting('server_version_num')::int") < 160000
	if old {
		server.Admin(t, "grant recoup_app, recoup_reader to mallory with admin option")
	}
	must(t, postgres.Migrate(t.Context(), address))
	server.Admin(t, "grant recoup_app to recoup_owner with admin option", "grant recoup_app to team with admin option", "grant team to recoup_owner", "grant recoup_app to dba with admin option")
	list, err := postgres.RoleAdmins(t.Context(), address)
	must(t, err)
	facts, err := open(t, address).Inspect(t.Context(), store.Inspection{})
	must(t, err)
	if len(list) != 2 || list[0].Admin != "mallory" || list[0].Role != "recoup_app" || list[1].Admin != "mallory" || list[1].Role != "recoup_reader" || !slices.Equal(list, facts.Server.RoleAdmins) {
		t.Fatalf("migrations name %v, the doctor %v", list, facts.Server.RoleAdmins)
	}
	for _, a := range list {
		server.Admin(t, a.Revoke)
	}
	if !old && mallory.sqlState("grant recoup_app to mallory") != privilege { // an older server lets every role with CREATEROLE do so
		t.Error("mallory grants himself recoup_app")
	}
	list, err = postgres.RoleAdmins(t.Context(), address)
	if must(t, err); len(list) != 0 {
		t.Errorf("left: %v", list)
	}
}

func as(t *testing.T, address, role, database string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.User(role)
	if database != "" {
		u.Path = database
	}
	return u.String()
}

// A migration that finds a table locked lets others through and tries again.
func TestMigrateTriesAgain(t *testing.T) {
	t.Parallel()
	address, _ := pgtest.Migrated(t)
	holder, watcher := at(t, address), at(t, address)
	holder.run("begin; lock table recoup.schema_version in access exclusive mode")
	done := make(chan error, 1)
	go func() { done <- postgres.Migrate(t.Context(), address) }()
	// It waits, gives up, and waits again: by then it is another wait.
	first := watcher.waiting("")
	watcher.waiting(first)
	holder.run("rollback")
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// waiting returns when a session waits for a lock, since another time than the
// one given, and says since when.
func (p prompt) waiting(not string) string {
	p.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		since := ask[*string](p, `select min(query_start)::text from pg_stat_activity
			where datname = current_database() and wait_event_type = 'Lock'`)
		if since != nil && *since != not {
			return *since
		}
		select {
		case <-tick.C:
		case <-p.Context().Done():
			p.Fatal("nobody waits")
		}
	}
}

// A database whose migrations had another text than this binary's, as unreleased builds
// have had them, is refused before anything is changed, with what it is and the way on.
func TestForeignSchema(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]string{
		"another text": "update recoup.schema_checksum set sum = repeat('0', 64) where version = 3",
		"an older set": "drop table recoup.schema_checksum; delete from recoup.schema_version where version_id > 14",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, _ := pgtest.Migrated(t)
			owner := at(t, address)
			owner.run(change)
			const picture = `select string_agg(x, '|' order by x) from (select oid::regclass::text || relnatts as x from pg_class
				union all select oid::regprocedure::text from pg_proc union all select v::text from recoup.schema_version v) p`
			before := ask[string](owner, picture)
			_, openErr := postgres.Open(t.Context(), address, postgres.Options{})
			_, statusErr := postgres.Status(t.Context(), address, "")
			for verb, err := range map[string]error{"migrate": postgres.Migrate(t.Context(), address), "open": openErr, "status": statusErr} {
				if !errors.Is(err, store.ErrSchemaForeign) || !strings.Contains(err.Error(), "start this binary on an empty database") {
					t.Errorf("%s: %v", verb, err)
				}
			}
			if ask[string](owner, picture) != before {
				t.Error("something was changed all the same")
			}
		})
	}
}
