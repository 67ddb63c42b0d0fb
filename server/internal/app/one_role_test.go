package app_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup"
	adminapi "github.com/recoup-dev/recoup/server/internal/admin"
	"github.com/recoup-dev/recoup/server/internal/app"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/test/live"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// TestOneRole runs a node as the owner of its database, who may not create roles. The doctor finds that
// and nothing else, from outside and through the server. An administrator creates the roles: the doctor
// asks for a migration, which ends it, and nodes connect as recoup_app.
func TestOneRole(t *testing.T) {
	server := pgtest.Start(t, pgtest.Options{Settings: []string{"fsync=on", "full_page_writes=on", "archive_mode=on", "archive_command=/bin/true"}})
	single := server.OneRole(t)
	execute(t, superuser(single), "revoke create on schema public from public", "grant create on schema public to single") // PUBLIC has it on PostgreSQL 13 and 14
	if applied, err := app.MigrateUp(t.Context(), single, ""); err != nil || len(applied) == 0 {
		t.Fatalf("migrated: %v, %v", applied, err)
	}
	node := live.Start(t, healthy(t, single))
	drive(t, node)
	only := func(found wire.Diagnosis) {
		t.Helper()
		if !found.Healthy() || len(found.Findings) != 1 || found.Findings[0].Check != "roles" || found.Findings[0].Severity != wire.FindingNote {
			t.Fatalf("found %+v", found.Findings)
		}
		for _, want := range []string{"single may not create roles", "Row security is not available", "CREATE ROLE recoup_app LOGIN; CREATE ROLE recoup_writer LOGIN; CREATE ROLE recoup_reader LOGIN"} {
			if f := found.Findings[0]; !strings.Contains(f.Evidence+f.Fix, want) {
				t.Errorf("the finding does not contain %q: %+v", want, f)
			}
		}
	}
	only(examine(t, healthy(t, single)))
	found, err := adminapi.New(node.Client()).System.Doctor(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found.Findings = slices.DeleteFunc(found.Findings, func(f wire.Finding) bool { return f.Check == "channels" }) // of the node
	only(found)

	server.Admin(t, "create role recoup_app login", "create role recoup_writer login", "create role recoup_reader login")
	found = examine(t, healthy(t, single))
	for _, f := range found.Findings {
		if f.Check != "grants" || !strings.Contains(f.Fix, "recoup migrate up") || !f.Safe {
			t.Errorf("before the migration: %+v", f)
		}
	}
	if len(found.Findings) != 3 {
		t.Errorf("%d findings for 3 roles without privileges", len(found.Findings))
	}
	if applied, err := app.MigrateUp(t.Context(), single, ""); err != nil || len(applied) != 0 {
		t.Fatalf("migrated: %v, %v", applied, err)
	}
	if found := examine(t, healthy(t, single)); len(found.Findings) != 0 {
		t.Errorf("after the migration: %+v", found.Findings)
	}
	node.Stop()
	again := live.Start(t, healthy(t, strings.Replace(single, pgtest.Single+"@", "recoup_app@", 1)))
	again.Key = node.Key
	if got, err := again.Client().Report(t.Context(), recoup.Report{Table: "app.errors", EntityID: "order-1", Code: "NETWORK_TIMEOUT", Message: "it failed"}); err != nil {
		t.Errorf("reported to a node of recoup_app: %+v, %v", got, err)
	}
}

// TestOneRoleWithoutSchemas runs a node as a role that owns the schemas recoup and cl and may create no
// other. Errors are governed, and the doctor names the statement that gives each view its place.
func TestOneRoleWithoutSchemas(t *testing.T) {
	server := pgtest.Start(t, pgtest.Options{Settings: []string{"fsync=on", "full_page_writes=on", "archive_mode=on", "archive_command=/bin/true"}})
	single := server.OneRole(t)
	admin := superuser(single)
	execute(t, admin, "revoke create on schema public from public", "create schema recoup authorization single", "create schema cl authorization single")
	name, err := url.Parse(single)
	if err != nil {
		t.Fatal(err)
	}
	execute(t, admin, "alter database "+strings.TrimPrefix(name.Path, "/")+" owner to postgres")
	node := live.Start(t, healthy(t, single))
	drive(t, node)
	found := examine(t, healthy(t, single)).Findings
	for _, f := range found {
		schema, _, _ := strings.Cut(f.Subject, ".")
		want := map[string]string{"app": "'CREATE SCHEMA app AUTHORIZATION single'", "pipeline": "'CREATE SCHEMA pipeline AUTHORIZATION single'", "public": "'GRANT USAGE, CREATE ON SCHEMA public TO single'"}[schema]
		if f.Subject != "one role" && (f.Check != "tables" || want == "" || !strings.Contains(f.Fix, want) || f.Safe) {
			t.Errorf("found %+v", f)
		}
	}
	if len(found) != 7 { // three tables with their archives
		t.Errorf("found %+v", found)
	}
	execute(t, admin, "create schema app authorization single", "create schema pipeline authorization single", "grant create on schema public to single")
	fix(t, healthy(t, single))
	if found := examine(t, healthy(t, single)).Findings; len(found) != 1 {
		t.Errorf("after the schemas were created: %+v", found)
	}
}
