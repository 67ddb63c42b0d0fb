package policy_test

import (
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/retry"
	"github.com/recoup-dev/recoup/server/internal/policy"
)

const day = 24 * time.Hour

// The tests of this file hold the default policy against the tables of the
// specifications, row by row.

func TestTiers(t *testing.T) { // spec 000, 1
	rows := []struct {
		name string
		ttl  time.Duration
	}{
		{"SHORT", 7 * day},
		{"MEDIUM", 30 * day},
		{"LONG", 90 * day},
		{"INFINITE", 0},
	}
	tiers := policy.Default().Tiers
	if len(tiers) != len(rows) {
		t.Fatalf("%d tiers, want %d", len(tiers), len(rows))
	}
	for i, row := range rows {
		if tiers[i].Name != row.name || tiers[i].TTL != row.ttl {
			t.Errorf("tier %d is %s %v, want %s %v", i, tiers[i].Name, tiers[i].TTL, row.name, row.ttl)
		}
	}
}

func TestTables(t *testing.T) { // spec 000, 3, 6.2 and 7.2
	const retry, park, archive, ignore = recoup.ActionRetry, recoup.ActionPark, recoup.ActionArchive, recoup.ActionIgnore
	rows := []struct {
		name      string
		layer     policy.Layer
		tier      string
		byDefault recoup.Action
		allowed   []recoup.Action
		blocks    bool
		entity    string
		optional  bool
		archive   string
		retention time.Duration
	}{
		{"outreach.dol_errors", "HUB", "MEDIUM", retry, []recoup.Action{retry, park, archive}, true, "outreach_id", false, "outreach.dol_errors_archive", 365 * day},
		{"outreach.company_target_errors", "HUB", "MEDIUM", retry, []recoup.Action{retry, park, archive}, true, "outreach_id", false, "outreach.company_target_errors_archive", 365 * day},
		{"people.people_errors", "HUB", "MEDIUM", retry, []recoup.Action{retry, park, archive}, true, "outreach_id", false, "people.people_errors_archive", 365 * day},
		{"company.url_discovery_failures", "HUB", "LONG", archive, []recoup.Action{retry, archive}, false, "company_unique_id", false, "company.url_discovery_failures_archive", 365 * day},
		{"public.shq_error_log", "GLOBAL", "LONG", ignore, []recoup.Action{archive, ignore}, false, "entity_id", true, "public.shq_error_log_archive", 730 * day},
		{"public.shq_master_error_log", "GLOBAL", "INFINITE", ignore, []recoup.Action{ignore}, false, "entity_id", true, "", 0},
		{"public.shq_orphan_errors", "GLOBAL", "MEDIUM", park, []recoup.Action{park, archive}, false, "entity_id", true, "public.shq_orphan_errors_archive", 365 * day},
		{"pipeline.dead_letters", "HUB", "LONG", park, []recoup.Action{park}, true, "entity_id", true, "pipeline.dead_letters_archive", 365 * day},
	}
	p := policy.Default()
	if got := len(p.Tables()); got != len(rows) {
		t.Errorf("%d tables, want %d", got, len(rows))
	}
	for i, row := range rows {
		got, ok := p.Table(row.name)
		if !ok || p.Tables()[i] != got {
			t.Errorf("%s is missing, or not number %d", row.name, i+1)
			continue
		}
		if got.Layer != row.layer || got.TTLTier != row.tier || got.Default != row.byDefault || got.Blocks != row.blocks ||
			!slices.Equal(got.Allowed(), row.allowed) || got.EntityColumn != row.entity || got.EntityOptional != row.optional ||
			got.Archive != row.archive || got.Retention != row.retention {
			t.Errorf("%s is %+v, want %+v", row.name, *got, row)
		}
		if got.BlocksWhy == "" {
			t.Errorf("%s does not say why it blocks or not", row.name)
		}
	}
	if p.OrphanTable.Name != "public.shq_orphan_errors" {
		t.Errorf("orphans go to %s", p.OrphanTable.Name)
	}
}

