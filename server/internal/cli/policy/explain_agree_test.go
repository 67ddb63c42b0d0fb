package policy

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/policy"
)

// generated is the default policy with other retries, TTLs, dispositions and hub overrides.
func generated(t *testing.T) *policy.Policy {
	t.Helper()
	text := string(policy.DefaultFile())
	for pattern, value := range map[string]string{
		`max_retries: 5`: "max_retries: 7", `max_retries: 3`: "max_retries: 2", `lasts: 30d`: "lasts: 12d", `version: 1\.0\.0`: "version: 1.0.1",
	} {
		changed := regexp.MustCompile(pattern).ReplaceAllString(text, value)
		if changed == text {
			t.Fatalf("the default policy has no %q", pattern)
		}
		text = changed
	}
	return loaded(t, text)
}

func loaded(t *testing.T, text string) *policy.Policy {
	t.Helper()
	p, err := policy.Load("generated.yaml", []byte(text), fault.Default())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// retrying is the default policy with a table that retries by default and does not park.
func retrying(t *testing.T) *policy.Policy {
	t.Helper()
	text := string(policy.DefaultFile())
	for was, is := range map[string]string{
		"version: 1.0.0": "version: 1.0.1",
		"default: ARCHIVE\n    allowed: [RETRY, ARCHIVE]": "default: RETRY\n    allowed: [RETRY, ARCHIVE]",
	} {
		if !strings.Contains(text, was) {
			t.Fatalf("the default policy has no %q", was)
		}
		text = strings.Replace(text, was, is, 1)
	}
	return loaded(t, text)
}

// stored is what becomes of a first report, in the words of an explanation.
func stored(t *testing.T, p *policy.Policy, x *explanation) effectiveView {
	t.Helper()
	now := time.Date(2026, 2, 2, 0, 0, 0, 0, time.UTC)
	report := lifecycle.Report{
		ID: recoup.ID{1}, Table: x.Table, Severity: x.Severity, Failure: lifecycle.Failure{Code: x.Code, Class: x.Class, Category: x.Category},
	}
	if x.Entity {
		report.EntityID = "e1"
	}
	e, _, err := lifecycle.Step(p, nil, report, now)
	if err != nil {
		t.Fatal(err)
	}
	v := effectiveView{
		Table: e.Table, Orphaned: e.ReportedTable != "", ParkReason: e.ParkReason, Blocks: e.Blocking, MaxRetries: e.MaxRetries, TTL: "never",
	}
	for _, a := range recoup.Actions() {
		if a.Disposition() == e.Disposition {
			v.Disposition = a
		}
	}
	if !e.ExpiresAt.IsZero() {
		v.TTL = policy.FormatDuration(e.ExpiresAt.Sub(e.CreatedAt))
	}
	if !e.WindowEndsAt.IsZero() {
		v.Window = policy.FormatDuration(e.WindowEndsAt.Sub(e.CreatedAt))
	}
	return v
}

// 'policy explain' answers as the engine stores: for every table, code and severity, with an
// entity and without.
func TestExplainAgreesWithTheEngine(t *testing.T) {
	for name, p := range map[string]*policy.Policy{"default": policy.Default(), "generated": generated(t), "retrying": retrying(t)} {
		registry, tables, n := p.Registry(), []string{"no.such_table"}, 0
		for _, table := range p.Tables() {
			tables = append(tables, table.Name)
		}
		for _, table := range tables {
			for _, def := range registry.All() {
				for _, severity := range append(recoup.Severities(), "") {
					for _, entity := range []bool{true, false} {
						ask := asked{table: table, code: string(def.Code), severity: string(severity), entity: entity}
						x := ask.question(command.Streams{}, registry)
						x.answer(p)
						got, want := x.view().Effective, stored(t, p, x)
						want.NotifyOwner, want.Page, want.TTLTier, want.Manual, want.Floor, want.Family = // which no column has
							got.NotifyOwner, got.Page, got.TTLTier, got.Manual, got.Floor, got.Family
						if got != want {
							t.Fatalf("%s policy, %+v: explained as\n%s, stored as\n%s", name, ask, printed(got), printed(want))
						}
						n++
					}
				}
			}
		}
		if n < 1000 {
			t.Errorf("%s: only %d cases", name, n)
		}
	}
}

func printed(v effectiveView) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
