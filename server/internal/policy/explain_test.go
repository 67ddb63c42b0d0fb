package policy_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/policy"
)

// TestReasonsPointToTheirLine reads the line that a reason names and wants the
// value to stand there.
func TestReasonsPointToTheirLine(t *testing.T) {
	p := policy.Default()
	lines := strings.Split(string(policy.DefaultFile()), "\n")
	checked := map[string]int{}
	for q := range questions(p) {
		_, reasons := p.Explain(q)
		for _, r := range reasons {
			if r.Field != "ttl" && r.Field != "max_retries" && r.Field != "window" && r.Field != "floor" {
				continue
			}
			value, _, _ := strings.Cut(r.Value, ",")
			if r.Line == 0 && r.Field == "floor" && q.Class == "" {
				continue // no class, no floor, no line
			}
			if r.Line < 1 || !strings.Contains(lines[r.Line-1], value) {
				t.Fatalf("%+v: line %d does not give %s %s", q, r.Line, r.Field, value)
			}
			checked[r.Field]++
		}
	}
	if len(checked) != 4 {
		t.Errorf("only %v were checked", checked)
	}
}

// TestExplainNamesTheRule follows the trail of three cases to its end.
func TestExplainNamesTheRule(t *testing.T) {
	rows := []struct {
		q     policy.Question
		field string
		trail []string // value, then why, of each rule in turn
	}{
		{
			policy.Question{Table: "outreach.company_target_errors", Entity: true, Code: "PATTERN_NOT_FOUND", Class: recoup.ClassLongDelay, Category: recoup.Operational, Severity: recoup.High},
			"ttl",
			[]string{
				"MEDIUM, 30d", "the table's tier",
				"SHORT, 7d", "severity HIGH has a tier of its own",
				"MEDIUM, 30d", "the hub Company Target overrides it",
			},
		},
		{
			policy.Question{Table: "company.url_discovery_failures", Entity: true, Code: "SCHEMA_INVALID", Class: recoup.ClassShortDelay, Category: recoup.Structural, Severity: recoup.High},
			"disposition",
			[]string{
				"ARCHIVE", "the table's default",
				"RETRY", "severity HIGH asks for it, and the table allows it",
				"ARCHIVE", "it must be parked, and the table does not allow PARK",
			},
		},
		{
			policy.Question{Table: "outreach.dol_errors", Code: "RUNTIME_BUG", Class: recoup.ClassFatal, Category: recoup.Operational, Severity: recoup.Critical},
			"park_reason",
			[]string{
				"ESCALATION_REQUIRED", "what the table parks for",
				"ESCALATION_REQUIRED", "severity CRITICAL parks for it",
				"NON_RETRYABLE_ERROR", "the parking condition runtime-bug names RUNTIME_BUG",
			},
		},
	}
	for _, row := range rows {
		_, reasons := policy.Default().Explain(row.q)
		var trail []string
		for _, r := range reasons {
			if r.Field != row.field {
				continue
			}
			trail = append(trail, r.Value, r.Why)
			if last := len(trail) == len(row.trail); r.Overruled == last {
				t.Errorf("%s %s: overruled is %v", r.Field, r.Value, r.Overruled)
			}
		}
		if strings.Join(trail, "|") != strings.Join(row.trail, "|") {
			t.Errorf("the trail of %s is\n%q\nwant\n%q", row.field, trail, row.trail)
		}
	}
}

// TestOutlook changes the small policy so that an error reaches each of its ends.
func TestOutlook(t *testing.T) {
	small := string(read(t, "testdata/small.yaml"))
	rows := []struct {
		name     string
		old, new string
		want     string
	}{
		{"all retries fail", "", "", "30m0s parked with MAX_RETRIES_EXCEEDED"},
		{"the window closes", "window: 7d", "window: 20m", "15m0s parked with RETRY_WINDOW_CLOSED"},
		{"it expires before", "base: 5m}, window: 7d", "base: 5d}, window: 90d", "168h0m0s expires: moved to crm.lead_errors_archive and kept there for 365d"},
		{"nothing parks", "[RETRY, PARK, ARCHIVE]", "[RETRY, ARCHIVE]", "30m0s no longer retried (MAX_RETRIES_EXCEEDED): kept as ARCHIVE, sales-team is notified"},
		{"its row moves", "hub: sales", "source: {at_end: move}, hub: sales", "168h0m0s its row, if it is of an adopted table, moves with it"},
		{"its row is deleted", "hub: sales", "source: {at_end: delete}, hub: sales", "8928h0m0s the archive deletes it, and its row, if it is of an adopted table"},
	}
	for _, row := range rows {
		p, err := policy.Load("small.yaml", []byte(strings.Replace(small, row.old, row.new, 1)), fault.Default())
		if err != nil {
			t.Fatal(err)
		}
		outlook := p.Outlook(p.Resolve(policy.Question{
			Table: "crm.lead_errors", Entity: true, Code: "EIN_MISMATCH", Class: recoup.ClassShortDelay, Category: recoup.Operational,
		}))
		var told []string
		for _, m := range outlook {
			told = append(told, m.After.String()+" "+m.What)
		}
		if all := strings.Join(told, "\n"); !strings.Contains(all+"\n", row.want+"\n") {
			t.Errorf("%s: %s\nwant %s", row.name, all, row.want)
		}
		if row.name == "it expires before" && strings.Contains(strings.Join(told, "\n"), "parked with") {
			t.Errorf("%s: it is parked all the same", row.name)
		}
	}
}

