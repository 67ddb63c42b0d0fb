package api_test

import (
	crypto "crypto/rand"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/alert"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// firing reports whether a rule fires for a hub, once a leader has evaluated the rules.
func (w *world) firing(rule, hub string) bool {
	w.Helper()
	w.run("counts")
	term, held, err := w.store.Lead(w.Context(), store.Bid{Name: "test", Node: "test", Now: w.clock(), Tenure: time.Minute})
	if err != nil || !held {
		w.Fatal(held, err)
	}
	rules := alert.Evaluator{Store: w.store, Policies: policy.Default, Codes: fault.Default, Now: w.clock, IDs: recoup.NewIDSource(crypto.Reader)}
	if _, err := rules.Run(w.Context(), term); err != nil {
		w.Fatal(err)
	}
	var page wire.AlertPage
	w.get("/v1/alerts?state=FIRING&limit=1000").ok(&page)
	return slices.ContainsFunc(page.Alerts, func(a wire.Alert) bool { return a.Rule == rule && a.Scope == hub })
}

// parkedAgain parks an error and sends it back so many times, and leaves it parked.
func (w *world) parkedAgain(e recoup.Error, times int) {
	w.Helper()
	for range times - 1 {
		w.act(e, "park", recoup.Act{})
		w.wait(time.Minute)
		w.act(e, "unpark", recoup.Act{})
	}
	w.act(e, "park", recoup.Act{})
}

// Spec 000, 11.1: park_rate is a share of errors. An error that is parked again and
// again is one parked error.
func TestParkRateCountsErrors(t *testing.T) {
	onBothStores(t, func(w *world) {
		w.parkedAgain(w.reports(4, people, "NETWORK_TIMEOUT")[0], 6)
		if m := w.metric("park_rate", peopleHub); m.Value != .25 || m.Samples != 4 {
			w.Errorf("park_rate of one error in four is %+v", m)
		}
	})
}

// Spec 000, 11.2: errors that are still parked count, however long ago that was.
func TestParkRateOfWaitingErrors(t *testing.T) {
	onBothStores(t, func(w *world) {
		w.reports(30, people, "MISSING_NAME")
		w.wait(2 * day)
		if m := w.metric("park_rate", peopleHub); m.Value != 1 || m.Samples != 30 || !m.Above {
			w.Errorf("park_rate of 30 parked errors is %+v", m)
		}
		if !w.firing("park-rate", peopleHub) {
			w.Error("park-rate does not fire")
		}
	})
}

// Spec 000, 9.1: the threshold of 50 a day is of errors, not of parks.
func TestParkThresholdCountsErrors(t *testing.T) {
	onBothStores(t, func(w *world) {
		list := w.reports(51, dol, "NETWORK_TIMEOUT")
		for _, e := range list[:26] {
			w.parkedAgain(e, 2)
		}
		if m := w.metric("parked_today", dolHub); m.Value != 26 || w.firing("dol-park-threshold", dolHub) {
			w.Errorf("26 errors were parked twice: %+v", m)
		}
		for _, e := range list[26:] {
			w.act(e, "park", recoup.Act{})
		}
		if m := w.metric("parked_today", dolHub); m.Value != 51 || !w.firing("dol-park-threshold", dolHub) {
			w.Errorf("51 errors were parked: %+v", m)
		}
		w.wait(day)
		if m := w.metric("parked_today", dolHub); m.Value != 0 {
			w.Errorf("on the next day: %+v", m)
		}
	})
}

// Spec 000, 11.1: an error that is escalated, or exhausted, more than once counts once, also
// if it was parked, or first retried, before the window.
func TestRatesAreShares(t *testing.T) {
	onBothStores(t, func(w *world) {
		list := w.reports(20, people, "MISSING_NAME")
		w.wait(30 * time.Hour)
		for range 3 {
			e := list[0]
			w.act(e, "escalate", recoup.Act{})
			w.act(e, "unpark", recoup.Act{})
			w.act(e, "park", recoup.Act{})
		}
		if m := w.metric("escalation_rate", peopleHub); m.Value != .05 || m.Samples != 20 {
			w.Errorf("one of 20 parked errors was escalated three times: %+v", m)
		}
	})
}

func TestExhaustionAfterTheWindow(t *testing.T) {
	onBothStores(t, func(w *world) {
		e := w.reports(1, people, "PATTERN_NOT_FOUND")[0]
		for i := range 3 {
			w.wait(26 * time.Hour)
			for _, c := range w.claimNow(people) {
				w.post("/v1/retries/"+c.ID.String()+"/fail", recoup.RetryResult{LeaseToken: c.LeaseToken, Code: "PATTERN_NOT_FOUND"}).ok()
			}
			if m := w.metric("retry_exhaustion_rate", peopleHub); m.Samples != 1 || m.Value != float64(i/2) {
				w.Errorf("after retry %d of %s: %+v", i+1, e.ID, m)
			}
		}
	})
}

// life is what the history says of an error, and of those whose place it took.
type life struct {
	rows []recoup.Transition
	max  int // retries
}

// during reports whether the error was in one of some states at any time of a window that ends now.
func (l *life) during(from time.Time, states ...recoup.State) bool {
	for i, h := range l.rows {
		over := i+1 < len(l.rows) && l.rows[i+1].At.Before(from)
		if slices.Contains(states, h.After.State) && !over {
			return true
		}
	}
	return false
}

// happened reports whether something happened from a moment on, given what the error was before.
func (l *life) happened(from time.Time, what func(was recoup.Snapshot, h *recoup.Transition) bool) bool {
	var was recoup.Snapshot
	for i := range l.rows {
		h := &l.rows[i]
		if !h.At.Before(from) && what(was, h) {
			return true
		}
		was = h.After
	}
	return false
}

// lives reads the history of every error of a table. A repeat is no error of its own.
func (w *world) lives(table string) (list []life) {
	w.Helper()
	var open, over recoup.ErrorPage
	w.get("/v1/errors?limit=1000&table=" + table).ok(&open)
	w.get("/v1/errors/archived?limit=1000&table=" + table).ok(&over)
	next, all := map[recoup.ID]recoup.ID{}, map[recoup.ID]*life{}
	for _, e := range append(open.Errors, over.Errors...) {
		var h recoup.ErrorHistory
		w.get("/v1/errors/" + e.ID.String() + "/history").ok(&h)
		all[e.ID] = &life{h.Transitions, e.MaxRetries}
		if !e.SupersededBy.IsZero() {
			next[e.ID] = e.SupersededBy
			all[e.ID].rows = h.Transitions[:len(h.Transitions)-1]
		}
	}
	for older, last := range next {
		for !next[last].IsZero() {
			last = next[last]
		}
		all[last].rows = append(all[last].rows, all[older].rows...)
	}
	for id, l := range all {
		if next[id].IsZero() {
			slices.SortStableFunc(l.rows, func(a, b recoup.Transition) int { return a.At.Compare(b.At) })
			list = append(list, *l)
		}
	}
	return list
}

// figure is a metric as the history has it.
type figure struct{ part, whole int64 }

func (f *figure) add(part, whole bool) {
	if part {
		f.part++
	}
	if whole {
		f.whole++
	}
}

func isParked(s recoup.State) bool { return s == recoup.Parked || s == recoup.Escalated }

// figures recomputes the metrics of a table from the history of its errors, over a day whose
// beginning is rounded up to the minute.
func (w *world) figures(table string) map[string]figure {
	w.Helper()
	from, midnight := w.clock().Add(-day).Truncate(time.Minute).Add(time.Minute), w.clock().Truncate(day)
	reported := func(_ recoup.Snapshot, h *recoup.Transition) bool { return h.Input == "report" }
	parking := func(was recoup.Snapshot, h *recoup.Transition) bool {
		return !isParked(was.State) && isParked(h.After.State)
	}
	retried := func(was recoup.Snapshot, h *recoup.Transition) bool {
		return was.State == recoup.RetryPending && (h.Input == "succeed" || h.After.RetryCount > was.RetryCount)
	}
	var park, escalation, exhaustion, today figure
	for _, l := range w.lives(table) {
		parked := l.during(from, recoup.Parked, recoup.Escalated)
		park.add(parked, parked || l.happened(from, reported))
		escalation.add(l.during(from, recoup.Escalated), parked)
		exhaustion.add(l.happened(from, func(was recoup.Snapshot, h *recoup.Transition) bool {
			return retried(was, h) && h.Input != "succeed" && h.After.RetryCount == l.max
		}), l.happened(from, retried))
		today.add(l.happened(midnight, parking), false)
	}
	return map[string]figure{"park_rate": park, "escalation_rate": escalation, "retry_exhaustion_rate": exhaustion, "parked_today": today}
}

// Spec 000, 9.1 and 11.1: after any lives of errors, each figure is what the rows say:
// every error counts once, in the window.
func TestFiguresFromRows(t *testing.T) {
	onBothStores(t, func(w *world) {
		draw := rand.New(rand.NewPCG(7, 11))
		w.reports(12, people, "NETWORK_TIMEOUT")
		for range 60 {
			w.wait(time.Duration(draw.IntN(150)) * time.Minute)
			w.live(draw)
			if draw.IntN(3) == 0 {
				w.wantFigures(people, peopleHub)
			}
		}
		w.wait(20 * time.Hour)
		w.wantFigures(people, peopleHub)
	})
}

// live has something happen to one error, or to all that are due.
func (w *world) live(draw *rand.Rand) {
	w.Helper()
	var page recoup.ErrorPage
	w.get("/v1/errors?limit=1000&table=" + people).ok(&page)
	e := page.Errors[draw.IntN(len(page.Errors))]
	switch verb := draw.IntN(8); verb {
	case 0:
		w.reports(1+draw.IntN(3), people, []string{"NETWORK_TIMEOUT", "MISSING_NAME"}[draw.IntN(2)])
	case 1, 2, 3:
		batch := recoup.RetryResultBatch{}
		for _, c := range w.claimNow(people) {
			result := recoup.RetryResult{ErrorID: c.ID, LeaseToken: c.LeaseToken, Outcome: "fail", Code: "NETWORK_TIMEOUT"}
			if draw.IntN(6) == 0 {
				result.Outcome, result.Code = "succeed", ""
			}
			batch.Results = append(batch.Results, result)
		}
		if len(batch.Results) > 0 {
			w.post("/v1/retries/results", batch).ok()
		}
	case 4: // again
		w.report(people, e.EntityID, func(r *recoup.Report) { r.Code = string(e.Code) })
	default: // what its state does not allow is refused
		name := [][]string{{"park", "resolve"}, {"unpark", "escalate"}}[min(1, len(e.ParkReason))][draw.IntN(2)]
		if verb == 7 && isParked(e.State) {
			name = "archive"
		}
		w.do("operator", http.MethodPost, "/v1/errors/"+e.ID.String()+"/"+name, recoup.Act{Reason: "a test"})
	}
	for _, job := range []string{"leases", "windows", "resolved", "escalation"} {
		w.run(job)
	}
}

func (w *world) wantFigures(table, hub string) {
	w.Helper()
	w.run("counts")
	var all wire.Metrics
	w.get("/v1/stats/metrics").ok(&all)
	for metric, want := range w.figures(table) {
		got := figure{}
		for _, m := range all.Metrics {
			if m.Metric == metric && m.Per == "hub" && m.Scope == hub {
				got = figure{int64(m.Value*float64(m.Samples) + .5), m.Samples}
				if metric == "parked_today" {
					got = figure{int64(m.Value), 0}
				}
			}
		}
		if got != want {
			w.Errorf("%s is %s, the rows say %s", metric, fmt.Sprint(got), fmt.Sprint(want))
		}
	}
}

// Spec 000, 11.1: every error that was reported in the window is one error of park_rate, also
// one that left the park queue before, and one that an import parked.
func TestParkRateOfRepeats(t *testing.T) {
	onBothStores(t, func(w *world) {
		old := w.reports(2, people, "PATTERN_NOT_FOUND")
		for _, e := range old {
			w.act(e, "park", recoup.Act{})
			w.act(e, "unpark", recoup.Act{})
		}
		imported, at := w.entity(), w.clock().Add(-3*day).Format(time.RFC3339)
		w.post("/v1/errors/import", recoup.ErrorLines{
			Format: "csv", Table: people, Lines: "code,created_at,entity_id\nMISSING_NAME," + at + "," + imported + "\n",
		}).ok()
		w.wait(2 * day)
		w.reports(1, people, "PATTERN_NOT_FOUND")
		for _, e := range old {
			w.report(people, e.EntityID, func(r *recoup.Report) { r.Code = string(e.Code) })
		}
		if m := w.metric("park_rate", peopleHub); m.Value != 0 || m.Samples != 3 {
			w.Errorf("park_rate of three errors that are not parked is %+v", m)
		}
		w.report(people, imported, func(r *recoup.Report) { r.Code = "MISSING_NAME" })
		if m := w.metric("park_rate", peopleHub); m.Value != .25 || m.Samples != 4 {
			w.Errorf("park_rate of one parked error of four is %+v", m)
		}
	})
}
