package policy_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/retry"
	"github.com/recoup-dev/recoup/server/internal/alert"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// Another value of a key changes what the program does: the life of errors, their explanation, the
// owner of what hubs share, the registry, alert rules, routes, stages or leases. What needs a node or
// a database is shown by the test that the row names.
func TestEveryKeyChangesSomething(t *testing.T) {
	t.Parallel()
	before := behaviour(t, policy.Whole(t))
	for key, row := range policy.ChangedKeys(t) {
		if row.Policy == nil {
			continue // the value is refused
		}
		same := behaviour(t, row.Policy) == before
		switch {
		case same && row.Shown == "":
			t.Errorf("%s: nothing changes with it, and no test is named that shows its effect", key)
		case !same && row.Shown != "":
			t.Errorf("%s: its effect is seen here, and needs no other test", key)
		case same:
			file, name, _ := strings.Cut(row.Shown, " ")
			text, err := os.ReadFile(filepath.Join("..", "..", "..", file))
			if err != nil || !strings.Contains(string(text), "func "+name+"(") {
				t.Errorf("%s: %s has no test %s (%v)", key, file, name, err)
			}
		}
	}
}

// behaviour writes down what a policy leads to.
func behaviour(t *testing.T, p *policy.Policy) string {
	t.Helper()
	seen := []any{
		lives(p), p.Registry().All(), alert.PrometheusRules(p), alert.GrafanaDashboard(p), p.MinSamples, p.Notifications.Digests,
		p.ServiceHub("dol-sync"), p.PipelineHub("filings").ID, p.ProviderHub("zerobounce"), p.Leases.Length(0), p.Leases.Length(time.Hour),
	}
	for _, a := range p.Alerts {
		seen = append(seen, a)
	}
	for _, team := range []string{"platform-team", "dol-filings-team"} {
		for _, kind := range wire.NoticeKinds() {
			seen = append(seen, p.Notifications.Channels(team, kind, policy.UrgencyOf(kind)))
		}
	}
	for attempt := range 8 {
		for _, asked := range []time.Duration{0, time.Hour} {
			wait, verdict := p.Stage.Next(attempt+1, retry.Failure{Retryable: true, RetryAfter: asked}, func() float64 { return 0.5 })
			seen = append(seen, wait, verdict)
		}
	}
	text, err := json.Marshal(seen)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// lives takes errors of each table from their report to their end, with the explanation of each.
func lives(p *policy.Policy) []string {
	var all []string
	tables := []string{"no.such_table", "outreach.bit_errors"}
	for _, table := range p.Tables() {
		tables = append(tables, table.Name)
	}
	for _, table := range tables {
		for _, severity := range recoup.Severities() {
			all = append(all, life(p, table, "NETWORK_TIMEOUT", severity, "CO-1"))
		}
		for _, code := range []recoup.Code{"RATE_LIMIT_EXCEEDED", "EIN_MISMATCH", "MISSING_NAME", "DOMAIN_NOT_FOUND", "VALIDATION_ERROR", "CARD_DECLINED"} {
			all = append(all, life(p, table, code, recoup.Medium, "CO-1"))
		}
		all = append(all, life(p, table, "NETWORK_TIMEOUT", recoup.Medium, ""))
	}
	return all
}

// life is one error that fails until it is parked, escalates and expires.
func life(p *policy.Policy, table string, code recoup.Code, severity recoup.Severity, entity string) string {
	var b strings.Builder
	def, _ := p.Registry().Lookup(code)
	failure := lifecycle.Failure{Code: def.Code, Class: def.Effective(true), Category: def.Category}
	_, why := p.Explain(policy.Question{Table: table, Entity: entity != "", Code: def.Code, Class: failure.Class, Category: def.Category, Severity: severity})
	fmt.Fprintln(&b, why)
	now := time.Date(2026, 2, 2, 9, 0, 0, 0, time.UTC)
	note := func(e recoup.Error, effects lifecycle.Effects, err error) recoup.Error {
		text, _ := json.Marshal(e)
		fmt.Fprintln(&b, string(text), effects.Notices, lifecycle.Deadlines(p, &e), err)
		return e
	}
	e := note(lifecycle.Step(p, nil, lifecycle.Report{ID: recoup.ID{1}, Table: table, EntityID: entity, Failure: failure, Severity: severity}, now))
	for n := byte(1); n < 10 && e.State == recoup.RetryPending; n++ {
		now = e.NextRetryAt
		e = note(lifecycle.Step(p, &e, lifecycle.Claim{Token: recoup.ID{n}, Worker: "w"}, now))
		held := e
		held.Lease = recoup.NewLease(recoup.ID{n}, "w", now, 9999*time.Hour)
		note(lifecycle.Step(p, &held, lifecycle.Expire{}, held.ExpiresAt.Add(15*time.Minute+time.Second)))
		failure.Streak++
		e = note(lifecycle.Step(p, &e, lifecycle.Fail{Token: recoup.ID{n}, Failure: failure}, now))
	}
	for tier := 1; tier < recoup.MaxTier; tier++ {
		e = note(lifecycle.Step(p, &e, lifecycle.Escalate{By: recoup.System}, now.Add(time.Duration(tier)*72*time.Hour)))
	}
	return b.String()
}
