package policy_test

import (
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/policy"
)

// TestResolve asks the default policy about failures whose answers people rely
// on. Unless a row says otherwise the report names an entity and the code is a
// retryable one without rules of its own.
func TestResolve(t *testing.T) {
	const dol, target, people, url = "outreach.dol_errors", "outreach.company_target_errors", "people.people_errors", "company.url_discovery_failures"
	const log, audit, orphans, letters = "public.shq_error_log", "public.shq_master_error_log", "public.shq_orphan_errors", "pipeline.dead_letters"
	const short, long, fatal = recoup.ClassShortDelay, recoup.ClassLongDelay, recoup.ClassFatal
	const operational, transient, structural = recoup.Operational, recoup.Transient, recoup.Structural
	type answer struct {
		table   string
		action  recoup.Action
		reason  recoup.ParkReason
		ttl     time.Duration
		blocks  bool
		retries int
		flags   string // t: the owner is notified, p: the platform is paged, m: by hand, o: orphaned, f: counted in a family
	}
	rows := []struct {
		name string
		q    policy.Question
		want answer
	}{
		{"neutral", policy.Question{dol, true, "EIN_MISMATCH", long, operational, ""}, answer{dol, "RETRY", "", 30 * day, true, 5, ""}},
		{"MEDIUM is neutral", policy.Question{dol, true, "EIN_MISMATCH", long, operational, "MEDIUM"}, answer{dol, "RETRY", "", 30 * day, true, 5, ""}},
		{"HIGH keeps a hub's TTL", policy.Question{target, true, "PATTERN_NOT_FOUND", long, operational, "HIGH"}, answer{target, "RETRY", "", 30 * day, true, 3, ""}},
		{"HIGH shortens the TTL", policy.Question{dol, true, "EIN_MISMATCH", long, operational, "HIGH"}, answer{dol, "RETRY", "", 7 * day, true, 5, ""}},
		{"HIGH retries what is only archived", policy.Question{url, true, "URL_NOT_FOUND", long, operational, "HIGH"}, answer{url, "RETRY", "", 7 * day, false, 3, ""}},
		{"CRITICAL parks", policy.Question{dol, true, "EIN_MISMATCH", long, operational, "CRITICAL"}, answer{dol, "PARK", "ESCALATION_REQUIRED", 30 * day, true, 5, ""}},
		{"CRITICAL where nothing parks", policy.Question{url, true, "URL_NOT_FOUND", long, operational, "CRITICAL"}, answer{url, "ARCHIVE", "ESCALATION_REQUIRED", 90 * day, false, 3, "t"}},
		{"CRITICAL in the log", policy.Question{log, false, "INTERNAL_ERROR", short, transient, "CRITICAL"}, answer{log, "IGNORE", "ESCALATION_REQUIRED", 90 * day, false, 5, "t"}},
		{"CRITICAL in the audit log", policy.Question{audit, false, "INTERNAL_ERROR", short, transient, "CRITICAL"}, answer{audit, "IGNORE", "", 0, false, 5, "t"}},
		{"HIGH in the audit log", policy.Question{audit, false, "INTERNAL_ERROR", short, transient, "HIGH"}, answer{audit, "IGNORE", "", 0, false, 5, ""}},
		{"LOW in the audit log", policy.Question{audit, true, "INTERNAL_ERROR", short, transient, "LOW"}, answer{audit, "IGNORE", "", 0, false, 5, ""}},
		{"LOW is archived where IGNORE is not allowed", policy.Question{dol, true, "EIN_MISMATCH", long, operational, "LOW"}, answer{dol, "ARCHIVE", "", 90 * day, false, 5, ""}},
		{"LOW keeps a hub's TTL", policy.Question{people, true, "DATA_UNAVAILABLE", long, operational, "LOW"}, answer{people, "ARCHIVE", "", 30 * day, false, 3, ""}},
		{"LOW and fatal does not start to block", policy.Question{dol, true, "VALIDATION_ERROR", fatal, operational, "LOW"}, answer{dol, "ARCHIVE", "", 90 * day, false, 1, "m"}},
		{"neutral where the default is ARCHIVE", policy.Question{url, true, "URL_NOT_FOUND", long, operational, "MEDIUM"}, answer{url, "ARCHIVE", "", 90 * day, false, 3, ""}},
		{"STRUCTURAL where the default is ARCHIVE", policy.Question{url, true, "SCHEMA_INVALID", short, structural, ""}, answer{url, "ARCHIVE", "", 90 * day, false, 1, "m"}},
		{"HIGH and STRUCTURAL where nothing parks", policy.Question{url, true, "SCHEMA_INVALID", short, structural, "HIGH"}, answer{url, "ARCHIVE", "DATA_QUALITY", 7 * day, false, 1, "tm"}},
		{"fatal", policy.Question{dol, true, "VALIDATION_ERROR", fatal, operational, ""}, answer{dol, "PARK", "NON_RETRYABLE_ERROR", 30 * day, true, 1, "m"}},
		{"fatal and CRITICAL", policy.Question{dol, true, "VALIDATION_ERROR", fatal, operational, "CRITICAL"}, answer{dol, "PARK", "NON_RETRYABLE_ERROR", 30 * day, true, 1, "m"}},
		{"conditional, not proven", policy.Question{dol, true, "SLOT_CONFLICT", recoup.ClassConditional, operational, ""}, answer{dol, "PARK", "NON_RETRYABLE_ERROR", 30 * day, true, 1, "m"}},
		{"STRUCTURAL", policy.Question{people, true, "CONSTRAINT_VIOLATION", short, structural, ""}, answer{people, "PARK", "DATA_QUALITY", 30 * day, true, 1, "m"}},
		{"class beats category", policy.Question{people, true, "SCHEMA_INVALID", fatal, structural, ""}, answer{people, "PARK", "NON_RETRYABLE_ERROR", 30 * day, true, 1, "m"}},
		{"missing name", policy.Question{people, true, "MISSING_NAME", long, operational, ""}, answer{people, "PARK", "DATA_QUALITY", 30 * day, true, 3, ""}},
		{"missing name elsewhere", policy.Question{dol, true, "MISSING_NAME", long, operational, ""}, answer{dol, "RETRY", "", 30 * day, true, 5, ""}},
		{"missing field", policy.Question{dol, true, "MISSING_REQUIRED_FIELD", fatal, structural, ""}, answer{dol, "PARK", "DATA_QUALITY", 30 * day, true, 1, "m"}},
		{"duplicate company", policy.Question{target, true, "DUPLICATE_COMPANY", fatal, operational, ""}, answer{target, "PARK", "ESCALATION_REQUIRED", 30 * day, true, 1, "m"}},
		{"content reject", policy.Question{dol, true, "CONTENT_REJECTED", fatal, operational, ""}, answer{dol, "PARK", "ESCALATION_REQUIRED", 30 * day, true, 1, "m"}},
		{"vendor changed", policy.Question{dol, true, "EXTERNAL_API_CHANGED", fatal, operational, ""}, answer{dol, "PARK", "EXTERNAL_DEPENDENCY", 30 * day, true, 1, "m"}},
		{"runtime bug", policy.Question{dol, true, "RUNTIME_BUG", fatal, operational, "CRITICAL"}, answer{dol, "PARK", "NON_RETRYABLE_ERROR", 30 * day, true, 1, "pm"}},
		{"runtime bug where nothing parks", policy.Question{url, true, "RUNTIME_BUG", fatal, operational, "CRITICAL"}, answer{url, "ARCHIVE", "ESCALATION_REQUIRED", 90 * day, false, 1, "tpm"}},
		{"runtime bug in the audit log pages as anywhere", policy.Question{audit, false, "RUNTIME_BUG", fatal, operational, "CRITICAL"}, answer{audit, "IGNORE", "", 0, false, 1, "tpm"}},
		{"a hub raises a budget", policy.Question{dol, true, "EIN_MISMATCH", long, operational, ""}, answer{dol, "RETRY", "", 30 * day, true, 5, ""}},
		{"a hub does not lower a budget", policy.Question{target, true, "NETWORK_TIMEOUT", recoup.ClassImmediate, transient, ""}, answer{target, "RETRY", "", 30 * day, true, 5, ""}},
		{"a hub does not raise what is by hand", policy.Question{dol, true, "CONSTRAINT_VIOLATION", short, structural, ""}, answer{dol, "PARK", "DATA_QUALITY", 30 * day, true, 1, "m"}},
		{"domain lookup", policy.Question{target, true, "DOMAIN_NOT_FOUND", long, operational, ""}, answer{target, "RETRY", "", 30 * day, true, 3, "f"}},
		{"domain lookup of another table", policy.Question{url, true, "DOMAIN_NOT_FOUND", long, operational, ""}, answer{url, "ARCHIVE", "", 90 * day, false, 3, ""}},
		{"domain lookup of another hub", policy.Question{dol, true, "DOMAIN_NOT_FOUND", long, operational, ""}, answer{dol, "RETRY", "", 30 * day, true, 5, ""}},
		{"unknown table", policy.Question{"outreach.nowhere", true, "EIN_MISMATCH", long, operational, ""}, answer{orphans, "PARK", "ESCALATION_REQUIRED", 30 * day, false, 3, "o"}},
		{"dead table", policy.Question{"outreach.bit_errors", true, "EIN_MISMATCH", long, operational, ""}, answer{orphans, "PARK", "ESCALATION_REQUIRED", 30 * day, false, 3, "o"}},
		{"no entity", policy.Question{dol, false, "EIN_MISMATCH", long, operational, ""}, answer{orphans, "PARK", "ESCALATION_REQUIRED", 30 * day, false, 3, "o"}},
		{"fatal orphan", policy.Question{dol, false, "VALIDATION_ERROR", fatal, operational, ""}, answer{orphans, "PARK", "NON_RETRYABLE_ERROR", 30 * day, false, 1, "mo"}},
		{"HIGH orphan", policy.Question{dol, false, "EIN_MISMATCH", long, operational, "HIGH"}, answer{orphans, "PARK", "ESCALATION_REQUIRED", 30 * day, false, 3, "o"}},
		{"LOW orphan", policy.Question{dol, false, "EIN_MISMATCH", long, operational, "LOW"}, answer{orphans, "ARCHIVE", "", 90 * day, false, 3, "o"}},
		{"dead letter with an entity", policy.Question{letters, true, "NETWORK_TIMEOUT", recoup.ClassImmediate, transient, ""}, answer{letters, "PARK", "ESCALATION_REQUIRED", 90 * day, true, 5, ""}},
		{"dead letter without", policy.Question{letters, false, "NETWORK_TIMEOUT", recoup.ClassImmediate, transient, ""}, answer{letters, "PARK", "ESCALATION_REQUIRED", 90 * day, false, 5, ""}},
		{"fatal dead letter", policy.Question{letters, true, "AUTH_DENIED", fatal, operational, ""}, answer{letters, "PARK", "NON_RETRYABLE_ERROR", 90 * day, true, 1, "m"}},
		{"unknown category counts as OPERATIONAL", policy.Question{target, true, "UNREGISTERED_CODE", short, "", ""}, answer{target, "RETRY", "", 30 * day, true, 3, ""}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			e := policy.Default().Resolve(row.q)
			got := answer{e.Table.Name, e.Action, e.ParkReason, e.TTL, e.Blocks, e.MaxRetries, flags(e)}
			if got != row.want {
				t.Errorf("got  %+v\nwant %+v", got, row.want)
			}
		})
	}
}

