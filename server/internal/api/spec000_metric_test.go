package api_test

import (
	"slices"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// reports reports many failures of new entities.
func (w *world) reports(n int, table, code string) (list []recoup.Error) {
	w.Helper()
	var batch recoup.ReportBatch
	for range n {
		batch.Reports = append(batch.Reports, recoup.Report{Table: table, EntityID: w.entity(), Code: code})
	}
	var out recoup.ReportedBatch
	w.post("/v1/errors/batch", batch).ok(&out)
	for _, item := range out.Items {
		list = append(list, item.Result.Error)
	}
	return list
}

// exhaust has workers retry so many errors: the first of them until they are
// spent, the others with success at once.
func (w *world) exhaust(spent, saved int) {
	w.Helper()
	doomed := map[recoup.ID]bool{}
	for i, e := range w.reports(spent+saved, people, "NETWORK_TIMEOUT") {
		doomed[e.ID] = i < spent
	}
	for range 5 {
		var batch recoup.RetryResultBatch
		for _, e := range w.claim(people) {
			result := recoup.RetryResult{ErrorID: e.ID, LeaseToken: e.LeaseToken, Outcome: "succeed"}
			if doomed[e.ID] {
				result.Outcome, result.Code = "fail", "NETWORK_TIMEOUT"
			}
			batch.Results = append(batch.Results, result)
		}
		w.post("/v1/retries/results", batch).ok()
	}
}

// metric reads a metric of a hub.
func (w *world) metric(name, scope string) wire.Metric {
	w.Helper()
	w.run("counts")
	var list wire.Metrics
	w.get("/v1/stats/metrics").ok(&list)
	i := slices.IndexFunc(list.Metrics, func(m wire.Metric) bool { return m.Metric == name && m.Scope == scope })
	if i < 0 {
		w.Fatalf("there is no %s of %s", name, scope)
	}
	return list.Metrics[i]
}

// Spec 000, 11.1: each metric by its definition, up to its threshold and beyond,
// from what workers and people did.
func TestSpec000Metrics(t *testing.T) {
	for _, row := range []struct {
		metric, hub  string
		threshold    float64
		upTo, beyond func(*world)
	}{
		{"error_rate", dolHub, .05, func(w *world) {
			w.post("/v1/processed", recoup.ProcessedBatch{Counts: []recoup.Processed{{Table: dol, Count: 100}}}).ok()
			w.reports(5, dol, "NETWORK_TIMEOUT")
		}, func(w *world) { w.reports(1, dol, "NETWORK_TIMEOUT") }},
		{"park_rate", peopleHub, .20, func(w *world) {
			w.reports(5, people, "MISSING_NAME")
			w.reports(20, people, "NETWORK_TIMEOUT")
		}, func(w *world) { w.reports(1, people, "MISSING_NAME") }},
		{"retry_exhaustion_rate", peopleHub, .30, func(w *world) { w.exhaust(6, 14) }, func(w *world) { w.exhaust(1, 0) }},
		{"average_ttl_utilization", peopleHub, .80, func(w *world) {
			w.reports(1, people, "NETWORK_TIMEOUT")
			w.wait(24 * day)
		}, func(w *world) { w.wait(time.Second) }},
		{"escalation_rate", peopleHub, .10, func(w *world) {
			for _, e := range w.reports(20, people, "MISSING_NAME")[:2] {
				w.act(e, "escalate", recoup.Act{})
			}
		}, func(w *world) { w.act(w.reports(1, people, "MISSING_NAME")[0], "escalate", recoup.Act{}) }},
	} {
		t.Run(row.metric, func(t *testing.T) {
			onBothStores(t, func(w *world) {
				row.upTo(w)
				if m := w.metric(row.metric, row.hub); m.Above || m.Threshold != row.threshold || m.Value != row.threshold {
					w.Errorf("at its threshold it is %+v", m)
				}
				row.beyond(w)
				if m := w.metric(row.metric, row.hub); !m.Above || m.Value <= row.threshold {
					w.Errorf("beyond its threshold it is %+v", m)
				}
			})
		})
	}
}

// Spec 001, monitoring: the share of retries that succeed.
func TestSpec001RetrySuccess(t *testing.T) {
	onBothStores(t, func(w *world) {
		w.exhaust(2, 30) // 10 attempts that failed, 30 that went well
		if m := w.metric("retry_success_rate", peopleHub); m.Value != .75 || m.Samples != 40 {
			w.Errorf("it is %+v", m)
		}
	})
}
