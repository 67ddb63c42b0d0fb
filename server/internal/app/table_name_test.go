package app_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup/server/internal/app"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/test/live"
	testnode "github.com/recoup-dev/recoup/server/internal/test/node"
)

// A running node takes a name that has become free, without a restart, and says when
// another is taken, once.
func TestNamesAreFollowed(t *testing.T) {
	t.Parallel()
	d, logs := live.Postgres(t), &testnode.Log{}
	owner, err := pgx.Connect(t.Context(), d.Owner)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = owner.Close(t.Context()) }()
	run := func(sql string) {
		t.Helper()
		if _, err := owner.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	run("create schema outreach; create table outreach.dol_errors (id int)")
	o := app.Options{Database: d.Nodes}
	o.LogTo(logs)
	n := live.Start(t, o)
	run("drop table outreach.dol_errors; drop view people.people_errors; create table people.people_errors (id int)")
	for range 2 {
		if err := n.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	run("do $$ begin perform from outreach.dol_errors; end $$")
	if ready := n.Call("GET", "/readyz", ""); strings.Contains(ready, "outreach.dol_errors") || !strings.Contains(ready, "people.people_errors is not adopted: the name is taken by a table") {
		t.Errorf("readyz says %s", ready)
	}
	for text, want := range map[string]int{"table not adopted": 2, "no longer taken": 1} {
		if got := strings.Count(logs.String(), text); got != want {
			t.Errorf("the log says %q %d times:\n%s", text, got, logs)
		}
	}
}

// A session that has read a view, and keeps its transaction open, stops no node from
// starting, with the policy of before or with another. A view that has to be renewed is
// renewed once that transaction is over.
func TestReadersDoNotStopNodes(t *testing.T) {
	t.Parallel()
	d, logs := live.Postgres(t), &testnode.Log{}
	o := app.Options{Database: d.Nodes, First: []byte("version: 1\ntables:\n  app.errors:\n    ttl: MEDIUM\n")}
	o.LogTo(logs)
	live.Start(t, o).Stop()
	reader, err := pgx.Connect(t.Context(), strings.Replace(d.Nodes, "recoup_app@", "recoup_reader@", 1))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reader.Close(t.Context()) }()
	run := func(sql string) {
		t.Helper()
		if _, err := reader.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	expiry := func() (text string) {
		t.Helper()
		if err := reader.QueryRow(t.Context(), `select pg_get_expr(d.adbin, d.adrelid) from pg_attrdef d join pg_attribute a on a.attrelid = d.adrelid and a.attnum = d.adnum
			where a.attrelid = to_regclass('app.errors') and a.attname = 'expires_at'`).Scan(&text); err != nil {
			t.Fatal(err)
		}
		return text
	}
	run("begin; select count(*) from app.errors")
	live.Start(t, o).Stop()
	if strings.Contains(logs.String(), "not renewed") {
		t.Errorf("a view that is current was to be renewed:\n%s", logs)
	}
	o.Policy = filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(o.Policy, []byte("version: 2\ntables:\n  app.errors:\n    ttl: LONG\n    entity: order_id\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	n := live.Start(t, o)
	if got := expiry(); !strings.Contains(got, "720:00:00") || strings.Count(logs.String(), "view not renewed") != 1 {
		t.Errorf("the view has the default %s; the log says:\n%s", got, logs)
	}
	run("commit")
	for range 2 {
		if err := n.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if got := expiry(); !strings.Contains(got, "2160:00:00") || strings.Count(logs.String(), "view renewed") != 1 {
		t.Errorf("the view has the default %s; the log says:\n%s", got, logs)
	}
	run("select order_id, entity_id from app.errors")
}

// waiting is a store that another session keeps from syncing tables for a while.
type waiting struct {
	app.Store
	left atomic.Int32
}

func (s *waiting) SyncTables(ctx context.Context, p *policy.Policy, also ...store.SyncPolicy) error {
	if s.left.Add(-1) >= 0 {
		return store.ErrSyncDeferred
	}
	return s.Store.SyncTables(ctx, p, also...)
}

// A node whose tables are in the database already starts though they cannot be synced, and
// syncs them later.
func TestSyncIsDeferred(t *testing.T) {
	t.Parallel()
	s, logs := &waiting{Store: openStore(t)}, &testnode.Log{}
	s.left.Store(2)
	o := app.Options{}
	o.LogTo(logs)
	n := live.On(t, s, o)
	for range 3 {
		if err := n.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if left, text := s.left.Load(), logs.String(); left != -1 || strings.Count(text, "tables not synced") != 1 {
		t.Errorf("%d are left; the log says:\n%s", left, text)
	}
}

// A month that objects of others keep from being dropped stops no node from starting.
func TestKeptMonthsDoNotStopNodes(t *testing.T) {
	t.Parallel()
	d, logs := live.Postgres(t), &testnode.Log{}
	pgtest.HoldToClock(t, d.Owner)
	o := app.Options{Database: d.Nodes}
	o.LogTo(logs)
	live.Start(t, o).Stop()
	execute(t, d.Owner, "create table recoup.transition_y2001m01 partition of recoup.transition for values from ('2001-01-01 00:00+00') to ('2001-02-01 00:00+00')",
		"create table recoup.transition_y2001m02 partition of recoup.transition for values from ('2001-02-01 00:00+00') to ('2001-03-01 00:00+00')",
		"create schema shop; create table shop.rows (kept recoup.transition_y2001m01)")
	live.Start(t, o).Stop()
	if !strings.Contains(logs.String(), "old partitions could not be dropped") || !strings.Contains(logs.String(), "recoup.transition_y2001m01: ") || strings.Contains(logs.String(), "transition_y2001m02") {
		t.Errorf("the log says:\n%s", logs)
	}
}
