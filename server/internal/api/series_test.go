package api_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/wire"
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
		var day wire.Series
		if w.get("/v1/series").ok(&day); len(day.Hours) != 24 || !day.Hours[23].Hour.Equal(w.clock().UTC().Truncate(time.Hour)) {
			w.Errorf("a day has %d hours and ends at %v", len(day.Hours), day.Hours[len(day.Hours)-1].Hour)
		}
	})
}

func (w *world) wantSeries(key, query string, want []int64) {
	w.Helper()
	var got wire.Series
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

// A series of a code has its events and its reports, and one of everything what people did, how
// many were parked at the end of each hour, and the rules that compare that.
func TestSeriesOfCodeAndPeople(t *testing.T) {
	t.Parallel()
	worlds(t, func(w *world) {
		list := w.parks(dol, 3)
		w.wait(time.Hour)
		w.post("/v1/errors/"+list[0].ID.String()+"/resolve", recoup.Act{Reason: "done"}).ok()
		w.post("/v1/errors/"+list[1].ID.String()+"/unpark", recoup.Act{Reason: "again"}).ok()
		w.report(people, w.entity(), func(r *recoup.Report) { r.Code = "RATE_LIMIT_EXCEEDED" })
		w.wait(time.Hour)
		w.fold()
		if err := w.store.FoldActivity(w.Context()); err != nil {
			w.Fatal(err)
		}
		var all wire.Series
		w.get("/v1/series?hours=3").ok(&all)
		for i, want := range []wire.HourCount{{Events: 3, Reported: 3, Parked: 3, InPark: 3}, {Events: 1, Reported: 1, Resolved: 1, Cleared: 2, Reviewed: 2, InPark: 1}, {InPark: 1}} {
			if want.Hour = all.Hours[i].Hour; all.Hours[i] != want {
				w.Errorf("hour %d is %+v, want %+v", i, all.Hours[i], want)
			}
		}
		if len(all.Thresholds) != 1 || all.Thresholds[0] != (wire.Threshold{Rule: "parked-errors", Figure: "in_park", Compare: ">", Value: 1000, Severity: "HIGH"}) {
			w.Errorf("rules are %+v", all.Thresholds)
		}
		var one wire.Series
		w.get("/v1/series?hours=3&code=RATE_LIMIT_EXCEEDED").ok(&one)
		if h := one.Hours[1]; h.Events != 1 || h.Reported != 1 || one.Hours[0].Reported != 0 || !slices.Equal(one.Counted, []string{"events", "reported"}) || one.Partial {
			w.Errorf("of a code %+v", one)
		}
		var mine wire.Series
		w.do("reader"+onlyDOL, http.MethodGet, "/v1/series?hours=3&code=NETWORK_TIMEOUT", nil).ok(&mine)
		if h := mine.Hours[0]; h.Events != 0 || h.Reported != 3 || !slices.Equal(mine.Counted, []string{"reported"}) {
			w.Errorf("of a code and a hub %+v", mine)
		}
		w.do("reader"+onlyDOL, http.MethodGet, "/v1/series?hours=3", nil).ok(&mine)
		if len(mine.Thresholds) > 0 || mine.Hours[2].InPark != 1 || slices.Contains(mine.Counted, "events") {
			w.Errorf("of a hub %+v", mine)
		}
	})
}
