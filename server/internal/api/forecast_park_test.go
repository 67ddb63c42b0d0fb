package api_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// parkOf is what is forecast for the park queue of a table; nil: nothing.
func (w *world) parkOf(key, table string) *wire.ParkForecast {
	w.Helper()
	if err := w.store.FoldActivity(w.Context()); err != nil {
		w.Fatal(err)
	}
	var out wire.Forecast
	w.do(key, http.MethodGet, "/v1/forecast", nil).ok(&out)
	for i := range out.Park {
		if out.Park[i].Table == table {
			return &out.Park[i]
		}
	}
	return nil
}

// parks parks so many new errors of a table.
func (w *world) parks(table string, n int) (list []recoup.Error) {
	w.Helper()
	for range n {
		e := w.report(table, w.entity())
		w.post("/v1/errors/"+e.ID.String()+"/park", recoup.Act{Reason: "look"}).ok()
		w.get("/v1/errors/" + e.ID.String()).ok(&e)
		list = append(list, e)
	}
	return list
}

// Of a park queue that nobody knows too little is known; once people have worked on it for
// days, it is said which review deadlines are missed, and how many expire first.
func TestForecastOfParkQueue(t *testing.T) {
	t.Parallel()
	worlds(t, func(w *world) {
		if f := w.parkOf("reader", dol); f != nil {
			w.Errorf("of nothing: %+v", f)
		}
		w.parks(people, 1)
		first := w.parks(dol, 2)
		if f := w.parkOf("reader", dol); f == nil || f.Waiting != 2 || f.Reviews.Verdict != "too_little_data" || f.Reviews.Of != 2 || f.Expiries.Verdict != "too_little_data" || f.Overdue != 0 {
			w.Errorf("of a new queue: %+v", f)
		}
		if f := w.parkOf("reader"+onlyDOL, people); f != nil {
			w.Errorf("a key of another hub sees %+v", f)
		}
		for range 4 { // six are parked in a quarter of a day, and two are cleared
			list := w.parks(dol, 6)
			for _, e := range list[:2] {
				w.post("/v1/errors/"+e.ID.String()+"/resolve", recoup.Act{Reason: "done"}).ok()
			}
			w.wait(6 * time.Hour)
		}
		w.wait(time.Hour)
		f := w.parkOf("reader", dol)
		if f == nil || f.Waiting != 18 || f.Verdict != "will_not_drain" || f.ClearedPerDay < 6 || f.ClearedPerDay > 9 || f.NewPerDay < 20 {
			w.Fatalf("after a day: %+v", f)
		}
		if f.Overdue != 6 || !f.OverdueSince.Equal(first[0].ReviewDueAt) {
			w.Errorf("overdue are %d since %v, and the first is due at %v", f.Overdue, f.OverdueSince, first[0].ReviewDueAt)
		}
		if r := f.Reviews; r.Verdict != "will_miss" || r.Of != 12 || r.Fewest < 5 || r.Most > 12 || !r.First.After(w.clock()) {
			w.Errorf("reviews: %+v", r)
		}
		// What is resolved has its expiry until it is archived.
		if e := f.Expiries; e.Verdict != "in_time" || e.Of != 26 {
			w.Errorf("expiries: %+v", e)
		}
		w.wait(first[0].ExpiresAt.Sub(w.clock()) - 8*time.Hour) // nobody has come for weeks
		if e := w.parkOf("reader", dol).Expiries; e.Verdict != "too_little_data" || e.Of != 26 {
			w.Errorf("expiries, without a week that says anything: %+v", e)
		}
		w.parks(dol, 24)
		w.wait(7 * time.Hour)
		w.parks(dol, 1)
		w.wait(7 * time.Hour)
		w.parks(dol, 1)
		w.wait(7 * time.Hour)
		if e := w.parkOf("reader", dol).Expiries; e.Verdict != "will_miss" || e.Fewest != e.Of || !e.First.After(w.clock()) {
			w.Errorf("expiries of a queue that nobody comes to: %+v", e)
		}
	})
}

// The work of a pipeline is done at the pace of its workers, whatever its stages are.
func TestForecastOfPipeline(t *testing.T) {
	t.Parallel()
	worlds(t, func(w *world) {
		w.withPipelines()
		pipeline := func(key, name string) *wire.QueueForecast {
			var out wire.Forecast
			w.do(key, http.MethodGet, "/v1/forecast", nil).ok(&out)
			for i := range out.Queues {
				if out.Queues[i].Pipeline == name {
					return &out.Queues[i]
				}
			}
			return nil
		}
		mine := w.pipeline(dol)
		for i := range 40 {
			w.submit(mine, []string{"fetch", "llm"}[i%2])
		}
		w.wait(time.Minute)
		if f := pipeline("reader", mine); f == nil || f.Verdict != "will_not_drain" || f.Waiting != 40 || f.Due != 40 || f.NewPerMinute <= 0 || f.DonePerMinute != 0 {
			w.Errorf("without workers: %+v", f)
		}
		w.wait(2 * time.Hour)
		for range 6 {
			var out recoup.WorkClaimed
			w.post("/v1/work/claim", recoup.WorkClaim{Lanes: []recoup.Lane{{Pipeline: mine, Stage: "fetch"}, {Pipeline: mine, Stage: "llm"}}, Worker: "w", Limit: 5}).ok(&out)
			for _, held := range out.Work {
				w.post("/v1/work/"+held.WorkID.String()+"/succeed", object{"lease_token": held.LeaseToken}).ok()
			}
			w.wait(9*time.Minute + 30*time.Second)
		}
		f := pipeline("reader"+onlyDOL, mine)
		if f == nil || f.Verdict != "drains" || f.Waiting != 10 || f.DonePerMinute != 0.5 || !f.EmptyFrom.After(w.clock()) || f.EmptyBy.Before(f.EmptyFrom) {
			w.Errorf("with workers: %+v", f)
		}
		w.submit(w.pipeline(people), "fetch")
		var out wire.Forecast
		if w.do("reader"+onlyDOL, http.MethodGet, "/v1/forecast", nil).ok(&out); len(out.Queues) != 2 { // its table, its pipeline
			w.Errorf("a key of a hub sees %+v", out.Queues)
		}
	})
}
