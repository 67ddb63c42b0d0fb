package api

import (
	"testing"
	"time"
)

// Rates are kept for a bounded number of callers. Those beyond share one rate, and those that are
// known keep their own.
func TestRatesAreBounded(t *testing.T) {
	now := time.Date(2026, 2, 2, 9, 0, 0, 0, time.UTC)
	r := newRates[int](1) // two in a burst
	for who := 1; who <= maxRates+100; who++ {
		r.take(who, now, 1)
	}
	if len(r.empty) > maxRates+1 {
		t.Errorf("%d rates are kept, want at most %d and the shared one", len(r.empty), maxRates)
	}
	if r.take(maxRates+200, now, 1) == 0 {
		t.Error("a caller beyond the bound has a rate of its own")
	}
	if r.take(1, now, 1) > 0 {
		t.Error("a known caller has lost its own rate")
	}
	now = now.Add(time.Hour)
	if r.take(maxRates+200, now, 1) > 0 || len(r.empty) != 1 {
		t.Errorf("%d rates are kept after an hour, want 1", len(r.empty))
	}
}
