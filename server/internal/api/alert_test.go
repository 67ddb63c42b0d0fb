package api_test

import (
	"crypto/rand"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

func alertExamples(list map[string]example) {
	list["GET /v1/stats/metrics"] = fixed("/v1/stats/metrics", nil, leftOut)
	list["GET /v1/alerts"] = fixed("/v1/alerts?open=true&rule=park-rate", nil, refusedThere)
	list["GET /v1/alerts/{id}"] = example{make: func(w *world, _ string) (string, any) {
		return "/v1/alerts/" + w.alert("park-rate", dolHub).ID.String(), nil
	}}
	list["GET /v1/silences"] = fixed("/v1/silences?past=true", nil, refusedThere)
	list["POST /v1/silences"] = example{make: func(w *world, _ string) (string, any) { return "/v1/silences", w.silence() }}
	list["DELETE /v1/silences/{id}"] = example{make: func(w *world, _ string) (string, any) {
		var made wire.Silence
		w.post("/v1/silences", w.silence()).ok(&made)
		return "/v1/silences/" + made.ID.String(), nil
	}}
	list["GET /v1/providers"] = fixed("/v1/providers", nil, leftOut)
	list["POST /v1/providers/{group}/switch"] = fixed("/v1/providers/email_validation/switch",
		wire.ProviderSwitch{To: "zerobounce", Reason: "a try"}, refusedThere)
}

func (w *world) silence() wire.NewSilence {
	return wire.NewSilence{Rule: "park-rate", Scope: dolHub, Until: w.clock().Add(time.Hour), Reason: "a try"}
}

// alert has a rule fire for a scope, beside the rules' evaluation.
func (w *world) alert(rule, scope string) wire.Alert {
	w.Helper()
	now := w.clock()
	open, err := w.store.OpenAlerts(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	if i := slices.IndexFunc(open, func(a wire.Alert) bool { return a.Rule == rule && a.Scope == scope }); i >= 0 {
		return open[i]
	}
	a := wire.Alert{
		ID: recoup.NewIDSource(rand.Reader).New(now), Rule: rule, Scope: scope, State: wire.AlertFiring,
		Severity: "WARNING", Action: "REVIEW_PARK_QUEUE", Condition: "park_rate > 20% over 24h", Value: .5, Samples: 40, PendingAt: now, FiredAt: now,
	}
	w.save(store.Verdict{Alerts: []wire.Alert{a}})
	return a
}

func (w *world) save(v store.Verdict) {
	w.Helper()
	now := w.clock()
	term, held, err := w.store.Lead(w.Context(), store.Bid{Name: "test", Node: "test", Now: now, Tenure: time.Minute})
	if err != nil || !held {
		w.Fatal(held, err)
	}
	if err := w.store.SaveAlerts(w.Context(), term, now, v); err != nil {
		w.Fatal(err)
	}
}

// Alerts are listed by what they are, and say whether people are notified.
func TestAlerts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.alert("park-rate", dolHub)
	w.wait(time.Second)
	second := w.alert("park-rate", peopleHub)
	w.wait(time.Second)
	over := w.alert("error-rate", dolHub)
	over.State, over.ResolvedAt = wire.AlertResolved, w.clock()
	w.save(store.Verdict{Alerts: []wire.Alert{over}})
	w.post("/v1/silences", w.silence()).ok()
	for query, want := range map[string][]recoup.ID{
		"":                           {over.ID, second.ID, first.ID},
		"?open=true":                 {second.ID, first.ID},
		"?state=RESOLVED":            {over.ID},
		"?state=PENDING":             {},
		"?rule=park-rate":            {second.ID, first.ID},
		"?scope=" + dolHub:           {over.ID, first.ID},
		"?open=true&scope=" + dolHub: {first.ID},
	} {
		var page wire.AlertPage
		w.do("reader", http.MethodGet, "/v1/alerts"+query, nil).ok(&page)
		got := []recoup.ID{}
		for _, a := range page.Alerts {
			got = append(got, a.ID)
			if a.Silenced != (a.ID == first.ID) {
				t.Errorf("silenced: %+v", a)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s lists %v, want %v", query, got, want)
		}
	}
	var page wire.AlertPage
	w.get("/v1/alerts?limit=2").ok(&page)
	w.get("/v1/alerts?limit=2&cursor=" + page.Next).ok(&page)
	if len(page.Alerts) != 1 || page.Alerts[0].ID != first.ID {
		t.Errorf("the second page is %+v", page)
	}
	var one wire.Alert
	w.get("/v1/alerts/" + over.ID.String()).ok(&one)
	if one.State != "RESOLVED" || one.Value != .5 || one.Condition != "park_rate > 20% over 24h" {
		t.Errorf("the alert is %+v", one)
	}
	w.get("/v1/alerts?open=true&state=FIRING").invalid("open", "exclusive")
	w.get("/v1/alerts?state=LOUD").invalid("state", "enum")
	w.get("/v1/alerts/0198c0de-0000-7000-8000-000000000001").failed(http.StatusNotFound, fault.CodeNotFound)
}

func TestSilences(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var made, ended wire.Silence
	w.do("operator", http.MethodPost, "/v1/silences", w.silence()).ok(&made)
	if made.By != "operator" || made.Reason != "a try" || made.Scope != dolHub || !made.Until.Equal(w.clock().Add(time.Hour)) {
		t.Errorf("made %+v", made)
	}
	for _, bad := range []struct {
		change            func(*wire.NewSilence)
		field, constraint string
	}{
		{func(s *wire.NewSilence) { s.Reason = " " }, "reason", "required"},
		{func(s *wire.NewSilence) { s.Until = w.clock() }, "until", "range"},
		{func(s *wire.NewSilence) { s.Until = w.clock().Add(31 * 24 * time.Hour) }, "until", "range"},
		{func(s *wire.NewSilence) { s.Until = time.Time{} }, "until", "range"},
		{func(s *wire.NewSilence) { s.Rule = "park-rat" }, "rule", "known"},
		{func(s *wire.NewSilence) { s.Scope = "dol-filing" }, "scope", "known"},
		{func(s *wire.NewSilence) { s.Rule, s.Scope = "dol-park-threshold", "platform" }, "scope", "known"},
		{func(s *wire.NewSilence) { s.Rule = "parked-errors" }, "scope", "known"}, // it has none
		{func(s *wire.NewSilence) { s.Rule, s.Scope = "", "" }, "rule", "required"},
		{func(s *wire.NewSilence) { s.All = true }, "rule", "required"},
		{func(s *wire.NewSilence) { s.Reason = strings.Repeat("x", 1001) }, "reason", "max_length"},
		{func(s *wire.NewSilence) { s.Scope = "AKIAIOSFODNN7EXAMPLE" }, "scope", "no_secret"},
	} {
		s := w.silence()
		bad.change(&s)
		w.post("/v1/silences", s).invalid(bad.field, bad.constraint)
	}
	var list wire.SilencePage
	w.get("/v1/silences").ok(&list)
	if len(list.Silences) != 1 || list.Silences[0].ID != made.ID {
		t.Fatalf("silences are %+v", list)
	}
	w.wait(time.Minute)
	for range 2 { // the first end stands
		w.do("operator", http.MethodDelete, "/v1/silences/"+made.ID.String(), nil).ok(&ended)
		if ended.EndedBy != "operator" || !ended.EndedAt.Equal(made.At.Add(time.Minute)) {
			t.Errorf("ended %+v", ended)
		}
	}
	w.get("/v1/silences").ok(&list)
	if len(list.Silences) != 0 {
		t.Errorf("silences are %+v", list)
	}
	w.get("/v1/silences?past=true").ok(&list)
	if len(list.Silences) != 1 {
		t.Errorf("past silences are %+v", list)
	}
	w.do("admin", http.MethodDelete, "/v1/silences/0198c0de-0000-7000-8000-000000000001", nil).failed(http.StatusNotFound, fault.CodeNotFound)
	var audit wire.AuditPage
	w.get("/v1/audit?act=" + store.ActSilenceEnd).ok(&audit)
	if len(audit.Entries) != 1 || audit.Entries[0].Target != made.ID.String() {
		t.Errorf("the audit tells %+v", audit)
	}
}

func TestProviders(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	inUse := func() recoup.Provider {
		t.Helper()
		var list recoup.ProviderList
		w.do("ingest"+onlyDOL, http.MethodGet, "/v1/providers", nil).ok(&list)
		if len(list.Providers) != 1 || list.Providers[0].Group != "email_validation" || len(list.Providers[0].Members) != 2 {
			t.Fatalf("providers are %+v", list)
		}
		return list.Providers[0]
	}
	if p := inUse(); p.Active != "millionverifier" || p.By != "" {
		t.Errorf("in use is %+v", p)
	}
	const path = "/v1/providers/email_validation/switch"
	var done recoup.Provider
	for range 2 { // to where it is already
		w.do("operator", http.MethodPost, path, wire.ProviderSwitch{To: "zerobounce", Reason: "too slow"}).ok(&done)
		if p := inUse(); p.Active != "zerobounce" || p.By != "operator" || p.Reason != "too slow" || done.Active != p.Active || !p.AlertID.IsZero() {
			t.Errorf("in use is %+v, answered %+v", p, done)
		}
	}
	w.post(path, wire.ProviderSwitch{To: "neverbounce", Reason: "x"}).invalid("to", "known")
	w.post(path, wire.ProviderSwitch{To: "zerobounce"}).invalid("reason", "required")
	w.post("/v1/providers/sms/switch", wire.ProviderSwitch{To: "x", Reason: "x"}).failed(http.StatusNotFound, fault.CodeNotFound)
	w.post(path, wire.ProviderSwitch{To: "millionverifier", Reason: "as before"}).ok()
	if p := inUse(); p.Active != "millionverifier" {
		t.Errorf("in use is %+v", p)
	}
}

// The metrics of spec 000, 11.1, each beside its threshold, for what the key is for.
func TestMetrics(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 30 {
		w.report(dol, w.entity(), func(r *recoup.Report) {
			if i < 9 {
				r.Code = "DUPLICATE_COMPANY" // which is parked
			}
		})
	}
	w.post("/v1/processed", recoup.ProcessedBatch{Counts: []recoup.Processed{{Table: dol, Count: 1000, Minute: w.clock()}, {Service: "api", Count: 50, Failed: 5, DurationMS: 2500, FailedDurationMS: 1000, Minute: w.clock()}}}).ok()
	find := func(key, metric, scope string) (wire.Metric, bool) {
		var out wire.Metrics
		w.do(key, http.MethodGet, "/v1/stats/metrics", nil).ok(&out)
		i := slices.IndexFunc(out.Metrics, func(m wire.Metric) bool { return m.Metric == metric && m.Scope == scope })
		if i < 0 {
			return wire.Metric{}, false
		}
		return out.Metrics[i], true
	}
	for _, want := range []wire.Metric{
		{Metric: "error_rate", Per: "hub", Scope: dolHub, Hub: dolHub, Value: .03, Samples: 1000, Window: "24h", Threshold: .05},
		{Metric: "park_rate", Per: "hub", Scope: dolHub, Hub: dolHub, Value: .3, Samples: 30, Window: "24h", Threshold: .2, Above: true},
		{Metric: "park_rate", Per: "table", Scope: dol, Hub: dolHub, Value: .3, Samples: 30, Window: "24h", Threshold: .2, Above: true},
		{Metric: "parked_errors", Per: "platform", Value: 9, Samples: 9},
		{Metric: "request_error_rate", Per: "service", Scope: "api", Value: .1, Samples: 50, Window: "5m", Threshold: .05, Above: true},
		{Metric: "request_duration_seconds", Per: "service", Scope: "api", Value: .05, Samples: 50, Window: "5m"},
		{Metric: "failed_request_duration_seconds", Per: "service", Scope: "api", Value: .2, Samples: 5, Window: "5m"},
	} {
		if got, ok := find("reader", want.Metric, want.Scope); !ok || got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	if _, ok := find("reader"+onlyDOL, "park_rate", dol); !ok {
		t.Error("a key for the hub does not see its metrics")
	}
	for metric, scope := range map[string]string{"parked_errors": "", "blocking_errors": peopleHub, "request_error_rate": "api"} {
		if got, ok := find("reader"+onlyDOL, metric, scope); ok {
			t.Errorf("a key for one hub sees %+v", got)
		}
	}
}

// Spec 001, Alert Thresholds: while the alert fires, the metric that its rule compares
// is reported with its threshold and as above it.
func TestRequestErrorRateIsAbove(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.post("/v1/processed", recoup.ProcessedBatch{Counts: []recoup.Processed{{Service: "api", Count: 20, Failed: 2, Minute: w.clock()}}}).ok()
	if m := w.metric("request_error_rate", "api"); !m.Above || m.Threshold != .05 || m.Value != .1 || m.Samples != 20 {
		t.Errorf("10 %% of 20 requests failed, and the figure is %+v", m)
	}
	if !w.firing("request-error-rate", "api") {
		t.Error("the alert does not fire")
	}
	if m := w.metric("parked_errors", ""); m.Above || m.Threshold != 0 {
		t.Errorf("a metric without a threshold is %+v", m)
	}
}
