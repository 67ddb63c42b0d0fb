package policy_test

import (
	"slices"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/retry"
	"github.com/recoup-dev/recoup/server/internal/policy"
)

func load(t *testing.T, file string) *policy.Policy {
	t.Helper()
	p, err := policy.Load(file, read(t, "testdata/good/"+file), fault.Default())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestOneTable proves that a version and a table are a policy, and what it does.
func TestOneTable(t *testing.T) {
	p := load(t, "one-table.yaml")
	if p.Version != "1" || p.PlatformHub.ID != "platform" || p.OrphanTable.Name != "public.orphan_errors" {
		t.Errorf("version %q, platform %q, orphans in %q", p.Version, p.PlatformHub.ID, p.OrphanTable.Name)
	}
	table, _ := p.Table("billing.payment_errors")
	if !table.Blocks || table.EntityOptional || table.EntityColumn != "entity_id" || table.TTL != 30*24*time.Hour || table.Owner(1) != "platform-team" {
		t.Errorf("the table is %+v", table)
	}
	if want := []recoup.Action{recoup.ActionRetry, recoup.ActionPark, recoup.ActionArchive}; table.Default != want[0] || !slices.Equal(table.Allowed(), want) {
		t.Errorf("the default is %s of %v", table.Default, table.Allowed())
	}
	if len(p.Tables()) != 3 || p.Gate.MaxAttempts != 0 || len(p.Gate.Reasons) != 0 {
		t.Errorf("%d tables, Gate Zero %+v", len(p.Tables()), p.Gate)
	}
	e, why := p.Explain(policy.Question{Table: table.Name, Entity: true, Code: "NETWORK_TIMEOUT", Class: recoup.ClassImmediate, Category: recoup.Transient, Severity: recoup.Medium})
	if e.Action != recoup.ActionRetry || e.MaxRetries != 5 || !e.Blocks || e.Window != 24*time.Hour {
		t.Errorf("a time-out comes to %+v", e)
	}
	for _, rule := range why {
		if want := map[bool]int{true: 3}[rule.Field == "table"]; rule.Line != want {
			t.Errorf("%s is decided on line %d, want %d: %s", rule.Field, rule.Line, want, rule.Why)
		}
	}
}

// TestOwnDomain proves that what is written counts, and the rest is filled in.
func TestOwnDomain(t *testing.T) {
	p := load(t, "payments.yaml")
	capture, _ := p.Table("payments.capture_errors")
	if capture.Owner(1) != "payments-team" || capture.Owner(2) != "payments-team" || capture.HubName() != "payments" || capture.TTL != 21*24*time.Hour || capture.EntityColumn != "order_id" {
		t.Errorf("the table is %+v", capture)
	}
	audit, _ := p.Table("payments.audit")
	notes, _ := p.Table("payments.notes")
	if !audit.Infinite() || audit.Default != recoup.ActionIgnore || audit.Blocks || audit.Archive != "" {
		t.Errorf("the audit log is %+v", audit)
	}
	if notes.Default != recoup.ActionIgnore || notes.Blocks || notes.Archive != "payments.notes_archive" {
		t.Errorf("the notes are %+v", notes)
	}
	transient, operational := p.Categories[0], p.Categories[1]
	if transient.MaxRetries != 8 || transient.Schedule.Kind != retry.Fixed || transient.Window != 0 || operational.MaxRetries != 3 {
		t.Errorf("retries are %+v and %+v", transient, operational)
	}
	e := p.Resolve(policy.Question{Table: capture.Name, Entity: true, Code: "CARD_DECLINED", Class: recoup.ClassFatal, Category: recoup.Structural, Severity: recoup.High})
	if e.Action != recoup.ActionPark || e.ParkReason != "ISSUER_SAYS_NO" {
		t.Errorf("a card that was declined comes to %+v", e)
	}
	if len(p.Reasons) != len(recoup.ParkReasons())+1 || len(p.Conditions) != 1 || p.DefaultRequest.MaxAttempts != 3 || p.Requests["ISSUER_DOWN"].MaxAttempts != 2 {
		t.Errorf("%d reasons, %d conditions, requests %+v", len(p.Reasons), len(p.Conditions), p.Requests)
	}
}

// TestOwnCodes proves that a policy's codes are registered as it says, those of an
// earlier version anew, and that everything else about them has a default.
func TestOwnCodes(t *testing.T) {
	p := load(t, "payments.yaml")
	declined, ok := p.Registry().Lookup("CARD_DECLINED")
	if !ok || declined.Category != recoup.Structural || declined.Severity != recoup.High || declined.HTTPStatus != 402 || len(declined.Causes) == 0 {
		t.Errorf("CARD_DECLINED is %+v", declined)
	}
	down, _ := p.Registry().Lookup("ISSUER_DOWN")
	if down.Category != recoup.Transient || down.Severity != recoup.Medium || down.HTTPStatus != 500 || down.Group != fault.GroupExternalService {
		t.Errorf("ISSUER_DOWN is %+v", down)
	}
	if len(p.Codes) != 2 || len(p.Registry().All()) != len(fault.Default().All())+2 {
		t.Errorf("%d codes of its own, %d in all", len(p.Codes), len(p.Registry().All()))
	}
	changed := []byte("version: 3\ntables: {a.b: {}}\ncodes: {CARD_DECLINED: {class: long_delay, description: Try later}}")
	next, err := policy.Load("next.yaml", changed, p.Registry())
	if err != nil {
		t.Fatal(err)
	}
	if def, _ := next.Registry().Lookup("CARD_DECLINED"); def.Class != recoup.ClassLongDelay {
		t.Errorf("the newer CARD_DECLINED is %s", def.Class)
	}
}

// TestNothingIsAllDefaults proves that a table or a hub with nothing behind its name is
// one that says nothing about itself.
func TestNothingIsAllDefaults(t *testing.T) {
	for _, text := range []string{"version: 1\ntables:\n  a.b:\n", "version: 1\nhubs:\n  mine:\ntables:\n  a.b: null\n"} {
		p, err := policy.Load("policy.yaml", []byte(text), fault.Default())
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if table, ok := p.Table("a.b"); !ok || table.Default != recoup.ActionRetry || !table.Blocks {
			t.Errorf("%s: the table is %+v", text, table)
		}
	}
}

// TestBaseIsTheSpecification holds what a policy may leave out to what the
// specifications say, which the default policy writes out.
func TestBaseIsTheSpecification(t *testing.T) {
	own, spec := load(t, "one-table.yaml"), policy.Default()
	for _, block := range []string{"tiers", "archive", "severities", "retry", "escalation", "leases", "metrics", "notifications", "requests", "stages", "ledger"} {
		if got, want := own.Block(block), spec.Block(block); got == "" || got != want {
			t.Errorf("%s differs:\n%s\n%s", block, got, want)
		}
	}
}
