package policy_test

import (
	"slices"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/retry"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

func TestMetrics(t *testing.T) { // spec 000, 11.1
	want := map[string]float64{
		"error_rate": 0.05, "park_rate": 0.20, "retry_exhaustion_rate": 0.30,
		"average_ttl_utilization": 0.80, "escalation_rate": 0.10,
		"request_error_rate": 0.05, // spec 001, Alert Thresholds
	}
	seen := 0
	for _, m := range policy.Default().Metrics {
		if m.Threshold != want[m.Name] {
			t.Errorf("%s turns amber at %v, want %v", m.Name, m.Threshold, want[m.Name])
		}
		if m.Threshold > 0 {
			seen++
		}
		if m.Kind == "" || m.Means == "" {
			t.Errorf("%s has no kind or no meaning", m.Name)
		}
	}
	if seen != len(want) {
		t.Errorf("%d thresholds, want %d", seen, len(want))
	}
}

func TestAlerts(t *testing.T) {
	const warning, high, critical = wire.AlertWarning, wire.AlertHigh, wire.AlertCritical
	rows := []policy.Alert{
		// spec 000, 11.2
		{Name: "error-rate", Metric: "error_rate", Value: 0.05, Window: day, Per: "hub", Severity: warning, Action: wire.NotifyHubTeam},
		{Name: "error-rate-high", Metric: "error_rate", Value: 0.10, Window: day, Per: "hub", Severity: high, Action: wire.PageOnCall},
		{Name: "park-rate", Metric: "park_rate", Value: 0.20, Window: day, Per: "hub", Severity: warning, Action: wire.ReviewParkQueue},
		{Name: "parked-errors", Metric: "parked_errors", Value: 1000, Per: "platform", Severity: high, Action: wire.EscalateToPlatform},
		{Name: "blocking-errors", Metric: "blocking_errors", Value: 100, Per: "platform", Severity: critical, Action: wire.PagePlatformOnCall},
		// spec 000, 11.1: thresholds that 11.2 has no rule for
		{Name: "retry-exhaustion", Metric: "retry_exhaustion_rate", Value: 0.30, Window: day, Per: "hub", Severity: warning, Action: wire.NotifyHubTeam},
		{Name: "ttl-utilization", Metric: "average_ttl_utilization", Value: 0.80, Per: "hub", Severity: warning, Action: wire.NotifyHubTeam},
		{Name: "escalation-rate", Metric: "escalation_rate", Value: 0.10, Window: day, Per: "hub", Severity: warning, Action: wire.NotifyHubTeam},
		// spec 001, Alert Thresholds
		{Name: "request-error-rate", Metric: "request_error_rate", Value: 0.05, Window: 5 * time.Minute, Per: "service", Severity: warning, Action: wire.SlackAlert},
		{Name: "database-errors", Metric: "database_errors", Value: 10, Window: time.Minute, Per: "platform", Severity: high, Action: wire.PageOnCall},
		{Name: "external-service-down", Metric: "external_service_errors", Value: 20, Window: 5 * time.Minute, Per: "provider", Severity: high, Action: wire.SwitchProvider},
		// spec 000, 9.1
		{Name: "dol-park-threshold", Metric: "parked_today", Value: 50, Per: "hub", Hub: "dol-filings", Severity: warning, Action: wire.NotifyHubTeam},
		// beyond the specifications: due work that nobody claims
		{Name: "nobody-claims", Metric: "unattended_seconds", Value: 600, Per: "hub", Severity: high, Action: wire.NotifyHubTeam},
	}
	p := policy.Default()
	for i := range rows {
		rows[i].Compare, rows[i].Repeat = policy.Above, 4*time.Hour
	}
	if !slices.Equal(p.Alerts, rows) {
		t.Errorf("alerts are\n%+v\nwant\n%+v", p.Alerts, rows)
	}
	if p.MinSamples != 20 {
		t.Errorf("rates speak from %d samples on, want 20", p.MinSamples)
	}
}

func TestComparisons(t *testing.T) {
	rows := []struct {
		compare            policy.Comparison
		below, equal, more bool
	}{
		{policy.Above, false, false, true},
		{policy.AtLeast, false, true, true},
		{policy.Below, true, false, false},
		{policy.AtMost, true, true, false},
	}
	for _, row := range rows {
		if row.compare.Holds(1, 2) != row.below || row.compare.Holds(2, 2) != row.equal || row.compare.Holds(3, 2) != row.more {
			t.Errorf("%s does not compare as it is written", row.compare)
		}
	}
}

// TestAltitudes compares the policy with package retry, which has the same
// tables for programs that carry no policy.
func TestAltitudes(t *testing.T) {
	p := policy.Default()
	codes := []recoup.Code{"NETWORK_TIMEOUT", "DATABASE_CONNECTION_ERROR", "RATE_LIMIT_EXCEEDED", "VALIDATION_ERROR"}
	if len(p.Requests) != len(codes) {
		t.Errorf("%d codes have retries of their own, want %d", len(p.Requests), len(codes))
	}
	for _, code := range codes {
		samePolicy(t, string(code), p.Registry().Policy(code), retry.Request(code))
	}
	samePolicy(t, "any other code", p.Registry().Policy("UPSTREAM_ERROR"), retry.Request("UPSTREAM_ERROR"))
	samePolicy(t, "stage", p.Stage, retry.Stage())
	samePolicy(t, "gate", retry.Policy{Schedule: p.Gate.Schedule, MaxRetries: p.Gate.MaxAttempts}, retry.Gate())
}

func samePolicy(t *testing.T, what string, got, want retry.Policy) {
	t.Helper()
	if !sameSchedule(got.Schedule, want.Schedule) || got.MaxRetries != want.MaxRetries ||
		got.RetryAfter != want.RetryAfter || got.Ceiling != want.Ceiling {
		t.Errorf("%s is %+v, want %+v", what, got, want)
	}
}

func TestRequestRows(t *testing.T) { // spec 001, Retry Configuration by Error Type
	rows := []struct {
		code       recoup.Code
		attempts   int
		base, cap  time.Duration
		multiplier float64
	}{
		{"NETWORK_TIMEOUT", 5, 100 * time.Millisecond, 5 * time.Second, 1.5},
		{"DATABASE_CONNECTION_ERROR", 3, time.Second, time.Minute, 2},
		{"RATE_LIMIT_EXCEEDED", 3, time.Minute, 15 * time.Minute, 2},
		{"VALIDATION_ERROR", 0, 0, 0, 0},
	}
	for _, row := range rows {
		got := policy.Default().Requests[row.code]
		if got.MaxAttempts != row.attempts || got.BaseDelay() != row.base || got.MaxDelay() != row.cap || got.BackoffMultiplier != row.multiplier {
			t.Errorf("%s is %+v", row.code, got)
		}
	}
}

func TestLedger(t *testing.T) { // spec 003, Governance of details, Operational Notes
	l := policy.Default().Ledger
	want := []policy.Detail{
		{Key: "retryable", Type: "bool"}, {Key: "field", Type: "string"}, {Key: "limit", Type: "int"},
		{Key: "window_sec", Type: "int"}, {Key: "expected_etag", Type: "string"}, {Key: "existing_id", Type: "uuid"},
	}
	if !slices.Equal(l.Details, want) {
		t.Errorf("details may have %v, want %v", l.Details, want)
	}
	if l.MaxValueBytes != 128 || l.MaxBytes != 1024 || l.EventRetention != 90*day || l.RollupRetention != 730*day {
		t.Errorf("the ledger's bounds are %+v", l)
	}
	if p := policy.Default(); p.ReplayRetention != 90*day || p.CheckpointRetention != 30*day {
		t.Errorf("replays are kept for %s, outputs of stages for %s", p.ReplayRetention, p.CheckpointRetention)
	}
}

func TestGate(t *testing.T) { // spec 004, 5, 6 and 8
	g := policy.Default().Gate
	if !slices.Equal(g.Schedule.Steps, []time.Duration{24 * time.Hour, 72 * time.Hour, 168 * time.Hour}) ||
		g.MaxAttempts != 3 || g.RecoveryWindow != 14*day {
		t.Errorf("the gate is %+v", g)
	}
	want := []string{
		"DOMAIN_NOT_FOUND", "DOMAIN_NO_IMPRINT", "NO_LINKEDIN_COMPANY", "STATE_MISMATCH",
		"STATE_AMBIGUOUS", "STATE_MISSING", "API_UNAVAILABLE", "TIMEOUT",
	}
	var got []string
	for _, r := range g.Reasons {
		got = append(got, r.Name)
	}
	if !slices.Equal(got, want) {
		t.Errorf("the gate fails with %v, want %v", got, want)
	}
}
