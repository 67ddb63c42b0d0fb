package policy_test

import (
	"strings"
	"testing"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/policy"
)

func TestLine(t *testing.T) {
	lines := strings.Split(string(policy.DefaultFile()), "\n")
	for _, row := range []struct {
		path []string
		want string
	}{
		{[]string{"severities", "HIGH", "ttl"}, "HIGH:     {disposition"},
		{[]string{"escalation", "ladder", "2", "after"}, "tier: 3"},
		{[]string{"parking", "conditions", "0"}, "name: missing-name"},
	} {
		if n := policy.Default().Line(row.path...); n == 0 || !strings.Contains(lines[n-1], row.want) {
			t.Errorf("%v is on line %d", row.path, n)
		}
	}
	if n := policy.Default().Line("hubs", "platform", "overrides", "ttl"); n != 0 {
		t.Errorf("what is not written is on line %d", n)
	}
}

// A variant differs in one place, and the policy it was made from in none.
func TestWith(t *testing.T) {
	p := policy.Default()
	q := policy.Question{
		Table: "outreach.dol_errors", Entity: true, Code: "MISSING_NAME",
		Class: recoup.ClassImmediate, Category: recoup.Operational, Severity: recoup.High,
	}
	before := p.Resolve(q)
	if e := p.With(nil, "severities", "HIGH", "ttl").Resolve(q); e.TTLTier != "MEDIUM" || e.Action != before.Action {
		t.Errorf("without the severity's TTL: %+v", e)
	}
	if e := p.With("LONG", "severities", "HIGH", "ttl").Resolve(q); e.TTLTier != "LONG" {
		t.Errorf("with another TTL: %+v", e)
	}
	if e := p.With(nil, "parking", "conditions", "0", "tables").Resolve(q); e.Action != recoup.ActionPark {
		t.Errorf("with a condition for every table: %+v", e)
	}
	if n := len(p.With(nil, "parking", "conditions", "1").Conditions); n != len(p.Conditions)-1 {
		t.Errorf("%d conditions are left", n)
	}
	if e := p.With("SHORT", "hubs", "platform", "overrides", "ttl").Resolve(policy.Question{Table: "nowhere"}); e.TTLTier != "SHORT" {
		t.Errorf("with an override where none was: %+v", e)
	}
	if after := p.Resolve(q); after.TTLTier != before.TTLTier || after.Action != before.Action {
		t.Errorf("the policy itself has changed: %+v", after)
	}
}
