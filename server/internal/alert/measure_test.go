package alert_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/alert"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// The tables of spec 000, by the names the tests use.
const (
	dol    = "outreach.dol_errors"
	target = "outreach.company_target_errors"
	found  = "company.url_discovery_failures"
)

// fixed is a ledger that answers by the length of the span.
type fixed struct {
	activity  map[time.Duration][]store.Activity
	processed map[time.Duration][]store.Processed
	recent    map[time.Duration][]store.RecentCount
	levels    []store.Level
	queues    []store.QueueLevel
	asked     []string
	fail      error
}

// length is that of a span, without the moment that makes it whole.
func length(s store.Span) time.Duration { return s.To.Sub(s.From).Truncate(time.Second) }

func (f *fixed) Activity(_ context.Context, s store.Span) ([]store.Activity, error) {
	f.asked = append(f.asked, "activity "+length(s).String())
	return f.activity[length(s)], f.fail
}

func (f *fixed) Levels(context.Context, time.Time) ([]store.Level, error) { return f.levels, nil }

func (f *fixed) QueueLevels(context.Context, time.Time, []string) ([]store.QueueLevel, error) {
	return f.queues, nil
}

func (f *fixed) RecentEvents(_ context.Context, s store.Span, codes []recoup.Code) ([]store.RecentCount, error) {
	f.asked = append(f.asked, "events "+length(s).String())
	var list []store.RecentCount
	for _, n := range f.recent[length(s)] {
		if slices.Contains(codes, n.Code) {
			list = append(list, n)
		}
	}
	return list, nil
}

func (f *fixed) Processed(_ context.Context, s store.Span, _ store.ProcessedFilter) ([]store.Processed, error) {
	f.asked = append(f.asked, "processed "+length(s).String())
	return f.processed[length(s)], nil
}

const (
	day         = 24 * time.Hour
	fiveMinutes = 5 * time.Minute
)

// counted is a store with something of everything, nine hours into a day.
func counted() *fixed {
	return &fixed{
		activity: map[time.Duration][]store.Activity{
			day: {
				{Table: dol, Reported: 30, Parked: 60, Unparked: 3, NotParked: 27, Deescalated: 2, Attempts: 40, Succeeded: 10, Retried: 20, Exhausted: 5},
				{Table: target, Reported: 10, Parked: 4, Unparked: 3, NotParked: 9},
				{Table: found, Reported: 10, NotParked: 10},
				{Table: "gone.errors", Reported: 5, Parked: 5, Unparked: 5, NotParked: 5},
			},
			9 * time.Hour: {{Table: dol, Parked: 9, LastParked: 2}, {Table: target, LastParked: 1}},
		},
		processed: map[time.Duration][]store.Processed{
			day: {
				{Table: dol, Service: "one", N: 300, Failed: 1}, {Table: dol, Service: "two", N: 300},
				{Table: target, Service: "one", N: 100}, {Service: "api", N: 5000, Failed: 1000},
			},
			fiveMinutes: {{Service: "api", N: 50, Failed: 5, Duration: 25 * time.Second, FailedDuration: 10 * time.Second}, {Service: "web", N: 50}, {Table: dol, Service: "api", N: 900, Failed: 900}},
		},
		recent: map[time.Duration][]store.RecentCount{
			time.Minute: {{Code: "DATABASE_CONNECTION_ERROR", N: 4}, {Code: "STORAGE_FULL", ExternalService: "neon", N: 3}, {Code: "VALIDATION_SERVICE_ERROR", N: 9}},
			fiveMinutes: {{Code: "VALIDATION_SERVICE_ERROR", ExternalService: "millionverifier", N: 12}, {Code: "VALIDATION_SERVICE_ERROR", N: 2}},
		},
		levels: []store.Level{
			{Table: dol, Open: 10, Parked: 3, Escalated: 1, Blocking: 7, Used: 4.5, Expiring: 9},
			{Table: target, Open: 1, Parked: 1, Used: .5, Expiring: 1},
		},
	}
}

