package app_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"recoup/internal/app"
	"recoup/internal/test/live"
	testnode "recoup/internal/test/node"
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
