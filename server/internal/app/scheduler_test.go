package app

import (
	"context"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"net/http/httptest"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/scheduler"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// shifted is a clock that can be moved.
type shifted struct{ by atomic.Int64 }

func (s *shifted) now() time.Time { return time.Now().Add(time.Duration(s.by.Load())) }

// One node leads and lets the clock act; the next leads when it resigns, or when
// its term is over. Retention ends what has been kept long enough.
func TestClockwork(t *testing.T) {
	t.Parallel()
	clock := &shifted{}
	file := "sqlite:" + filepath.Join(t.TempDir(), "recoup.db")
	first, second := openNode(t, file, clock), openNode(t, file, clock)
	report := func(entity string) recoup.ID {
		t.Helper()
		out, err := first.engine.Report(t.Context(), engine.Caller{Name: "ada"},
			[]recoup.Report{{Table: "outreach.dol_errors", EntityID: entity, Code: "NETWORK_TIMEOUT"}})
		if err != nil || out[0].Err != nil {
			t.Fatal(err, out)
		}
		return out[0].Error.ID
	}
	state := func(id recoup.ID) recoup.State {
		t.Helper()
		e, err := first.store.Error(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		return e.State
	}
	run := func(n *Node) {
		t.Helper()
		if err := n.jobs.Tick(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	e1 := report("e1")
	run(first)
	if got := state(e1); got != recoup.RetryPending {
		t.Fatalf("before its time it is %s", got)
	}
	if run(second); second.jobs.Leads() || !first.jobs.Leads() {
		t.Fatal("a second node leads")
	}
	clock.by.Store(int64(31 * 24 * time.Hour))
	if run(first); state(e1) != recoup.Archived {
		t.Fatalf("after its TTL it is %s", state(e1))
	}
	e2 := report("e2")
	clock.by.Add(int64(30*24*time.Hour + scheduler.DefaultTenure)) // nobody has led for a term
	if run(second); state(e2) != recoup.Archived {
		t.Error("nobody took over")
	}
	if err := second.resign(t.Context()); err != nil {
		t.Fatal(err)
	}
	clock.by.Add(int64(400 * 24 * time.Hour)) // the archive keeps a year
	run(first)
	left, _, err := first.store.Archived(t.Context(), "outreach.dol_errors", sqldb.Page{})
	if err != nil || len(left) != 0 {
		t.Errorf("%d are left in the archive, %v", len(left), err)
	}
	if retention := policy.Default().Ledger.EventRetention; retention > 400*24*time.Hour {
		t.Fatal("the test waits too little")
	}
	if events, _, err := first.store.Events(t.Context(), store.EventFilter{}, sqldb.Page{}); err != nil || len(events) != 0 {
		t.Errorf("%d events are left, %v", len(events), err)
	}
}

// Every node reports how the jobs go, whoever runs them, and how long the oldest of
// what is to be done has been waiting.
func TestJobMetrics(t *testing.T) {
	t.Parallel()
	clock := &shifted{}
	file := "sqlite:" + filepath.Join(t.TempDir(), "recoup.db")
	first, second := openNode(t, file, clock), openNode(t, file, clock)
	_, err := first.engine.Report(t.Context(), engine.Caller{Name: "ada"},
		[]recoup.Report{{Table: "outreach.dol_errors", EntityID: "e1", Code: "NETWORK_TIMEOUT"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := first.jobs.Tick(t.Context()); err != nil {
		t.Fatal(err)
	}
	clock.by.Store(int64(40 * 24 * time.Hour)) // ten days after its expiry
	read := func(n *Node) string {
		rec := httptest.NewRecorder()
		n.metrics.handler().ServeHTTP(rec, httptest.NewRequest("GET", "/metrics", nil))
		return rec.Body.String()
	}
	for _, want := range []string{
		"recoup_leader 0", `recoup_job_runs_total{job="ttl"} 1`, `recoup_job_late{job="ttl"} 0`, `recoup_oldest_overdue_age_seconds{job="ttl"} 864`,
		`recoup_policy_refused 0`, `recoup_oldest_overdue_age_seconds{job="archive"} 0`,
	} {
		if text := read(second); !strings.Contains(text, want) {
			t.Errorf("the metrics lack %s:\n%s", want, text)
		}
	}
}

// openNode opens a node whose loops do not run.
func openNode(t *testing.T, database string, clock *shifted, change ...func(*Options)) *Node {
	t.Helper()
	o := Options{Database: database, Listen: "127.0.0.1:0", Now: clock.now}
	for _, c := range change {
		c(&o)
	}
	n, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return n
}
