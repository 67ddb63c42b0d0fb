package app_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/app"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// findingsOf are the findings of some checks.
func findingsOf(t *testing.T, o app.Options, checks ...string) (list []wire.Finding) {
	t.Helper()
	for _, f := range examine(t, o).Findings {
		for _, check := range checks {
			if f.Check == check {
				list = append(list, f)
			}
		}
	}
	return list
}

// CREATE for everybody on the schema public, the default of PostgreSQL 13 and 14, is a warning
// with the command that revokes it. --fix does not run it: other programs may depend on it.
func TestDoctorPublicSchema(t *testing.T) {
	t.Parallel()
	base, _ := pgtest.Migrated(t)
	pgtest.HoldToClock(t, base)
	o := healthy(t, base)
	execute(t, superuser(base), "revoke create on schema public from public")
	if found := findingsOf(t, o, "public-schema"); len(found) > 0 {
		t.Errorf("without the privilege it found %+v", found)
	}
	execute(t, superuser(base), "grant create on schema public to public")
	for _, after := range []string{"grant", "--fix"} {
		found := findingsOf(t, o, "public-schema")
		if len(found) != 1 || found[0].Severity != wire.FindingWarning || found[0].Safe || found[0].Subject != "schema public" ||
			!strings.Contains(found[0].Fix, "REVOKE CREATE ON SCHEMA public FROM PUBLIC") || !strings.Contains(found[0].Evidence, "Any role can create functions and operators") {
			t.Errorf("after %s it found %+v", after, found)
		}
		fix(t, o)
	}
}

// Schemas of Recoup, and objects in them, that belong to another role are critical. While the schema
// has such objects nothing in it is read. Objects of an adoption belong to the owner of the adopted
// table.
func TestDoctorOwners(t *testing.T) {
	t.Parallel()
	base, _ := pgtest.Migrated(t)
	pgtest.HoldToClock(t, base)
	o := healthy(t, base)
	if found := findingsOf(t, o, "owners"); len(found) > 0 {
		t.Errorf("at first it found %+v", found)
	}
	execute(t, superuser(base), `create role doctor_mallory; alter schema cl owner to doctor_mallory; alter function cl.refuse(text) owner to doctor_mallory;
		create function recoup.adopted_7_read() returns int language sql as 'select 1'; alter function recoup.adopted_7_read() owner to doctor_mallory;
		insert into recoup.adoption (table_name, source, source_oid, owner, key_columns, mapping, begun_by) values ('a.t', 'a.t', 1, 'doctor_mallory', '{id}', '{}', 'ada');
		create function recoup.adopted_1_read() returns int language sql as 'select 1'; alter function recoup.adopted_1_read() owner to doctor_mallory`)
	for _, want := range [][]string{{"function cl.refuse(text)", "schema cl"}, {"function recoup.adopted_7_read()"}} {
		var subjects []string
		for _, f := range findingsOf(t, o, "owners") {
			subjects = append(subjects, f.Subject)
			if f.Severity != wire.FindingCritical || f.Safe || !strings.Contains(f.Evidence, "It belongs to doctor_mallory and not to recoup_owner") {
				t.Errorf("found %+v", f)
			}
		}
		if !slices.Equal(subjects, want) {
			t.Errorf("found %v, want %v", subjects, want)
		}
		execute(t, superuser(base), "alter schema cl owner to recoup_owner; alter function cl.refuse(text) owner to recoup_owner")
	}
}

// A schema that cannot be read is one finding. Nothing in it is reported as missing or foreign.
func TestDoctorWithoutSchema(t *testing.T) {
	t.Parallel()
	base, _ := pgtest.Migrated(t)
	pgtest.HoldToClock(t, base)
	execute(t, superuser(base), "revoke select on pg_catalog.pg_language from public")
	found := findingsOf(t, healthy(t, base), "unseen", "schema", "triggers", "functions", "constraints", "indexes", "grants")
	if len(found) != 1 || found[0].Severity != wire.FindingWarning || found[0].Subject != "the schema" ||
		found[0].Evidence != "The schema could not be read: this role may not read it; it was not checked." {
		t.Errorf("found %d: %+v", len(found), found)
	}
}