// TestMustParkElsewhere asks tables of another make, where what must be parked
// cannot be: it is archived, and where not even that is allowed it is ignored.
func TestMustParkElsewhere(t *testing.T) {
	for allowed, want := range map[string]recoup.Action{
		"[RETRY, ARCHIVE, IGNORE]": recoup.ActionArchive,
		"[RETRY, PARK, IGNORE]":    recoup.ActionPark,
		"[IGNORE]":                 recoup.ActionIgnore,
	} {
		text := strings.Replace(string(read(t, "testdata/small.yaml")), "default: RETRY, allowed: [RETRY, PARK, ARCHIVE], blocks: true", "default: IGNORE, allowed: "+allowed+", blocks: false", 1)
		p, err := policy.Load("small.yaml", []byte(text), fault.Default())
		if err != nil {
			t.Fatal(err)
		}
		e := p.Resolve(policy.Question{Table: "crm.lead_errors", Entity: true, Code: "VALIDATION_ERROR", Class: recoup.ClassFatal, Severity: recoup.High})
		if e.Action != want {
			t.Errorf("where %s is allowed it is %s, want %s", allowed, e.Action, want)
		}
	}
}

func flags(e policy.Effective) string {
	out := ""
	for _, f := range []struct {
		set  bool
		name string
	}{{e.NotifyOwner, "t"}, {e.Page, "p"}, {e.Manual, "m"}, {e.Orphaned, "o"}, {e.Family != nil, "f"}} {
		if f.set {
			out += f.name
		}
	}
	return out
}

