package lifecycle_test

import (
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
)

// A step costs at most one allocation: the input itself. Only a report that
// replaces an error carries that error as well.
func TestStepAllocations(t *testing.T) {
	w := newWorld(t)
	pending := w.report(dol, "NETWORK_TIMEOUT", "")
	parked := w.report(dol, "NETWORK_TIMEOUT", recoup.Critical)
	leased, token := w.claim(&pending)
	older := parked
	older.PolicyVersion = "0.9.0"
	report := w.reportOf(dol, "NETWORK_TIMEOUT", "")
	for _, row := range []struct {
		name string
		e    *recoup.Error
		in   func() lifecycle.Input
		at   time.Time
		most float64
	}{
		{"report", nil, func() lifecycle.Input { return report }, w.now, 1},
		{"repeat", &pending, func() lifecycle.Input { return report }, w.now, 2},
		{"claim", &pending, func() lifecycle.Input { return lifecycle.Claim{Token: token, Worker: "w"} }, w.now, 1},
		{"fail", &leased, func() lifecycle.Input {
			return lifecycle.Fail{Token: token, Failure: lifecycle.Failure{Code: "NETWORK_TIMEOUT", Class: "immediate", Category: "TRANSIENT"}}
		}, w.now, 1},
		{"succeed", &leased, func() lifecycle.Input { return lifecycle.Succeed{Token: token} }, w.now, 1},
		{"park", &pending, func() lifecycle.Input { return lifecycle.Park{By: "ada", Reason: "look"} }, w.now, 1},
		{"unpark", &parked, func() lifecycle.Input { return lifecycle.Unpark{By: "ada"} }, w.now, 1},
		{"resolve", &parked, func() lifecycle.Input { return lifecycle.Resolve{By: "ada"} }, w.now, 1},
		{"rebase", &older, func() lifecycle.Input { return lifecycle.Rebase{By: "ada", From: w.policy} }, w.now, 1},
		{"expire", &parked, func() lifecycle.Input { return lifecycle.Expire{} }, parked.ExpiresAt, 0},
	} {
		got := testing.AllocsPerRun(100, func() {
			if _, _, err := lifecycle.Step(w.policy, row.e, row.in(), row.at); err != nil {
				t.Fatal(err)
			}
		})
		if got > row.most {
			t.Errorf("%s: %v allocations, at most %v", row.name, got, row.most)
		}
	}
}
