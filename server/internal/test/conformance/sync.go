package conformance

import (
	"errors"
	"testing"

	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// Synced is a store whose policy slices sync with it.
type Synced interface {
	store.TableSyncer
	SQL() sqldb.DB
}

var (
	syncAudits  = sqldb.NewRepository(store.Audits, "audit")
	errSyncBeat = errors.New("cut off")
)

// RunSyncPolicy holds a store to syncing its tables and what slices keep of a policy in one
// transaction: if any part fails, nothing is synced.
func RunSyncPolicy(t *testing.T, s Synced) {
	t.Helper()
	load := func(version string) *policy.Policy {
		p, err := policy.Load("sync", []byte("version: "+version+"\ntables: {app.errors: {default: RETRY, allowed: [RETRY, PARK, ARCHIVE]}}\n"), fault.Default())
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	write := func(tx sqldb.Tx, p *policy.Policy) error {
		return syncAudits.Add(tx, wire.AuditEntry{At: Epoch(), Actor: "slice", Act: "sync", Target: p.Version})
	}
	fail := func(sqldb.Tx, *policy.Policy) error { return errSyncBeat }
	refused := func(tx sqldb.Tx, _ *policy.Policy) error {
		return tx.Do("insert into recoup.audit (act) values (null)")
	}
	if err := s.SyncTables(t.Context(), load("1"), write, write); err != nil {
		t.Fatal(err)
	}
	for name, also := range map[string][]store.SyncPolicy{
		"before it has written": {fail, write}, "after it has written": {write, fail}, "by the database": {write, refused, write},
	} {
		if err := s.SyncTables(t.Context(), load("2"), also...); err == nil {
			t.Errorf("a sync that fails %s succeeded", name)
		}
		wantSynced(t, s.SQL(), name, "1", "1")
	}
	if err := s.SyncTables(t.Context(), load("2"), write); err != nil {
		t.Fatal(err)
	}
	wantSynced(t, s.SQL(), "in the end", "1", "1", "2")
}

// wantSynced says for which versions slices have written rows; the tables are of the last.
func wantSynced(t *testing.T, db sqldb.DB, when string, versions ...string) {
	t.Helper()
	text := sqldb.Fields(func(s *string) []any { return []any{s} })
	rows, err := sqldb.Rows(t.Context(), db, sqldb.NewQuery("", "select target from recoup.audit where act = 'sync' order by seq"), text...)
	tables, other := sqldb.Rows(t.Context(), db, sqldb.NewQuery("", "select policy_version from recoup.error_table where table_name = 'app.errors'"), text...)
	if err = errors.Join(err, other); err != nil {
		t.Fatal(err)
	}
	last := versions[len(versions)-1]
	if len(rows) != len(versions) || rows[len(rows)-1] != last || len(tables) != 1 || tables[0] != last {
		t.Errorf("%s: slices have %v and the tables %v, want %v", when, rows, tables, versions)
	}
}