// A table that retries and does not park: its errors are kept as ARCHIVE, and its owner is
// notified of a severity that asks for PARK.
func TestOutlookWithoutPark(t *testing.T) {
	t.Parallel()
	text := strings.NewReplacer(
		"[RETRY, PARK, ARCHIVE]", "[RETRY, ARCHIVE]",
		"lead: sales-lead}", "lead: sales-lead, overrides: {auto_park: [{family: carrier, codes: [EIN_MISMATCH], after: 2, reason: EXTERNAL_DEPENDENCY}]}}",
		"codes: [MISSING_NAME], tables: [crm.lead_errors]", "codes: [MISSING_NAME], tables: [public.orphans]",
	).Replace(string(read(t, "testdata/small.yaml")))
	p, err := policy.Load("small.yaml", []byte(text), fault.Default())
	if err != nil {
		t.Fatal(err)
	}
	e, rules := p.Explain(policy.Question{
		Table: "crm.lead_errors", Entity: true, Code: "EIN_MISMATCH", Class: recoup.ClassShortDelay, Category: recoup.Operational, Severity: recoup.Critical,
	})
	if e.Action != recoup.ActionRetry || e.ParkReason != "" || !e.NotifyOwner {
		t.Errorf("the answer is %+v", e)
	}
	for _, r := range rules {
		if r.Field == "park_reason" {
			t.Errorf("explained with %+v", r)
		}
	}
	var all []string
	for _, m := range p.Outlook(e) {
		all = append(all, m.What)
	}
	for _, want := range []string{
		"kept as ARCHIVE at once, and sales-team is notified, if it is failure 2 of carrier for its entity",
		"sales-team is notified that it should have been parked",
	} {
		if !slices.Contains(all, want) {
			t.Errorf("the outlook is %q, without %q", all, want)
		}
	}
}

// TestSourceRules reads what becomes of the rows of adopted tables, and says it in words.
func TestSourceRules(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"{}":             "",
		"{at_end: keep}": "",
		"{details: [region, attempt], encrypted: [request], at_end: move}": "keeps region, attempt with the error, redacted; keeps request with the error, encrypted; moves the row with its error into the archive",
		"{at_end: delete}": "deletes the row when the archive has kept its error for 365d",
	} {
		p, err := policy.Load("adopted.yaml", []byte("version: 1\ntables:\n  shop.failures:\n    source: "+source+"\n"), fault.Default())
		if err != nil {
			t.Fatal(err)
		}
		if table, _ := p.Table("shop.failures"); table.DescribeSource() != want {
			t.Errorf("%s: %q, want %q", source, table.DescribeSource(), want)
		}
	}
}

// TestOutlookOfHugeWaits wants waits that outgrow the clock to end with the TTL.
func TestOutlookOfHugeWaits(t *testing.T) {
	text := strings.Replace(string(read(t, "testdata/small.yaml")),
		"TRANSIENT: {max_retries: 5, schedule: {kind: exponential, base: 2s, multiplier: 2}, window: 24h}",
		"TRANSIENT: {max_retries: 100, schedule: {kind: exponential, base: 1d, multiplier: 10}}", 1)
	p, err := policy.Load("small.yaml", []byte(text), fault.Default())
	if err != nil {
		t.Fatal(err)
	}
	outlook := p.Outlook(p.Resolve(policy.Question{Table: "crm.lead_errors", Entity: true, Code: "ANY", Category: recoup.Transient}))
	last := outlook[len(outlook)-1]
	if len(outlook) != 3 || outlook[0].After != day || last.After != 7*day {
		t.Errorf("%+v", outlook)
	}
}

// TestOutlookHasFloors wants the least wait of a class between two retries, where the
// schedule alone would be faster.
func TestOutlookHasFloors(t *testing.T) {
	p, err := policy.Load("small.yaml", read(t, "testdata/small.yaml"), fault.Default())
	if err != nil {
		t.Fatal(err)
	}
	outlook := p.Outlook(p.Resolve(policy.Question{Table: "crm.lead_errors", Entity: true, Code: "ANY", Category: recoup.Transient, Class: recoup.ClassLongDelay}))
	if len(outlook) < 2 || outlook[0].After != 15*time.Minute || outlook[1].After != 30*time.Minute {
		t.Errorf("retries every 15 minutes were expected: %+v", outlook)
	}
}
