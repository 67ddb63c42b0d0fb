package lease_test

import (
	"testing"

	"github.com/recoup-dev/recoup/server/internal/check"
	"github.com/recoup-dev/recoup/server/internal/lease"
)

// Each number of a claim has a lower and an upper bound.
func TestCheckClaim(t *testing.T) {
	const maxWait = int(lease.MaxWait / 1e9)
	for _, c := range []struct {
		name               string
		limit, lease, wait int
		ok                 bool
	}{
		{"defaults", 0, 0, 0, true},
		{"most", lease.MaxClaim, 1, maxWait, true},
		{"too many", lease.MaxClaim + 1, 0, 0, false},
		{"fewer than none", -1, 0, 0, false},
		{"a negative lease", 0, -1, 0, false},
		{"a negative wait", 0, 0, -1, false},
		{"too long a wait", 0, 0, maxWait + 1, false},
		{"an overflow", 0, 0, 1 << 62, false},
	} {
		var f check.Fields
		lease.CheckClaim(&f, "worker-1", c.limit, c.lease, c.wait)
		if err := f.Err(); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
