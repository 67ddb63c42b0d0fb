package endtoend

import (
	"context"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup/server/internal/test/live"
)

// Reports do not wait for the ledger: while a session locks it, a report is stored and its
// event is written later, once, also if the node is killed before that.
func TestReportWhileTheLedgerIsLocked(t *testing.T) {
	t.Parallel()
	for name, lock := range map[string]string{
		"the table":     "lock table recoup.error_event in access exclusive mode",
		"this month":    "do $$ begin execute format('lock table recoup.error_event_y%sm%s in share mode', to_char(now() at time zone 'UTC', 'YYYY'), to_char(now() at time zone 'UTC', 'MM')); end $$",
		"missing month": "do $$ begin execute format('drop table recoup.error_event_y%sm%s', to_char(now() at time zone 'UTC', 'YYYY'), to_char(now() at time zone 'UTC', 'MM')); end $$; commit; begin; lock table only recoup.error_event in row exclusive mode; lock table recoup.turn_lock in access exclusive mode",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := live.Postgres(t)
			s := newSite(t, d)
			s.start()
			free := holdLock(t, d.Owner, lock)
			for _, entity := range []string{"E-1", "E-2", "E-3"} {
				if got := s.report(entity); got.status != http.StatusCreated {
					t.Fatalf("the report of %s is answered with %d: %s", entity, got.status, got.body)
				}
			}
			s.until("metrics count the late events", func() reply { return s.ask(http.MethodGet, "/metrics", "") }, func(r reply) bool {
				return strings.Contains(r.body, "\nrecoup_ledger_late_events 3\n")
			})
			if got := s.ask(http.MethodGet, "/v1/doctor", ""); !strings.Contains(got.body, "3 events not in the ledger yet, since 20") {
				t.Errorf("the doctor does not report the late events: %s", got.body)
			}
			_ = s.signal(syscall.SIGKILL)
			free()
			s.start()
			s.until("the events are in the ledger", func() reply { return s.ask(http.MethodGet, "/v1/events", "") }, func(r reply) bool {
				return strings.Count(r.body, `"event_id":`) == 3
			})
			s.until("nothing is late", func() reply { return s.ask(http.MethodPost, "/v1/jobs/late-events/run", "{}") }, func(r reply) bool {
				return r.status == http.StatusOK && strings.Contains(r.body, `"rows":0`)
			})
			if got := s.ask(http.MethodGet, "/v1/stats/daily", ""); strings.Count(got.body, `"count":3`) != 1 {
				t.Errorf("the events are not counted once: %s", got.body)
			}
		})
	}
}

// holdLock opens a session that holds a lock until free is called.
func holdLock(t *testing.T, ownerURL, statements string) (free func()) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), ownerURL)
	if err == nil {
		_, err = conn.Exec(t.Context(), "begin; "+statements, pgx.QueryExecModeSimpleProtocol)
	}
	if err != nil {
		t.Fatal(err)
	}
	free = func() { _ = conn.Close(context.Background()) }
	t.Cleanup(free)
	return free
}