func TestDelays(t *testing.T) { // the largest of schedule, floor and what the other side asked for
	rows := []struct {
		class    recoup.Class
		category recoup.Category
		floor    time.Duration
		first    time.Duration
		window   time.Duration
	}{
		{recoup.ClassImmediate, recoup.Transient, 0, 2 * time.Second, day},
		{recoup.ClassShortDelay, recoup.Transient, time.Minute, 2 * time.Second, day},
		{recoup.ClassLongDelay, recoup.Transient, 15 * time.Minute, 2 * time.Second, day},
		{recoup.ClassShortDelay, recoup.Operational, time.Minute, 5 * time.Minute, 7 * day},
		{recoup.ClassLongDelay, recoup.Operational, 15 * time.Minute, 5 * time.Minute, 7 * day},
		{recoup.ClassFatal, recoup.Transient, 0, 0, 0},
		{recoup.ClassShortDelay, recoup.Structural, 0, 0, 0},
	}
	for _, row := range rows {
		e := policy.Default().Resolve(policy.Question{
			Table: "outreach.dol_errors", Entity: true, Code: "ANY", Class: row.class, Category: row.category,
		})
		if first := e.Schedule.Delay(1, nil); e.Floor != row.floor || first != row.first || e.Window != row.window {
			t.Errorf("%s %s: floor %v, first wait %v, window %v", row.class, row.category, e.Floor, first, e.Window)
		}
	}
}

