package bench

import (
	"crypto/rand"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/policy"
)

// BenchmarkStep measures one decision of the state machine. Target: at most
// 1 µs and one allocation.
func BenchmarkStep(b *testing.B) {
	p, ids := policy.Default(), recoup.NewIDSource(rand.Reader)
	now := time.Date(2026, 2, 2, 9, 0, 0, 0, time.UTC)
	failure := lifecycle.Failure{Code: "NETWORK_TIMEOUT", Class: recoup.ClassImmediate, Category: recoup.Transient}
	report := lifecycle.Report{ID: ids.New(now), Table: "outreach.dol_errors", EntityID: "CO-20240828-000001", Failure: failure}
	token := ids.New(now)

	step := func(e *recoup.Error, in lifecycle.Input, at time.Time) *recoup.Error {
		next, _, err := lifecycle.Step(p, e, in, at)
		if err != nil {
			b.Fatal(err)
		}
		return &next
	}
	pending := step(nil, report, now)
	due := pending.NextRetryAt
	leased := step(pending, lifecycle.Claim{Token: token, Worker: "w"}, due)
	parked := step(pending, lifecycle.Park{By: "ada", Reason: "look"}, now)

	for _, row := range []struct {
		name string
		e    *recoup.Error
		in   lifecycle.Input
		at   time.Time
	}{
		{"report", nil, report, now},
		{"repeat", pending, report, now},
		{"claim", pending, lifecycle.Claim{Token: token, Worker: "w"}, due},
		{"fail", leased, lifecycle.Fail{Token: token, Failure: failure}, due},
		{"succeed", leased, lifecycle.Succeed{Token: token}, due},
		{"park", pending, lifecycle.Park{By: "ada", Reason: "look"}, now},
		{"unpark", parked, lifecycle.Unpark{By: "ada"}, now},
		{"expire", parked, lifecycle.Expire{}, parked.ExpiresAt},
	} {
		b.Run(row.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := lifecycle.Step(p, row.e, row.in, row.at); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
