package app_test

import (
	"strings"
	"testing"

	"recoup"
	"recoup/internal/app"
	"recoup/internal/store/postgres/pgtest"
)

// findingsOf are the findings of some checks.
func findingsOf(t *testing.T, o app.Options, checks ...string) (list []recoup.Finding) {
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
		if len(found) != 1 || found[0].Severity != recoup.FindingWarning || found[0].Safe || found[0].Subject != "schema public" ||
			!strings.Contains(found[0].Fix, "REVOKE CREATE ON SCHEMA public FROM PUBLIC") || !strings.Contains(found[0].Evidence, "Any role can create functions and operators") {
			t.Errorf("after %s it found %+v", after, found)
		}
		fix(t, o)
	}
}

// A schema that cannot be read is one finding. Nothing in it is reported as missing or foreign.
func TestDoctorWithoutSchema(t *testing.T) {
	t.Parallel()
	base, _ := pgtest.Migrated(t)
	pgtest.HoldToClock(t, base)
	execute(t, superuser(base), "revoke select on pg_catalog.pg_attrdef from public")
	found := findingsOf(t, healthy(t, base), "unseen", "schema", "triggers", "functions", "constraints", "indexes", "grants")
	if len(found) != 1 || found[0].Severity != recoup.FindingWarning || found[0].Subject != "the schema" ||
		found[0].Evidence != "The schema could not be read: this role may not read it; it was not checked." {
		t.Errorf("found %d: %+v", len(found), found)
	}
}
