package api_test

import (
	"net/http"
	"testing"
	"time"

	"recoup/client"
)

// What happened is counted by the hour, hours in which nothing did too, of the tables that
// the caller may see.
func TestSeries(t *testing.T) {
	t.Parallel()
	worlds(t, func(w *world) {
		w.said(dol, "a")
		w.said(people, "a")
		w.wait(2 * time.Hour)
		w.said(dol, "b")
		if err := w.store.FoldActivity(w.Context()); err != nil {
			w.Fatal(err)
		}
		for query, want := range map[string][]int64{"hours=4": {0, 2, 0, 1}, "hours=3&table=" + dol: {1, 0, 1}, "hours=2&hub=" + peopleHub: {0, 0}, "hours=3&hub=" + peopleHub: {1, 0, 0}, "hours=3&hub=" + peopleHub + "&table=" + dol: {0, 0, 0}} {
			w.wantSeries("admin", query, want)
		}
		w.wantSeries("reader"+onlyDOL, "hours=3", []int64{1, 0, 1})
		w.get("/v1/series?hours=169").invalid("hours", "range")
		var day client.Series
		if w.get("/v1/series").ok(&day); len(day.Hours) != 24 || !day.Hours[23].Hour.Equal(w.clock().UTC().Truncate(time.Hour)) {
			w.Errorf("a day has %d hours and ends at %v", len(day.Hours), day.Hours[len(day.Hours)-1].Hour)
		}
	})
}

func (w *world) wantSeries(key, query string, want []int64) {
	w.Helper()
	var got client.Series
	w.do(key, http.MethodGet, "/v1/series?"+query, nil).ok(&got)
	if len(got.Hours) != len(want) {
		w.Fatalf("%s has %d hours", query, len(got.Hours))
	}
	for i, n := range want {
		if got.Hours[i].Reported != n {
			w.Errorf("%s: in hour %d %d were reported, want %d", query, i, got.Hours[i].Reported, n)
		}
	}
}
