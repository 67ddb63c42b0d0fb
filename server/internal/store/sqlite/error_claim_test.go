package sqlite_test

import (
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/test/conformance"
)

// What no claim would be granted does not stand in the way of what is due: an
// error whose window or whose life is over waits for a sweep, and were it read
// it would use up the claim's limit.
func TestClaimPassesOverWhatIsOver(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for _, row := range []struct {
		name string
		make func(d *conformance.Driver) (over time.Time)
	}{
		{"its window", func(d *conformance.Driver) time.Time {
			return d.Report(dol, "over", "NETWORK_TIMEOUT", recoup.Medium).WindowEndsAt.Add(time.Microsecond)
		}},
		{"its TTL", func(d *conformance.Driver) time.Time {
			e := d.Report(dol, "over", "NETWORK_TIMEOUT", recoup.Medium)
			d.Park(e.ID, "look")
			d.Wait(30*day - time.Hour)
			return d.Apply(e.ID, lifecycle.Unpark{By: "ada"}).ExpiresAt
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := conformance.NewDriver(t, open(t))
			over := row.make(d)
			d.WaitUntil(over.Add(-time.Minute))
			due := d.Report(dol, "due", "NETWORK_TIMEOUT", recoup.Medium)
			d.WaitUntil(over)
			claimed := d.Claim([]string{dol}, 1)
			if len(claimed) != 1 || claimed[0].ID != due.ID {
				t.Errorf("claimed %v, want %v", claimed, due.ID)
			}
		})
	}
}

// What is decided together is what is decided one by one.
func TestDecidedTogether(t *testing.T) {
	t.Parallel()
	conformance.RunTogether(t, func(t *testing.T) conformance.Remembering { return open(t) })
}
