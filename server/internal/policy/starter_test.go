package policy_test

import (
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/policy"
)

// TestStarter proves that what init writes is a policy, whatever the domain, and short
// enough to be read.
func TestStarter(t *testing.T) {
	for _, s := range []policy.Start{
		{Table: "payments.capture_errors", Entity: "order_id", Team: "payments-team", Channel: "payments-chat"},
		{Table: "images.thumbnail_errors"},
		{Table: "ml_jobs.failed", Entity: "run", Team: "ML & friends"},
	} {
		text, err := policy.Starter(s)
		if err != nil {
			t.Errorf("%+v: %v", s, err)
			continue
		}
		p, err := policy.Load("policy.yaml", text, fault.Default())
		if err != nil {
			t.Fatal(err)
		}
		table, ok := p.Table(s.Table)
		if !ok || table.Blocks != (s.Entity != "") || len(p.Codes) != 1 {
			t.Errorf("%+v became %+v with %d codes", s, table, len(p.Codes))
		}
		if n := strings.Count(string(text), "\n"); n > 60 {
			t.Errorf("the policy has %d lines", n)
		}
	}
	for _, s := range []policy.Start{{Table: "errors"}, {Table: "a.b", Entity: "Order ID"}, {Table: "a.b", Team: "x\ny: z"}, {Table: "a.b", Channel: "No Channel"}} {
		if _, err := policy.Starter(s); err == nil {
			t.Errorf("%+v became a policy", s)
		}
	}
}