func TestDeadTables(t *testing.T) { // spec 000, 3
	want := []string{
		"outreach.bit_errors", "outreach.blog_errors", "outreach.people_errors",
		"outreach.outreach_errors", "cl.cl_errors_archive", "company.pipeline_errors",
	}
	p := policy.Default()
	var got []string
	for _, d := range p.DeadTables {
		got = append(got, d.Name)
		if _, governed := p.Table(d.Name); governed || d.Todo == "" {
			t.Errorf("%s is governed, or has nothing to be done about it", d.Name)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("dead tables are %v, want %v", got, want)
	}
}

func TestParkingReasons(t *testing.T) { // spec 000, 4.3, and the closing of the window
	want := spell(recoup.ParkReasons())
	var got []string
	for _, r := range policy.Default().Reasons {
		got = append(got, r.Name)
	}
	if !slices.Equal(got, want) {
		t.Errorf("reasons are %v, want %v", got, want)
	}
}

func TestCategories(t *testing.T) { // spec 000, 5.1
	rows := []struct {
		category recoup.Category
		max      int
		delays   []time.Duration
		window   time.Duration
	}{
		{recoup.Transient, 5, []time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second, 32 * time.Second}, 24 * time.Hour},
		{recoup.Operational, 3, []time.Duration{5 * time.Minute, 10 * time.Minute, 15 * time.Minute}, 7 * day},
		{recoup.Structural, 1, nil, 0},
	}
	for i, row := range rows {
		got := policy.Default().Categories[i]
		if got.Category != row.category || got.MaxRetries != row.max || got.Window != row.window {
			t.Errorf("%s is %+v", row.category, got)
		}
		for n, want := range row.delays {
			if delay := got.Schedule.Delay(n+1, nil); delay != want {
				t.Errorf("%s: retry %d after %v, want %v", row.category, n+1, delay, want)
			}
		}
		if row.delays == nil && got.Schedule.Kind != retry.None {
			t.Errorf("%s is retried by the system", row.category)
		}
		if record := retry.Record(row.category); record.MaxRetries != got.MaxRetries || record.Window != got.Window || !sameSchedule(record.Schedule, got.Schedule) {
			t.Errorf("%s: package retry has %+v, the policy %+v", row.category, record, got)
		}
	}
}

func TestFloors(t *testing.T) { // spec 001, Error Classification
	want := map[recoup.Class]time.Duration{
		recoup.ClassImmediate: 0, recoup.ClassShortDelay: time.Minute, recoup.ClassLongDelay: 15 * time.Minute,
	}
	if got := policy.Default().Floors; !maps.Equal(got, want) {
		t.Errorf("floors are %v, want %v", got, want)
	}
}

func TestSeverities(t *testing.T) { // spec 000, 8; MEDIUM is neutral
	rows := []struct {
		severity recoup.Severity
		action   recoup.Action
		tier     string
	}{
		{recoup.Critical, recoup.ActionPark, ""},
		{recoup.High, recoup.ActionRetry, "SHORT"},
		{recoup.Medium, "", ""},
		{recoup.Low, recoup.ActionIgnore, "LONG"},
	}
	for i, row := range rows {
		if got := policy.Default().Severities[i]; got.Severity != row.severity || got.Action != row.action || got.TTLTier != row.tier {
			t.Errorf("%s is %+v", row.severity, got)
		}
	}
}

