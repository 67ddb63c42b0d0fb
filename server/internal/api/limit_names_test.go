package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
)

// A key can make up so many services and lanes a day. Events and counts of more
// stand under one name; work is refused, and other keys are not concerned.
func TestNewNamesPerKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t, limits(httpapi.Limits{Names: 5}))
	send := func(key string, from, to int) recoup.EventsAccepted {
		t.Helper()
		var batch recoup.EventBatch
		for i := from; i < to; i++ {
			batch.Events = append(batch.Events, recoup.Event{Code: "TIMEOUT", Service: fmt.Sprint("svc-", i)})
		}
		var out recoup.EventsAccepted
		w.do(key, http.MethodPost, "/v1/events", batch, "Prefer", "respond-sync").ok(&out)
		if out.Accepted != to-from {
			t.Errorf("of %d events %d are accepted", to-from, out.Accepted)
		}
		return out
	}
	if out := send("ingest", 0, 100); out.Dropped["new_service_limit"] != 95 {
		t.Errorf("dropped %v", out.Dropped)
	}
	if out := send("ingest", 0, 5); out.Dropped != nil { // which are known
		t.Errorf("dropped %v", out.Dropped)
	}
	if out := send("operator", 100, 103); out.Dropped != nil {
		t.Errorf("dropped %v of another key", out.Dropped)
	}
	var page recoup.EventPage
	w.get("/v1/events?service=_other&limit=200").ok(&page)
	if len(page.Events) != 95 {
		t.Errorf("%d events are of other services", len(page.Events))
	}
	var counts []object
	for i := range 50 {
		counts = append(counts, object{"service": fmt.Sprint("api-", i), "count": 10})
	}
	w.do("ingest", http.MethodPost, "/v1/processed", object{"counts": counts}).ok()
	if text := w.get("/metrics").Body.String(); strings.Contains(text, "api-0") || !strings.Contains(text, `recoup_request_error_rate_samples{service="_other",window="5m"} 500`) {
		t.Error("services that may not be made up have series of their own")
	}

	w.wait(24 * time.Hour)
	if out := send("ingest", 200, 205); out.Dropped != nil {
		t.Errorf("on the next day %v is dropped", out.Dropped)
	}
}

// Work in more lanes than a key may make up is refused.
func TestNewLanesPerKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t, limits(httpapi.Limits{Names: 2}))
	submit := func(lane int) []recoup.Item[recoup.WorkItem] {
		t.Helper()
		var out recoup.WorkBatch
		w.do("worker", http.MethodPost, "/v1/work", object{"work": []object{{"work_id": recoup.ID{byte(lane + 1)}, "pipeline": "p", "stage": fmt.Sprint("s", lane)}}}).ok(&out)
		return out.Items
	}
	submit(0)
	submit(1)
	submit(0)
	if _, err := client.Item[recoup.WorkItem](submit(2)[0]).Get(); err == nil || !strings.Contains(err.Error(), string(fault.CodeQuotaExceeded)) {
		t.Errorf("a third lane: %v", err)
	}
}

// The largest services have series of their own, and the others one together, with
// the figures of all of them.
func TestServicesInMetricsAreCapped(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var counts []object
	for i := range 150 {
		counts = append(counts, object{"service": fmt.Sprintf("api-%03d", i), "count": 1000 - i, "failed": 100})
	}
	w.do("ingest", http.MethodPost, "/v1/processed", object{"counts": counts}).ok()
	text := w.get("/metrics").Body.String()
	if n := strings.Count(text, "recoup_request_error_rate_samples{service="); n != 101 {
		t.Errorf("%d services have series of their own", n)
	}
	rest := 0
	for i := 100; i < 150; i++ {
		rest += 1000 - i
	}
	for _, want := range []string{
		`recoup_request_error_rate_samples{service="api-099",window="5m"} 901`,
		fmt.Sprintf(`recoup_request_error_rate_samples{service="_other",window="5m"} %d`, rest),
		fmt.Sprintf(`recoup_request_error_rate{service="_other",window="5m"} %.6f`, 5000/float64(rest))[:60],
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s", want)
		}
	}
}
