package postgres_test

import (
	"testing"

	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
)

// A queue of notifications that another session keeps full stops no report in plain SQL. Every loop
// of a node that is notified also polls (app.allLoops).
func TestFullNotificationQueue(t *testing.T) {
	t.Parallel()
	if ask[int](at(t, pgtest.New(t)), "select current_setting('server_version_num')::int") < 170000 {
		t.Skip("needs PostgreSQL 17, where the queue can be made small (max_notify_queue_pages); scripts/postgres-matrix runs it")
	}
	server := pgtest.Start(t, pgtest.Options{Settings: []string{"max_notify_queue_pages=64"}})
	ownerURL, appURL := server.Migrated(t)
	s, owner := open(t, appURL), at(t, ownerURL)
	must(t, s.SyncTables(t.Context(), policy.Default()))
	name := "listener_" + owner.Config().Database
	owner.run("create role " + name + " login")
	listener, sender := role(t, owner, name), role(t, owner, name)
	listener.run("listen flood")
	listener.run("begin")
	ask[int](listener, "select 1")
	for range 200 {
		if _, err := sender.Exec(t.Context(), "select pg_notify('flood', i || repeat('x', 7000)) from generate_series(1, 4) i"); err != nil {
			break
		}
	}
	if used := ask[float64](owner, "select pg_notification_queue_usage()"); used < 0.5 {
		t.Fatalf("the queue is not full: %v", used)
	}
	writer := role(t, owner, "recoup_writer")
	writer.run("insert into outreach.dol_errors (outreach_id, code) values ('CO-1', 'NETWORK_TIMEOUT')")
	listener.run("commit")
}