// Every metric of the policy, by hub, table, service and provider (spec 000, 11.1;
// spec 001).
func TestMeasure(t *testing.T) {
	t.Parallel()
	f, err := alert.Load(t.Context(), counted(), policy.Default(), fault.Default(), epoch)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		metric  string
		window  time.Duration
		per     policy.Scope
		scope   string
		value   float64
		samples int64
	}{
		{"error_rate", day, policy.PerHub, "dol-filings", .05, 600},
		{"error_rate", day, policy.PerHub, "company-target", .1, 100}, // discovery says nothing of what it has processed
		{"error_rate", day, alert.PerTable, target, .1, 100},
		{"error_rate", day, policy.PerPlatform, "", 40. / 700, 700},
		{"park_rate", day, policy.PerHub, "dol-filings", .2, 30},
		{"park_rate", day, policy.PerHub, "company-target", .2, 20},
		{"park_rate", day, policy.PerHub, "people-intelligence", 0, 0},
		{"park_rate", day, policy.PerHub, "platform", 1, 5}, // what is left of a table that is gone
		{"park_rate", day, alert.PerTable, "gone.errors", 1, 5},
		{"retry_exhaustion_rate", day, policy.PerHub, "dol-filings", .25, 20},
		{"escalation_rate", day, policy.PerHub, "dol-filings", .5, 6},
		{alert.RetrySuccess, day, policy.PerHub, "dol-filings", .25, 40},
		{"average_ttl_utilization", 0, policy.PerHub, "dol-filings", .5, 9},
		{"average_ttl_utilization", 0, policy.PerPlatform, "", .5, 10},
		{"parked_errors", 0, policy.PerPlatform, "", 4, 4},
		{"parked_errors", 0, policy.PerHub, "people-intelligence", 0, 0},
		{"blocking_errors", 0, policy.PerPlatform, "", 7, 7},
		{"parked_today", 0, policy.PerHub, "dol-filings", 2, 2},
		{"request_error_rate", fiveMinutes, policy.PerService, "api", .1, 50},
		{"request_error_rate", fiveMinutes, policy.PerService, "web", 0, 50},
		{"request_error_rate", fiveMinutes, policy.PerPlatform, "", .05, 100},
		{alert.RequestDuration, fiveMinutes, policy.PerService, "api", .5, 50},
		{alert.FailedDuration, fiveMinutes, policy.PerService, "api", 2, 5},
		{alert.FailedDuration, fiveMinutes, policy.PerPlatform, "", 2, 5}, // of others nothing failed
		{"database_errors", time.Minute, policy.PerPlatform, "", 7, 7},
		{"external_service_errors", fiveMinutes, policy.PerProvider, "millionverifier", 12, 12},
		{"external_service_errors", fiveMinutes, policy.PerPlatform, "", 14, 14},
	} {
		list := f.Measure(row.metric, row.window, row.per)
		i := slices.IndexFunc(list, func(s alert.Sample) bool { return s.Scope == row.scope })
		if want := (alert.Sample{Metric: row.metric, Scope: row.scope, Value: row.value, Samples: row.samples}); i < 0 || list[i] != want {
			t.Errorf("%s per %s: %+v, want %+v", row.metric, row.per, list, want)
		}
		if window := alert.Window(policy.Default(), row.metric); window != row.window {
			t.Errorf("%s is measured over %s, want %s", row.metric, window, row.window)
		}
	}
	if list := f.Measure("park_rate", day, policy.PerService); list != nil {
		t.Errorf("no service parks: %+v", list)
	}
	if list := f.Measure("external_service_errors", fiveMinutes, policy.PerProvider); len(list) != 1 {
		t.Errorf("providers without a name: %+v", list)
	}
}

// A rule that names a hub sees no other.
func TestReadOneHub(t *testing.T) {
	t.Parallel()
	f, err := alert.Load(t.Context(), counted(), policy.Default(), fault.Default(), epoch)
	if err != nil {
		t.Fatal(err)
	}
	rule := policy.Alert{Metric: "parked_today", Per: policy.PerHub, Hub: "company-target"}
	if list := f.Read(&rule); len(list) != 1 || list[0].Scope != "company-target" || list[0].Value != 1 {
		t.Errorf("it reads %+v", list)
	}
}

// Each figure is read once, however many rules look at it.
func TestLoadReadsOnce(t *testing.T) {
	t.Parallel()
	from := counted()
	if _, err := alert.Load(t.Context(), from, policy.Default(), fault.Default(), epoch); err != nil {
		t.Fatal(err)
	}
	asked := slices.Sorted(slices.Values(from.asked))
	want := []string{"activity 24h0m0s", "activity 9h0m0s", "events 1m0s", "events 5m0s", "processed 24h0m0s", "processed 5m0s"}
	if !slices.Equal(asked, want) {
		t.Errorf("asked for %q, want %q", asked, want)
	}
	from.fail = errors.New("away")
	if _, err := alert.Load(t.Context(), from, policy.Default(), fault.Default(), epoch); !errors.Is(err, from.fail) {
		t.Errorf("a ledger that is away gives %v", err)
	}
}

// A policy lets rules be counted for what a metric can be measured for, and for
// nothing else.
func TestScopesAreThoseOfThePolicy(t *testing.T) {
	t.Parallel()
	for _, m := range policy.Default().Metrics {
		got := slices.DeleteFunc(alert.Scopes(m.Name), func(s policy.Scope) bool { return s == alert.PerTable })
		if want := policy.CountedPer(m.Name); !slices.Equal(got, want) {
			t.Errorf("%s is measured per %v, and allowed per %v", m.Name, got, want)
		}
	}
}

// What is due and nobody claims is measured by the longest wait of a hub; where a worker
// is alive, it is none, however long the queue.
func TestUnattended(t *testing.T) {
	t.Parallel()
	p := policy.Default()
	waiting := func(q store.QueueLevel, ago time.Duration) store.QueueLevel {
		q.N, q.Since = 3, epoch.Add(-ago)
		return q
	}
	table := func(name string, workers ...string) store.QueueLevel {
		return store.QueueLevel{Unclaimed: store.Unclaimed{Table: name}, Workers: workers}
	}
	from := &fixed{queues: []store.QueueLevel{
		waiting(table("outreach.dol_errors"), 12*time.Minute),
		waiting(table("people.people_errors", "w1"), time.Hour),
		table("outreach.company_target_errors"),
		waiting(store.QueueLevel{Unclaimed: store.Unclaimed{Lane: recoup.Lane{Pipeline: "images", Stage: "resize"}}}, 20*time.Minute),
	}}
	f, err := alert.Load(t.Context(), from, p, fault.Default(), epoch)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, s := range f.Measure(alert.Unattended, 0, policy.PerHub) {
		got[s.Scope] = s.Value
	}
	if got["dol-filings"] != 720 || got["people-intelligence"] != 0 || got["company-target"] != 0 || got[p.PlatformHub.ID] != 1200 {
		t.Errorf("by hub: %v", got)
	}
	if all := f.Measure(alert.Unattended, 0, policy.PerPlatform); len(all) != 1 || all[0].Value != 1200 {
		t.Errorf("in all: %+v", all)
	}
}
