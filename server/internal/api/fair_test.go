package api_test

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/app"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/turn"
)

// arrivals notes which verbs have reached the store.
type arrivals struct {
	app.Store
	came chan string
}

func (s *arrivals) Report(ctx context.Context, now time.Time, reports []store.Report) ([]store.Outcome, error) {
	s.came <- "report"
	return s.Store.Report(ctx, now, reports)
}

// A key that sends many large batches does not delay the promotion of another: it is answered while
// the batches, which came first, still wait for the one writer of the file.
func TestPromotionPassesBatches(t *testing.T) {
	t.Parallel()
	const batches, items = 8, 300
	s := &arrivals{came: make(chan string, batches)}
	w := newWorld(t, wrapped(func(under app.Store) app.Store { s.Store = under; return s }))
	other := w.otherProcess()
	if _, err := other.ExecContext(t.Context(), `begin immediate`); err != nil {
		t.Fatal(err)
	}
	var running []<-chan *answer
	for b := range batches {
		var batch recoup.ReportBatch
		for i := range items {
			batch.Reports = append(batch.Reports, recoup.Report{Table: dol, EntityID: fmt.Sprintf("B-%d-%d", b, i), Code: "NETWORK_TIMEOUT"})
		}
		running = append(running, w.later("ingest", http.MethodPost, "/v1/errors/batch", batch))
	}
	for range batches {
		<-s.came
	}
	promotion := w.later("worker", http.MethodPost, "/v1/promotions", recoup.Promotion{EntityID: "CO-1", Phase: "p"})
	if _, err := other.ExecContext(t.Context(), `rollback`); err != nil {
		t.Fatal(err)
	}
	(<-promotion).ok()
	var stored int
	if err := other.QueryRowContext(t.Context(), `select count(*) from error`).Scan(&stored); err != nil {
		t.Fatal(err)
	}
	if stored > batches/2*items {
		t.Errorf("%d of %d reports, which another key sent, were stored before the promotion was answered", stored, batches*items)
	}
	for _, r := range running {
		(<-r).ok()
	}
}

// otherProcess opens the file of a world's store as another program does.
func (w *world) otherProcess() *sql.Conn {
	w.Helper()
	db, err := sql.Open("sqlite", "file:"+w.file)
	if err != nil {
		w.Fatal(err)
	}
	conn, err := db.Conn(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() {
		_ = conn.Close()
		_ = db.Close()
	})
	return conn
}

// Of many lists that a key asks for, a few are read at once. The gate and the key itself wait for
// none of them.
func TestListsTakeTurns(t *testing.T) {
	t.Parallel()
	var s stuck
	w := newWorld(t, stick(&s), limits(httpapi.Limits{Reads: 3}))
	w.do("worker", http.MethodGet, "/v1/keys/self", nil).ok()
	var running []<-chan *answer
	for range 12 {
		running = append(running, w.later("reader", http.MethodGet, "/v1/errors/parked", nil))
	}
	<-s.arrived
	<-s.arrived
	w.do("worker", http.MethodGet, "/v1/keys/self", nil).ok()
	gate := w.later("worker", http.MethodGet, "/v1/promotion/CO-1", nil)
	if next := <-s.arrived; next != "gate" {
		t.Errorf("next is a %s: more lists of a key are read at once than there are turns", next)
	}
	close(s.release)
	(<-gate).ok()
	for _, r := range running {
		(<-r).ok()
	}
}

// Many lists of one key leave a turn for another key, and nobody waits for a turn to read one error or
// what is in memory.
func TestListsOfOneKeyLeaveATurn(t *testing.T) {
	t.Parallel()
	var s stuck
	w := newWorld(t, stick(&s), limits(httpapi.Limits{Reads: 3}))
	made := recoup.Reported{}
	reported := w.later("ingest", http.MethodPost, "/v1/errors", recoup.Report{Table: dol, EntityID: "CO-1", Code: "TIMEOUT"})
	<-s.arrived
	s.release <- struct{}{}
	(<-reported).ok(&made)
	var running []<-chan *answer
	for range 12 {
		running = append(running, w.later("reader", http.MethodGet, "/v1/errors/parked", nil))
	}
	<-s.arrived
	<-s.arrived
	w.do("operator", http.MethodGet, "/v1/errors?limit=1", nil).ok()
	for _, path := range []string{"/v1/codes", "/v1/codes/TIMEOUT", "/v1/policy", "/v1/errors/" + made.Error.ID.String()} {
		w.do("reader", http.MethodGet, path, nil).ok()
	}
	w.do("operator", http.MethodGet, "/v1/doctor", nil).ok()
	close(s.release)
	for _, r := range running {
		(<-r).ok()
	}
}

// previewers records how many previews of a key read at once. Each lets others run first.
type previewers struct {
	app.Store
	mu     sync.Mutex
	inside map[recoup.ID]int
	most   int
}

func (s *previewers) read(ctx context.Context) {
	caller, _ := turn.CallerOf(ctx)
	s.add(caller, 1)
	for range 50_000 {
		runtime.Gosched()
	}
	s.add(caller, -1)
}

func (s *previewers) add(caller recoup.ID, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inside[caller] += n
	s.most = max(s.most, s.inside[caller])
}

func (s *previewers) Errors(ctx context.Context, f store.Filter, p sqldb.Page) ([]recoup.Error, sqldb.Cursor, error) {
	s.read(ctx)
	return s.Store.Errors(ctx, f, p)
}

func (s *previewers) Error(ctx context.Context, id recoup.ID) (recoup.Error, error) {
	s.read(ctx)
	return s.Store.Error(ctx, id)
}

func (s *previewers) DeadLetters(ctx context.Context, f store.DeadLetterFilter, p sqldb.Page) ([]store.StagedWork, sqldb.Cursor, error) {
	s.read(ctx)
	return s.Store.DeadLetters(ctx, f, p)
}

// A key has one preview at a time, of whatever kind: a preview looks at thousands of rows.
func TestPreviewsTakeTurns(t *testing.T) {
	t.Parallel()
	s := &previewers{inside: map[recoup.ID]int{}}
	w := newWorld(t, wrapped(func(under app.Store) app.Store { s.Store = under; return s }))
	group := w.withPipelines().letter(recoup.StepRemediated).GroupID.String()
	reason, ids := recoup.Act{Reason: "look"}, []recoup.ID{w.report(dol, w.entity()).ID}
	for _, preview := range []struct {
		path string
		body any
	}{
		{"/v1/errors/review", recoup.BulkAct{Act: reason, IDs: ids, Preview: true}},
		{"/v1/replays/preview", recoup.ReplaySelection{All: true}},
		{"/v1/dead-letter-groups/" + group + "/validate", map[string]any{"idempotent": true, "preview": true}},
		{"/v1/operations", recoup.NewOperation{Act: "review", All: true}},
	} {
		s.most = 0
		var running []<-chan *answer
		for range 4 {
			running = append(running, w.later("operator", http.MethodPost, preview.path, preview.body))
		}
		for _, r := range running {
			(<-r).ok()
		}
		if s.most != 1 {
			t.Errorf("%s: a key has %d previews at once", preview.path, s.most)
		}
	}
}
