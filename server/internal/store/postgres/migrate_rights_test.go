package postgres_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/gatezero/gatezerotest"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/postgres"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/test/conformance"
)

// migratedBy migrates a database and returns what its owner is and may do.
func migratedBy(t *testing.T, address string) store.SchemaOwner {
	t.Helper()
	must(t, postgres.Migrate(t.Context(), address))
	owner, err := postgres.ReadSchemaOwner(t.Context(), address)
	must(t, err)
	return owner
}

// TestMigrateWithOneRole migrates as a role that owns the database and may not create roles. Nodes work
// as that role. Once an administrator has created the roles, the next migration grants them what they
// need, with the same privileges as any other installation.
func TestMigrateWithOneRole(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, pgtest.Options{})
	address := server.OneRole(t)
	for range 2 {
		if owner := migratedBy(t, address); !owner.OneRole() || owner.Name != pgtest.Single || len(owner.Missing) != 3 {
			t.Fatalf("got %+v", owner)
		}
	}
	open(t, address)
	single := at(t, address)
	if said := single.sqlState("select recoup.enable_row_security()"); said != "RC001" {
		t.Errorf("row security without the role of nodes: %s", said)
	}
	server.Admin(t, "create role recoup_app login")
	if owner := migratedBy(t, address); owner.OneRole() || len(owner.Missing) != 2 {
		t.Fatalf("after the role of nodes was created: %+v", owner)
	}
	server.Admin(t, "create role recoup_writer login", "create role recoup_reader login")
	migratedBy(t, address)
	open(t, as(t, address, "recoup_app", ""))
	single.run("select recoup.enable_row_security(); select recoup.disable_row_security()")

	regular := server.New(t)
	must(t, postgres.Migrate(t.Context(), regular))
	if got, want := granted(t, address), granted(t, regular); got != want {
		t.Errorf("roles that were created later have other privileges:\n%s\nwant\n%s", got, want)
	}
}

// granted are the privileges in Recoup's schemas, apart from those of owners.
func granted(t *testing.T, address string) string {
	t.Helper()
	facts, err := pgtest.OpenURL(t, address).Inspect(t.Context(), store.Inspection{})
	must(t, err)
	var list strings.Builder
	for _, o := range facts.Present {
		if o.Kind == store.ObjectGrant {
			list.WriteString(o.Name + " " + o.Definition + "\n")
		}
	}
	return list.String()
}

// TestMigrateWithoutTheRightToCreateSchemas refuses a role that may not create the schemas, with the
// statements that an administrator runs. Nothing is changed. Empty schemas that belong to the role are
// enough.
func TestMigrateWithoutTheRightToCreateSchemas(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, pgtest.Options{})
	address := server.OneRole(t)
	name := at(t, address).Config().Database
	admin := at(t, as(t, address, "postgres", ""))
	admin.run("alter database " + name + " owner to postgres")

	refused := func(want string) {
		t.Helper()
		err := postgres.Migrate(t.Context(), address)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Fatalf("got %v, want %q", err, want)
		}
		if n := ask[int](admin, "select count(*) from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname in ('recoup', 'cl')"); n != 0 {
			t.Fatalf("%d relations were created", n)
		}
	}
	refused("single may not create schemas in the database " + name + ", and Recoup needs recoup and cl. Nothing was changed.")
	refused("CREATE SCHEMA recoup AUTHORIZATION single; CREATE SCHEMA cl AUTHORIZATION single;")
	refused("GRANT CREATE ON DATABASE " + name + " TO single;")
	if err := postgres.Migrate(t.Context(), address); !errors.Is(err, postgres.ErrNotOwner) {
		t.Errorf("got %v", err)
	}
	admin.run("create schema recoup; grant create, usage on schema recoup to single; create schema cl authorization single")
	refused("It is empty: an administrator runs alter schema recoup owner to single")
	admin.run("drop schema cl; alter schema recoup owner to single")
	refused("Recoup needs cl. Nothing was changed.")
	admin.run("create schema cl authorization single")
	if owner := migratedBy(t, address); !owner.OneRole() {
		t.Errorf("got %+v", owner)
	}
	open(t, address)

	other := server.OneRole(t)
	name = at(t, other).Config().Database
	admin.run("alter database " + name + " owner to postgres; grant create on database " + name + " to single")
	migratedBy(t, other)
}

// TestConformanceWithOneRole runs the store as nodes do that connect as the owner of the schema, on a
// server without roles of Recoup. The verbs of the service are tried for each change, all verbs in
// make soak.
func TestConformanceWithOneRole(t *testing.T) {
	t.Parallel()
	single := func(t *testing.T) *opened {
		s, url := pgtest.OpenOneRole(t)
		return &opened{Store: s, url: url}
	}
	conformance.RunService(t, func(t *testing.T) conformance.Service { return single(t) })
	t.Run("every verb", func(t *testing.T) {
		if os.Getenv("RECOUP_SOAK") == "" {
			t.Skip("takes minutes: make soak runs this, or RECOUP_SOAK=1")
		}
		conformance.Run(t, func(t *testing.T) conformance.Store { return single(t) })
		conformance.RunLedger(t, func(t *testing.T) conformance.Ledger { return single(t) })
		conformance.RunDeadLetters(t, func(t *testing.T) conformance.DeadLetters { return single(t) })
		gatezerotest.Run(t, func(t *testing.T) gatezerotest.Database { return single(t) })
		conformance.RunAlerts(t, func(t *testing.T) conformance.Alerting { return single(t) })
		conformance.RunTogether(t, func(t *testing.T) conformance.Remembering { return single(t) })
	})
}
