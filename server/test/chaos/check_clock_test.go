package chaos

import (
	"slices"
	"testing"
)

// TestLeasesAcrossAJump: two leases of one error at the same time are found where the clock
// that they go by has jumped forward between them or went back before them, and not judged
// where it went back between them or while one was given.
func TestLeasesAcrossAJump(t *testing.T) {
	for _, test := range []struct {
		name     string
		kind     FaultKind
		from, to float64
		found    bool
	}{
		{"forward, between them", JumpForward, 6, 6.5, true},
		{"back, before them", JumpBack, 4, 4.5, true},
		{"back, after them", JumpBack, 12, 12.5, true},
		{"back, between them", JumpBack, 6, 6.5, false},
		{"back, while one was given", JumpBack, 5.2, 5.3, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := good()
			of(r.history, func(o *Operation) bool { return o.Key == "claim-2" }).LeasedAt = at(6)
			r.history = append(r.history, Fault{Kind: test.kind}.Of(at(test.from), at(test.to)))
			found := slices.ContainsFunc(Check(r.history, &r.final), func(v Violation) bool { return v.Rule == "holder" })
			if found != test.found {
				t.Errorf("found: %v", found)
			}
		})
	}
}
