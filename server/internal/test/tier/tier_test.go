package tier_test

import (
	"testing"

	"github.com/recoup-dev/recoup/server/internal/test/tier"
)

// skipped reports whether a test that does something is skipped.
func skipped(t *testing.T, do func(testing.TB)) bool {
	t.Helper()
	var inner *testing.T
	t.Run("inner", func(t *testing.T) {
		inner = t
		do(t)
	})
	return inner.Skipped()
}

func TestNightly(t *testing.T) {
	for _, set := range []string{"", "RECOUP_NIGHTLY", "RECOUP_SOAK"} {
		night := set != ""
		t.Setenv("RECOUP_NIGHTLY", "")
		t.Setenv("RECOUP_SOAK", "")
		if night {
			t.Setenv(set, "1")
		}
		if got := skipped(t, func(t testing.TB) { tier.Nightly(t, "an example") }); got == night {
			t.Errorf("%q set: skipped %t", set, got)
		}
		if got, want := tier.Count(3, 50), map[bool]int{false: 3, true: 50}[night]; got != want {
			t.Errorf("%q set: %d rounds, expected %d", set, got, want)
		}
	}
}

func TestOnly(t *testing.T) {
	t.Setenv("RECOUP_NIGHTLY", "")
	t.Setenv("RECOUP_SOAK", "")
	for listed, want := range map[string]bool{"": true, "bus": true, "bus browser": false, "browsers": true} {
		t.Setenv("RECOUP_AREAS", listed)
		if got := skipped(t, func(t testing.TB) { tier.Only(t, tier.Browser) }); got != want {
			t.Errorf("RECOUP_AREAS=%q: skipped %t", listed, got)
		}
	}
	t.Setenv("RECOUP_NIGHTLY", "1")
	if skipped(t, func(t testing.TB) { tier.Only(t, tier.Browser) }) {
		t.Error("an area was left out of nightly")
	}
}

// The four quarters cover every case once, whatever the number of cases.
func TestQuarter(t *testing.T) {
	t.Setenv("RECOUP_NIGHTLY", "")
	t.Setenv("RECOUP_SOAK", "")
	for _, n := range []int{0, 1, 3, 4, 50} {
		covered := 0
		for _, quarter := range []string{"20", "21", "22", "23"} {
			t.Setenv("RECOUP_QUARTER", quarter)
			first, end := tier.Quarter(t, n)
			if first != covered {
				t.Errorf("%d cases, quarter %s: begins at %d, expected %d", n, quarter, first, covered)
			}
			covered = end
		}
		if covered != n {
			t.Errorf("%d of %d cases are covered", covered, n)
		}
	}
	t.Setenv("RECOUP_NIGHTLY", "1")
	if first, end := tier.Quarter(t, 50); first != 0 || end != 50 {
		t.Errorf("nightly runs cases %d to %d of 50", first, end)
	}
}