func TestHubs(t *testing.T) { // spec 000, 9
	p := policy.Default()
	hubs := map[string]*policy.Hub{}
	for _, h := range p.Hubs {
		hubs[h.ID] = h
	}
	if got := hubs["dol-filings"].Overrides.MaxRetries; got != 5 {
		t.Errorf("DOL Filings retries %d times, want 5", got)
	}
	for _, id := range []string{"company-target", "people-intelligence"} {
		if got := hubs[id].Overrides.TTLTier; got != "MEDIUM" {
			t.Errorf("%s keeps errors %s, want MEDIUM", id, got)
		}
	}
	family := hubs["company-target"].Overrides.Families[0]
	codes := []recoup.Code{"DOMAIN_NOT_FOUND", "DOMAIN_NO_IMPRINT", "DNS_TIMEOUT"}
	if family.After != 3 || family.Reason != recoup.MaxRetriesExceeded || !slices.Equal(family.Codes, codes) {
		t.Errorf("the family is %+v", family)
	}
	missing := p.Conditions[0]
	if !slices.Equal(missing.Codes, []recoup.Code{"MISSING_NAME"}) || !slices.Equal(missing.Tables, []string{"people.people_errors"}) || missing.Reason != recoup.DataQuality {
		t.Errorf("park on missing name is %+v", missing)
	}
}

func TestLadder(t *testing.T) { // spec 000, 10.1
	p := policy.Default()
	want := []policy.Rung{
		{Tier: 1, Owner: "HUB_TEAM", After: 0, ReviewWithin: 24 * time.Hour},
		{Tier: 2, Owner: "HUB_LEAD", After: 48 * time.Hour, ReviewWithin: 8 * time.Hour},
		{Tier: 3, Owner: "PLATFORM_TEAM", After: 7 * day, ReviewWithin: 4 * time.Hour},
	}
	if !slices.Equal(p.Ladder, want) {
		t.Errorf("the ladder is %+v, want %+v", p.Ladder, want)
	}
	owners := map[string][4]string{
		"outreach.dol_errors":            {"system", "dol-filings-team", "dol-filings-lead", "platform-team"},
		"outreach.company_target_errors": {"system", "company-target-team", "company-target-lead", "platform-team"},
		"people.people_errors":           {"system", "people-intelligence-team", "people-intelligence-lead", "platform-team"},
		"public.shq_orphan_errors":       {"system", "platform-team", "platform-team", "platform-team"},
		"public.shq_error_log":           {"system", "platform-team", "platform-team", "platform-team"},
		"pipeline.dead_letters":          {"system", "platform-team", "platform-lead", "platform-team"},
	}
	for name, want := range owners {
		table, _ := p.Table(name)
		for tier, owner := range want {
			if got := table.Owner(tier); got != owner {
				t.Errorf("%s at tier %d is owned by %s, want %s", name, tier, got, owner)
			}
		}
	}
}

func TestBounds(t *testing.T) {
	p := policy.Default()
	if want := (policy.Leases{Default: time.Minute, Max: 15 * time.Minute, ExpiryGrace: 15 * time.Minute}); p.Leases != want {
		t.Errorf("leases are %+v, want %+v", p.Leases, want)
	}
	if p.ExpiryNotice != 24*time.Hour || p.Version != "1.0.0" {
		t.Errorf("expiry notice %v, version %s", p.ExpiryNotice, p.Version)
	}
	want := []policy.ProviderGroup{{Name: "email_validation", Members: []string{"millionverifier", "zerobounce"}, BackAfter: time.Hour}}
	if got := p.Providers; !reflect.DeepEqual(got, want) {
		t.Errorf("providers are %v, want %v", got, want)
	}
}

func TestEveryCodeIsRegistered(t *testing.T) {
	if _, err := policy.Load(policy.DefaultName, policy.DefaultFile(), fault.Default()); err != nil {
		t.Error(err)
	}
}

func spell[S ~string](list []S) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = string(s)
	}
	return out
}

func sameSchedule(a, b retry.Schedule) bool {
	return a.Kind == b.Kind && a.Base == b.Base && a.Multiplier == b.Multiplier && a.Cap == b.Cap &&
		a.Jitter == b.Jitter && slices.Equal(a.Steps, b.Steps)
}
