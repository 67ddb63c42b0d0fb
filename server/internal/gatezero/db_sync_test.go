package gatezero_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/gatezero"
	"github.com/recoup-dev/recoup/server/internal/gatezero/gatezerotest"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// synced is a store whose tables and rules of Gate Zero are synced together.
type synced interface {
	store.TableSyncer
	SQL() sqldb.DB
}

// What the guards of Gate Zero go by is synced with the tables of the policy: wherever the
// sync breaks off, the database has the old policy as a whole.
func TestSyncPolicyIsWhole(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		syncWhole(t, openSQLite(t, filepath.Join(t.TempDir(), "recoup.db")), 4)
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		_, app := pgtest.Migrated(t)
		syncWhole(t, pgtest.OpenURL(t, app), 1)
	})
}

func syncWhole(t *testing.T, s synced, writes int) {
	t.Helper()
	must(t, s.SyncTables(t.Context(), policy.Default(), gatezero.SyncPolicy))
	text := strings.NewReplacer("version: "+policy.Default().Version, "version: 99", "waits: [24h, 72h, 168h]", "waits: [1h, 2h, 3h]", "    TIMEOUT: The check", "    DNS_TIMEOUT: The check").
		Replace(string(policy.DefaultFile()))
	next, err := policy.Load("next", []byte(text), fault.Default())
	must(t, err)
	before := rules(t, s.SQL())
	for after := 1; ; after++ {
		broke := false
		err := s.SyncTables(t.Context(), next, gatezerotest.Breaking(gatezero.SyncPolicy, after, &broke))
		if !broke {
			must(t, err)
			if after-1 < writes {
				t.Errorf("%d writes, want at least %d", after-1, writes)
			}
			break
		}
		if got := rules(t, s.SQL()); err == nil || got != before {
			t.Fatalf("after write %d: %v, and there is\n%s\nwhere there was\n%s", after, err, got, before)
		}
	}
	broken := func(sqldb.Tx, *policy.Policy) error { return store.ErrRefused } // of another slice
	third, err := policy.Load("third", []byte(strings.Replace(text, "version: 99", "version: 100", 1)), fault.Default())
	must(t, err)
	now := rules(t, s.SQL())
	if err := s.SyncTables(t.Context(), third, gatezero.SyncPolicy, broken); !errors.Is(err, store.ErrRefused) || rules(t, s.SQL()) != now {
		t.Errorf("with another slice that fails: %v", err)
	}
	if now == before || !strings.Contains(now, "DNS_TIMEOUT") || !strings.Contains(now, "99") {
		t.Errorf("synced is\n%s", now)
	}
}

// rules is what the guards go by, and the version of the tables.
func rules(t *testing.T, db sqldb.DB) string {
	t.Helper()
	text := ""
	for _, q := range []string{
		"select policy_version from recoup.error_table where table_name = 'outreach.dol_errors'",
		db.Dialect().Either("select waits::text || reasons::text || policy_version from cl.gate_zero_policy", "select attempt || ' ' || lasts from gate_zero_wait order by 1"),
		db.Dialect().Either("select 'none'", "select reason from gate_zero_failure order by 1"),
	} {
		rows, err := sqldb.Rows(t.Context(), db, sqldb.NewQuery("", q), sqldb.Fields(func(s *string) []any { return []any{s} })...)
		must(t, err)
		text += fmt.Sprintln(rows)
	}
	return text
}
