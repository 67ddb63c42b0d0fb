package app_test

import (
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/app"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/test/live"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// TestDoctorRepairsAdoptions has --fix make the objects of an adoption that has none, and give a copy
// of that database a login role of its own. A user who cannot create roles is told what to do.
func TestDoctorRepairsAdoptions(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, pgtest.Options{})
	base, nodes := server.Migrated(t)
	pgtest.HoldToClock(t, base)
	live.Start(t, healthy(t, nodes)).Stop()
	execute(t, base, "create schema shop", "create table shop.rejects (id bigint primary key, order_id text)", adopted("GOVERNED", "now()"))
	repaired := func(url, evidence string, severity wire.FindingSeverity) {
		t.Helper()
		found := findingsOf(t, healthy(t, url), "adoptions")
		if len(found) != 1 || !strings.Contains(found[0].Evidence, evidence) || found[0].Severity != severity || !found[0].Safe || found[0].Subject != "shop.rejects" {
			t.Fatalf("found %+v", found)
		}
		fix(t, healthy(t, url))
		if left := findingsOf(t, healthy(t, url), "adoptions"); len(left) > 0 {
			t.Errorf("after --fix it found %+v", left)
		}
		execute(t, url, "insert into shop.rejects (id, order_id) select count(*), 'o' from shop.rejects", "do $$ begin assert exists (select from recoup.adopted_change where numbers is not null); end $$")
	}
	repaired(base, "adopted_1_insert on shop.rejects", wire.FindingCritical)
	copied := server.Copy(t, base)
	execute(t, superuser(copied), "alter role recoup_owner nocreaterole")
	d, err := app.OpenDoctor(t.Context(), healthy(t, copied))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Fix(t.Context()); err == nil || !strings.Contains(err.Error(), "run ALTER ROLE recoup_owner CREATEROLE as an administrator") {
		t.Errorf("without the right to create roles: %v", err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	execute(t, superuser(copied), "alter role recoup_owner createrole")
	repaired(copied, "was created for another database, of which this one is a copy", wire.FindingWarning)
	if left := findingsOf(t, healthy(t, base), "adoptions"); len(left) > 0 {
		t.Errorf("the original has %+v", left)
	}
}
