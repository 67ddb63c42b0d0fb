package api_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// forecastOf is what is forecast for a table; nil: nothing.
func (w *world) forecastOf(key, table string) *wire.QueueForecast {
	w.Helper()
	var out wire.Forecast
	w.do(key, http.MethodGet, "/v1/forecast", nil).ok(&out)
	for i := range out.Queues {
		if out.Queues[i].Table == table {
			return &out.Queues[i]
		}
	}
	return nil
}

// A queue that nobody works on grows; once workers outpace what comes, it is said when it
// is empty; and of one that little is known of, that. On both stores.
func TestForecast(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(*testing.T) *world{
		"sqlite": func(t *testing.T) *world { return newWorld(t) }, "postgres": newPostgresWorld, //nolint:thelper // it opens a world
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := open(t)
			if f := w.forecastOf("reader", dol); f == nil || f.Verdict != "empty" {
				t.Errorf("of an empty queue: %+v", f)
			}
			report := func(from, n int) {
				for i := range n {
					w.report(dol, fmt.Sprint("CO-", from+i))
				}
			}
			report(0, 5)
			w.wait(time.Minute)
			if f := w.forecastOf("reader", dol); f == nil || f.Verdict != "too_little_data" || f.Waiting != 5 {
				t.Errorf("of five errors: %+v", f)
			}
			report(5, 35)
			w.wait(time.Minute)
			if f := w.forecastOf("reader", dol); f == nil || f.Verdict != "will_not_drain" || f.NewPerMinute <= 0 || f.DonePerMinute != 0 {
				t.Errorf("of a queue without workers: %+v", f)
			}
			if f := w.forecastOf("reader"+onlyDOL, people); f != nil {
				t.Errorf("a key of another hub sees %+v", f)
			}

			w.wait(2 * time.Hour) // what came is no pace any more
			for range 6 {
				var out recoup.RetryClaimed
				w.post("/v1/retries/claim", recoup.RetryClaim{Tables: []string{dol}, Worker: "w", Limit: 6}).ok(&out)
				for i := range out.Errors {
					w.post("/v1/retries/"+out.Errors[i].ID.String()+"/succeed", object{"lease_token": out.Errors[i].LeaseToken}).ok()
				}
				w.wait(9*time.Minute + 30*time.Second)
			}
			f := w.forecastOf("reader", dol)
			if f == nil || f.Verdict != "drains" || f.Waiting != 4 || f.DonePerMinute < 0.5 || f.NewPerMinute != 0 || !f.EmptyFrom.After(w.clock()) || f.EmptyBy.Before(f.EmptyFrom) {
				t.Errorf("of a queue with workers: %+v", f)
			}
		})
	}
}