func TestResolveDoesNotAllocate(t *testing.T) {
	p := policy.Default()
	q := policy.Question{
		Table: "outreach.company_target_errors", Entity: true, Code: "DOMAIN_NOT_FOUND",
		Class: recoup.ClassLongDelay, Category: recoup.Operational, Severity: recoup.High,
	}
	if n := testing.AllocsPerRun(100, func() { p.Resolve(q) }); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

func BenchmarkResolve(b *testing.B) {
	p := policy.Default()
	q := policy.Question{
		Table: "outreach.company_target_errors", Entity: true, Code: "DOMAIN_NOT_FOUND",
		Class: recoup.ClassLongDelay, Category: recoup.Operational, Severity: recoup.High,
	}
	b.ReportAllocs()
	for b.Loop() {
		p.Resolve(q)
	}
}

func BenchmarkLoad(b *testing.B) {
	data := policy.DefaultFile()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := policy.Load(policy.DefaultName, data, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// A hub's budget counts only where it raises the category's.
func TestHubDoesNotLowerABudget(t *testing.T) {
	lower := policy.Default().With(2, "hubs", "dol-filings", "overrides", "max_retries")
	got := lower.Resolve(policy.Question{Table: "outreach.dol_errors", Entity: true, Code: "EIN_MISMATCH", Class: recoup.ClassLongDelay, Category: recoup.Operational})
	if got.MaxRetries != 3 {
		t.Errorf("%d retries, want the category's 3", got.MaxRetries)
	}
}
