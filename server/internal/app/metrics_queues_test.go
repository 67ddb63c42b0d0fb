package app

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/slice"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// Every node says how many workers claim from a table or a lane, on whichever node, and
// how long what is due has waited for one. A claim that gets nothing counts.
func TestQueueMetrics(t *testing.T) {
	t.Parallel()
	clock, ada := &shifted{}, engine.Caller{Name: "ada"}
	file := "sqlite:" + filepath.Join(t.TempDir(), "recoup.db")
	first, second := openNode(t, file, clock), openNode(t, file, clock)
	scrape := func(want ...string) {
		t.Helper()
		clock.by.Add(int64(slice.FiguresLife))
		rec := httptest.NewRecorder()
		second.metrics.handler().ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		for _, line := range want {
			if !strings.Contains(rec.Body.String(), "\n"+line) {
				t.Errorf("%s is not exported", line)
			}
		}
	}
	const table, lane = `{table="outreach.dol_errors"} `, `{pipeline="images",stage="resize"} `
	scrape("recoup_workers"+table+"0\n", "recoup_due_unclaimed_age_seconds"+table+"0\n")

	for _, worker := range []string{"w1", "w2"} {
		if _, err := first.engine.Claim(t.Context(), ada, recoup.RetryClaim{Worker: worker}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := first.letters.Claim(t.Context(), ada, recoup.WorkClaim{Worker: "w1", Lanes: []recoup.Lane{{Pipeline: "images", Stage: "resize"}}}); err != nil {
		t.Fatal(err)
	}
	scrape("recoup_workers" + table + "0\n") // not written yet
	if err := first.heartbeats.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	scrape("recoup_workers"+table+"2\n", "recoup_work_workers"+lane+"1\n", "recoup_work_due_unclaimed_age_seconds"+lane+"0\n")

	out, err := first.engine.Report(t.Context(), ada, []recoup.Report{{Table: "outreach.dol_errors", EntityID: "c-1", Code: "NETWORK_TIMEOUT"}})
	if err != nil || out[0].Err != nil {
		t.Fatal(err, out)
	}
	clock.by.Add(int64(time.Hour))
	scrape("recoup_workers"+table+"0\n", "recoup_work_workers"+lane+"0\n", "recoup_due_unclaimed_age_seconds"+table+"36")
}

// Lanes beyond the largest share one series.
func TestLargestLanes(t *testing.T) {
	t.Parallel()
	levels := []store.QueueLevel{{Unclaimed: store.Unclaimed{Table: "t"}}}
	begin := time.Date(2026, 2, 2, 0, 0, 0, 0, time.UTC)
	for i := range store.MaxLanes + 3 {
		levels = append(levels, store.QueueLevel{Workers: []string{"w", fmt.Sprint("w", i)},
			Unclaimed: store.Unclaimed{Lane: recoup.Lane{Pipeline: "p", Stage: fmt.Sprint("s", i)}, N: int64(i + 1), Since: begin.Add(time.Duration(i) * time.Second)}})
	}
	got := largestLanes(levels)
	last := got[len(got)-1]
	if len(got) != 1+store.MaxLanes+1 || got[0].Table != "t" || got[1].N != store.MaxLanes+3 {
		t.Errorf("%d are left, the first are %+v", len(got), got[:2])
	}
	if last.Lane.Pipeline != otherKind || last.N != 1+2+3 || !last.Since.Equal(begin) || len(last.Workers) != 4 {
		t.Errorf("the others are %+v", last)
	}
}
