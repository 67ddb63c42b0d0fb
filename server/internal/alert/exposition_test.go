package alert_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/alert"
	"github.com/recoup-dev/recoup/server/internal/policy"
)

// Every rule of the policy is a rule of Prometheus, over series that nodes export.
func TestPrometheusRules(t *testing.T) {
	t.Parallel()
	f, err := alert.Load(t.Context(), counted(), policy.Default(), fault.Default(), epoch)
	if err != nil {
		t.Fatal(err)
	}
	exposed := map[string]bool{}
	for _, e := range f.Exposition() {
		exposed[e.Name] = true
		if len(e.Labels) != len(e.Values) || e.Help == "" || math.IsNaN(e.Value) {
			t.Errorf("exposed is %+v", e)
		}
	}
	for _, m := range policy.Default().Metrics {
		if !exposed["recoup_"+m.Name] {
			t.Errorf("%s is not exposed", m.Name)
		}
	}
	file := alert.PrometheusRules(policy.Default())
	recorded := map[string]bool{}
	for _, r := range file.Groups[0].Rules {
		recorded[r.Record] = true
		for _, word := range words(r.Expr) {
			if strings.HasPrefix(word, "recoup_") && !exposed[word] {
				t.Errorf("%s reads %s, which no node tells", r.Record, word)
			}
		}
	}
	alerts := file.Groups[1].Rules
	if len(alerts) != len(policy.Default().Alerts) {
		t.Errorf("of %d rules %d are exported", len(policy.Default().Alerts), len(alerts))
	}
	for _, r := range alerts {
		for _, word := range words(r.Expr) {
			if strings.Contains(word, ":recoup_") && !recorded[word] {
				t.Errorf("%s reads %s, which nobody records", r.Alert, word)
			}
		}
	}
	for _, row := range []struct{ alert, expr string }{
		{"RecoupErrorRateHigh", `hub:recoup_error_rate:mean{window="24h"} > 0.1 and hub:recoup_error_rate_samples:sum{window="24h"} >= 20`},
		{"RecoupBlockingErrors", `platform:recoup_blocking_errors:sum > 100`},
		{"RecoupDolParkThreshold", `hub:recoup_parked_today:sum{hub="dol-filings"} > 50`},
		{"RecoupExternalServiceDown", `provider:recoup_external_service_errors:sum{provider!="",window="5m"} > 20`},
	} {
		i := slices.IndexFunc(alerts, func(r alert.Rule) bool { return r.Alert == row.alert })
		if i < 0 || alerts[i].Expr != row.expr {
			t.Errorf("%s is %+v, want %s", row.alert, alerts, row.expr)
		}
	}
}

func words(expr string) []string {
	return strings.FieldsFunc(expr, func(r rune) bool { return strings.ContainsRune(" (){},*/<>=", r) })
}

// The mean of tables, weighted as the rules do, is the value of their hub.
func TestExposedTablesMakeUpTheirHub(t *testing.T) {
	t.Parallel()
	f, err := alert.Load(t.Context(), counted(), policy.Default(), fault.Default(), epoch)
	if err != nil {
		t.Fatal(err)
	}
	type at struct{ name, hub string }
	part, whole := map[at]float64{}, map[at]float64{}
	values := map[string]float64{}
	for _, e := range f.Exposition() {
		values[e.Name+fmt.Sprint(e.Values)] = e.Value
	}
	for _, e := range f.Exposition() {
		if metric, ok := strings.CutSuffix(e.Name, "_samples"); ok && e.Labels[0] == "hub" {
			part[at{metric, e.Values[0]}] += e.Value * values[metric+fmt.Sprint(e.Values)]
			whole[at{metric, e.Values[0]}] += e.Value
		}
	}
	checked := 0
	for _, r := range f.Readings() {
		k := at{"recoup_" + r.Metric, r.Scope}
		if r.Per != policy.PerHub || whole[k] == 0 {
			continue
		}
		checked++
		if math.Abs(part[k]/whole[k]-r.Value) > 1e-12 {
			t.Errorf("%s of %s is %v, its tables make up %v", r.Metric, r.Scope, r.Value, part[k]/whole[k])
		}
	}
	if checked < 8 {
		t.Errorf("only %d were checked", checked)
	}
}

// What names no provider is exported too, so that the sum is that of all events.
func TestExposedProviders(t *testing.T) {
	t.Parallel()
	f, err := alert.Load(t.Context(), counted(), policy.Default(), fault.Default(), epoch)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, e := range f.Exposition() {
		if e.Name == "recoup_external_service_errors" {
			got[strings.Join(e.Values, " ")] = e.Value
		}
	}
	if want := map[string]float64{"millionverifier 5m": 12, " 5m": 2}; !maps.Equal(got, want) {
		t.Errorf("exported are %v, want %v", got, want)
	}
}

// The thresholds of spec 000, 11.1.
func TestReadings(t *testing.T) {
	t.Parallel()
	f, err := alert.Load(t.Context(), counted(), policy.Default(), fault.Default(), epoch)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		metric, scope string
		threshold     float64
		above, few    bool
	}{
		{"error_rate", "company-target", .05, true, false},
		{"error_rate", "dol-filings", .05, false, false}, // at its threshold
		{"park_rate", "platform", .2, false, true},
		{"escalation_rate", "dol-filings", .1, false, true},
		{"retry_exhaustion_rate", "dol-filings", .3, false, false},
		{"average_ttl_utilization", "dol-filings", .8, false, false},
		{"parked_errors", "people-intelligence", 0, false, false},
	} {
		readings := f.Readings()
		i := slices.IndexFunc(readings, func(r alert.Reading) bool { return r.Metric == row.metric && r.Scope == row.scope })
		if i < 0 {
			t.Errorf("%s of %s is missing", row.metric, row.scope)
			continue
		}
		if r := readings[i]; r.Threshold != row.threshold || r.Above != row.above || r.Few != row.few || r.Hub != row.scope {
			t.Errorf("%s of %s is %+v", row.metric, row.scope, r)
		}
	}
}

// A dashboard's panels do not overlap, and read what is recorded or exported.
func TestGrafanaDashboard(t *testing.T) {
	t.Parallel()
	data, err := json.Marshal(alert.GrafanaDashboard(policy.Default()))
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Panels []struct {
			Title   string
			GridPos struct{ X, Y, W, H int }
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(data, &board); err != nil {
		t.Fatal(err)
	}
	recorded := map[string]bool{}
	for _, r := range alert.PrometheusRules(policy.Default()).Groups[0].Rules {
		recorded[r.Record] = true
	}
	taken := map[[2]int]string{}
	for _, p := range board.Panels {
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" || x >= 24 {
					t.Fatalf("%s lies on %q", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
		if expr := p.Targets[0].Expr; strings.Contains(expr, ":recoup_") && !recorded[expr] {
			t.Errorf("%s reads %s, which nobody records", p.Title, expr)
		}
	}
	if len(board.Panels) < len(policy.Default().Metrics) {
		t.Errorf("there are %d panels", len(board.Panels))
	}
}
