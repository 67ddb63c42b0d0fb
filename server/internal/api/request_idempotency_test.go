package api_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
)

// withoutRepeat is an answer as it was the first time.
func withoutRepeat(t *testing.T, body []byte) string {
	t.Helper()
	var o object
	decodeInto(t, body, &o)
	delete(o, "repeated")
	delete(o, "request_id") // of the request, not of what it asked for
	for _, item := range list(o["items"]) {
		delete(item["result"].(object), "repeated")
	}
	return string(mustJSON(o))
}

func list(v any) []object {
	items, _ := v.([]any)
	var out []object
	for _, item := range items {
		out = append(out, item.(object))
	}
	return out
}

// The same request under the same key is carried out once and answered alike;
// another under it is refused. This holds for every route that says so.
func TestIdempotency(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, rt := range routeInfos() {
		if !rt.Keyed {
			continue
		}
		path, body := examples()[rt.Name()].make(w, dol)
		key := []string{"Idempotency-Key", "once-" + path}
		first := w.do("admin", rt.Method, path, body, key...)
		if first.Code != rt.Status || strings.Contains(first.Body.String(), `"repeated"`) {
			t.Errorf("%s answers %d %s", rt.Name(), first.Code, first.Body)
			continue
		}
		before := w.trace()
		again := w.do("admin", rt.Method, path, body, key...).ok()
		if !strings.Contains(again.Body.String(), `"repeated":true`) || withoutRepeat(t, again.Body.Bytes()) != withoutRepeat(t, first.Body.Bytes()) {
			t.Errorf("%s answers\n%s, and again\n%s", rt.Name(), first.Body, again.Body)
		}
		other := append(mustJSON(body), ' ')
		if got := w.do("admin", rt.Method, path, other, key...); !strings.Contains(got.Body.String(), string(fault.CodeIdempotencyConflict)) {
			t.Errorf("%s takes another request under the same key: %d %s", rt.Name(), got.Code, got.Body)
		}
		if after := w.trace(); after != before {
			t.Errorf("%s was carried out twice", rt.Name())
		}
	}
}

// What cannot be done once does not pretend to be.
func TestNoIdempotency(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, rt := range routeInfos() {
		if rt.Twice {
			path, body := examples()[rt.Name()].make(w, dol)
			before := w.trace()
			w.do("admin", rt.Method, path, body, "Idempotency-Key", "k").invalid("Idempotency-Key", "unsupported")
			if w.trace() != before {
				t.Errorf("%s was carried out", rt.Name())
			}
		}
	}
}

// A hundred who send the same at once make one error and one event.
func TestIdempotencyOfMany(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]func(*testing.T) *world{"sqlite": func(t *testing.T) *world { return newWorld(t) }, "postgres": newPostgresWorld} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := make(t)
			var wait sync.WaitGroup
			ids := newSet[recoup.ID]()
			promotions := newSet[int64]()
			for range 20 {
				report := w.request("ingest", http.MethodPost, "/v1/errors", recoup.Report{Table: dol, EntityID: "CO-1", Code: "TIMEOUT"}, "Idempotency-Key", "k")
				promote := w.request("worker", http.MethodPost, "/v1/promotions", recoup.Promotion{EntityID: "CO-2", Phase: "p"}, "Idempotency-Key", "k")
				wait.Go(func() {
					var out recoup.Reported
					w.send(report).ok(&out)
					ids.add(out.Error.ID)
				})
				wait.Go(func() {
					var out recoup.Promoted
					w.send(promote).ok(&out)
					promotions.add(out.Seq)
				})
			}
			wait.Wait()
			var page recoup.ErrorPage
			w.get("/v1/errors").ok(&page)
			var events recoup.EventPage
			w.get("/v1/events").ok(&events)
			if len(ids.m) != 1 || len(promotions.m) != 1 || len(page.Errors) != 1 || len(events.Events) != 1 {
				t.Errorf("%d ids, %d promotions, %d errors, %d events", len(ids.m), len(promotions.m), len(page.Errors), len(events.Events))
			}
		})
	}
}

type set[T comparable] struct {
	mu sync.Mutex
	m  map[T]bool
}

func newSet[T comparable]() *set[T] { return &set[T]{m: map[T]bool{}} }

func (s *set[T]) add(v T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.m[v] = true
}

// Keys of others are others; a day later a key is new; a bad one is refused.
func TestIdempotencyKeys(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	send := func(key, entity, idempotency string) *answer {
		return w.do(key, http.MethodPost, "/v1/errors", recoup.Report{Table: dol, EntityID: entity, Code: "TIMEOUT"}, "Idempotency-Key", idempotency)
	}
	send("ingest", "CO-1", "k").ok()
	send("worker", "CO-2", "k").ok()
	send("ingest", "CO-2", "k").failed(http.StatusConflict, fault.CodeIdempotencyConflict)
	w.do("ingest", http.MethodPost, "/v1/errors/batch", recoup.ReportBatch{Reports: []recoup.Report{{Table: dol, Code: "TIMEOUT"}}}, "Idempotency-Key", "k").ok()
	w.wait(25 * time.Hour)
	send("ingest", "CO-3", "k").ok()
	for _, bad := range []string{"", strings.Repeat("k", 201), "a\tb", "schlüssel"} {
		send("ingest", "CO-4", bad).invalid("Idempotency-Key", "format")
	}
	r := w.request("ingest", http.MethodPost, "/v1/errors", recoup.Report{Table: dol, Code: "TIMEOUT"})
	r.Header["Idempotency-Key"] = []string{"a", "b"}
	w.send(r).invalid("Idempotency-Key", "format")
}

// Every item of a batch has a receipt of its own, and a refused one leaves none.
func TestIdempotencyOfBatches(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	batch := recoup.ReportBatch{Reports: []recoup.Report{
		{Table: dol, EntityID: "CO-1", Code: "TIMEOUT"}, {Table: dol, EntityID: " CO-2", Code: "TIMEOUT"}, {Table: dol, EntityID: "CO-3", Code: "TIMEOUT"},
	}}
	var answers [2]recoup.ReportedBatch
	for i := range answers {
		w.post("/v1/errors/batch", batch, "Idempotency-Key", "k").ok(&answers[i])
	}
	for i := range batch.Reports {
		first, again := answers[0].Items[i], answers[1].Items[i]
		switch {
		case i == 1 && (first.Failure == nil || again.Failure == nil):
			t.Errorf("item 1 was taken: %+v", again)
		case i != 1 && (again.Result == nil || !again.Result.Repeated || again.Result.Error.ID != first.Result.Error.ID):
			t.Errorf("item %d: %s and %s", i, mustJSON(first), mustJSON(again))
		}
	}
	other := batch
	other.Reports = batch.Reports[:1]
	var conflict recoup.ReportedBatch
	w.post("/v1/errors/batch", other, "Idempotency-Key", "k").ok(&conflict)
	var e fault.Error
	if err := json.Unmarshal(conflict.Items[0].Failure, &e); err != nil || e.Code != fault.CodeIdempotencyConflict {
		t.Errorf("another batch under the same key: %s", mustJSON(conflict))
	}
}
