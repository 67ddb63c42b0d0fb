package proof

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/test/golden"
)

// The tables that the tests change.
const (
	dol       = "outreach.dol_errors"
	discovery = "company.url_discovery_failures"
	orphans   = "public.shq_orphan_errors"
)

// changed returns the default policy with some of its text replaced. Conditions
// and families, which make the space an order of magnitude larger, are cut out
// unless the replacement needs them.
func changed(t *testing.T, replace ...string) string {
	t.Helper()
	lean := string(policy.DefaultFile())
	for _, part := range []string{"      auto_park:", "  conditions:"} {
		lean = cut(lean, part)
	}
	for _, text := range []string{lean, string(policy.DefaultFile())} {
		for i := 0; i < len(replace) && text != ""; i += 2 {
			if !strings.Contains(text, replace[i]) {
				text = ""
			}
			text = strings.Replace(text, replace[i], replace[i+1], 1)
		}
		if text != "" {
			return text
		}
	}
	t.Fatalf("the default policy has no %q", replace)
	return ""
}

// load reads a policy. Codes are not looked up: that is the proof's own task.
func load(t *testing.T, text string) *policy.Policy {
	t.Helper()
	p, err := policy.Load("test.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// text prints a report as a person reads it.
func text(r Report) string {
	var b strings.Builder
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "%d: %s: %s [%s, %d cases]\n", f.Line, f.Level, f.Message, f.Rule, f.Cases)
		for _, m := range f.Example {
			fmt.Fprintf(&b, "    %-5s %s\n", m.At, m.What)
		}
	}
	return b.String()
}

// The default policy passes, with the warnings that its specification implies.
func TestDefaultPolicy(t *testing.T) {
	r := Check(policy.Default(), fault.Default())
	if n := r.Count(Error); n > 0 {
		t.Errorf("%d errors", n)
	}
	golden.Equal(t, filepath.Join("testdata", "default.golden"), text(r))
}

// Exploration covers the whole space and ends soon.
func TestSize(t *testing.T) {
	p := policy.Default()
	r := Check(p, fault.Default())
	tables, codes := len(p.Tables())+2, len(namedCodes(p))+1
	if want := tables * codes * 5 * 3 * 4 * 2; r.Cases != want {
		t.Errorf("%d cases, want %d", r.Cases, want)
	}
	if r.Answers < 100 || r.States < 10*r.Answers || r.Steps < r.States || r.Steps > 200_000 {
		t.Errorf("%d answers, %d states, %d steps", r.Answers, r.States, r.Steps)
	}
}

// Two runs over the same policy say the same.
func TestDeterministic(t *testing.T) {
	p := load(t, changed(t, "after: 7d", "after: 31d", "max_retries: 5            #", "max_retries: 2 #"))
	if a, b := text(Check(p, fault.Default())), text(Check(p, fault.Default())); a != b {
		t.Errorf("first\n%s\nthen\n%s", a, b)
	}
}

// known is what is found in the default policy.
var known = sync.OnceValue(func() []Finding { return Check(policy.Default(), fault.Default()).Findings })

// provokes checks that a policy breaks one rule and no other that the default
// keeps, and returns what was found.
func provokes(t *testing.T, r Report, rule string) []Finding {
	t.Helper()
	var found []Finding
	for _, f := range r.Findings {
		same := func(k Finding) bool { return k.Rule == f.Rule && k.Message == f.Message }
		if slices.ContainsFunc(known(), same) {
			continue
		}
		found = append(found, f)
		if f.Rule != rule {
			t.Errorf("also provokes %s: %s", f.Rule, f.Message)
		}
	}
	if len(found) == 0 {
		t.Errorf("%s says nothing", rule)
	}
	return found
}

// Every rule that a policy file can break is seen to fire, on the right line.
func TestFilesThatBreakARule(t *testing.T) {
	for _, row := range []struct {
		name, rule string
		replace    []string
		message    string // part of it
		line       string // what the line of the finding contains
		trace      string // the last moment of the counterexample
	}{
		{
			"tier 3 after a month", unreachableRung, []string{"after: 7d", "after: 30d"},
			"tier 3 begins 30d after parking and is never reached by neutral, CRITICAL and MEDIUM errors that expire after 30d, in outreach.dol_errors",
			"tier: 3", "30d its TTL is over: ARCHIVED as TTL_EXPIRED",
		}, {
			"a table that forgets too soon", unreachableRung, []string{"MEDIUM:   {lasts: 30d", "MEDIUM:   {lasts: 36h"},
			"tier 2 begins 48h after parking and is never reached by errors that expire after 36h",
			"tier: 2", "36h its TTL is over: ARCHIVED as TTL_EXPIRED",
		}, {
			"a hub that raises nothing", shadowed, []string{"max_retries: 5            #", "max_retries: 3 #"},
			"the max_retries of the hub dol-filings changes no answer", "max_retries: 3 #", "",
		}, {
			"a condition that comes too late", shadowed, []string{
				"  conditions:\n", "  conditions:\n    - {name: all-names, codes: [MISSING_NAME], reason: ESCALATION_REQUIRED}\n",
			},
			"the condition missing-name changes no answer: the condition all-names", "name: missing-name",
			"its park reason is ESCALATION_REQUIRED; without the condition all-names it would be DATA_QUALITY",
		}, {
			"a condition for tables that only ignore", shadowed, []string{
				"tables: [people.people_errors]", "tables: [people.people_errors, public.shq_error_log, public.shq_master_error_log]",
			},
			"the condition missing-name has no effect in public.shq_error_log and public.shq_master_error_log", "name: missing-name", "",
		}, {
			"a hub that raises what nobody retries", shadowed, []string{
				"    lead: platform-lead\n", "    lead: platform-lead\n    overrides: {max_retries: 9}\n",
			},
			"the max_retries of the hub platform changes no answer", "max_retries: 9", "",
		}, {
			"a hub that raises also what nobody retries", shadowed, []string{
				"    lead: platform-lead\n", "    lead: platform-lead\n    overrides: {tables: [public.shq_orphan_errors, public.shq_error_log], max_retries: 9}\n",
				"allowed: [PARK, ARCHIVE]\n", "allowed: [RETRY, PARK, ARCHIVE]\n", "after: 7d", "after: 6d",
			},
			"the max_retries of the hub platform has no effect in public.shq_error_log", "max_retries: 9", "",
		}, {
			"a severity whose TTL two hubs overrule", shadowed, []string{"MEDIUM:   {}", "MEDIUM:   {disposition: RETRY, ttl: LONG}"},
			"the ttl of severity MEDIUM has no effect in outreach.company_target_errors (the ttl of the hub company-target, line 34, wins) and people.people_errors",
			"MEDIUM:   {disposition", "its TTL is 30d; without the ttl of the hub company-target it would be 90d",
		}, {
			"a window shorter than its schedule", impossibleRetry, []string{"window: 7d", "window: 20m"},
			"retry 3 of 5 of OPERATIONAL errors can never happen: it would fall after the end of its window of 20m, in outreach.dol_errors",
			"schedule: {kind: linear", "15m the retry fails: PARKED, tier 1",
		}, {
			"a schedule that outlives the TTL", impossibleRetry, []string{
				"schedule: {kind: linear, base: 5m}\n      window: 7d", "schedule: {kind: linear, base: 11d}",
			},
			"retry 2 of 3 of OPERATIONAL errors can never happen: it would fall after the end of its TTL of 30d",
			"schedule: {kind: linear", "11d the retry fails: RETRY_PENDING, 1 of 3 retries used",
		}, {
			"a code that nobody registered", unknownCode, []string{"codes: [MISSING_NAME]", "codes: [MISSING_NAMES]"},
			"the code MISSING_NAMES is not registered", "codes: [MISSING_NAMES]", "",
		}, {
			"an alias", unknownCode, []string{"    VALIDATION_ERROR: ", "    VALIDATION_FAILED: "},
			"the code VALIDATION_FAILED is an alias: failures carry VALIDATION_ERROR", "VALIDATION_FAILED", "",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			file := changed(t, row.replace...)
			found := provokes(t, Check(load(t, file), fault.Default()), row.rule)
			i := slices.IndexFunc(found, func(f Finding) bool { return strings.Contains(f.Message, row.message) })
			if i < 0 {
				t.Fatalf("no finding says %q:\n%s", row.message, text(Report{Findings: found}))
			}
			if line := strings.Split(file, "\n")[found[i].Line-1]; !strings.Contains(line, row.line) {
				t.Errorf("on line %d, which is %q", found[i].Line, line)
			}
			if got := last(found[i].Example); row.trace != "" && got != row.trace {
				t.Errorf("the counterexample ends with %q, want %q", got, row.trace)
			}
		})
	}
}

func last(moments []Moment) string {
	if len(moments) == 0 {
		return ""
	}
	m := moments[len(moments)-1]
	return strings.TrimSpace(m.At + " " + m.What)
}
