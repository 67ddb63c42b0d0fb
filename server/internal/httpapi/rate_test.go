package httpapi

import (
	"net/http"
	"net/netip"
	"strings"
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

// A caller who owes more than it has waits until that is there, and no longer than a burst takes.
func TestRatesAreOwed(t *testing.T) {
	now := time.Date(2026, 2, 2, 9, 0, 0, 0, time.UTC)
	r := newRates[int](10) // twenty in a burst
	for range 100 {
		r.owe(1, now, 19)
	}
	if wait := r.take(1, now, 1); wait != 2100*time.Millisecond {
		t.Errorf("waits for %s, want 2.1 s", wait)
	}
	if r.take(2, now, 20) > 0 {
		t.Error("another caller waits too")
	}
	now = now.Add(2100 * time.Millisecond)
	if wait := r.take(1, now, 1); wait > 0 {
		t.Errorf("waits for %s after that", wait)
	}
	if r.take(1, now.Add(-time.Hour), 20) > 0 {
		t.Error("a clock that is set back by an hour keeps a caller out")
	}
}

// Guessed keys are bounded by what a lookup costs, however they are spread over a second.
func TestGuessesAreBounded(t *testing.T) {
	now := time.Date(2026, 2, 2, 9, 0, 0, 0, time.UTC)
	g := &admissionControl{limits: Limits{Unkeyed: 2000}, byAddress: newRates[netip.Addr](2000)}
	client, guesses := netip.MustParseAddr("192.0.2.1"), 0
	for range 5000 { // five seconds, a guess each millisecond
		if g.unkeyed(client, now) == nil {
			g.guessed(client, now)
			guesses++
		}
		now = now.Add(time.Millisecond)
	}
	if guesses < 600 || guesses > 750 {
		t.Errorf("%d guesses in five seconds, want about 700: 100 a second and a burst of 200", guesses)
	}
}

// What a request says of itself is cut before anything looks for secrets in it.
func TestLongHeadersAreCut(t *testing.T) {
	h := http.Header{}
	for value, want := range map[string]string{
		"curl/8.5":                           "curl/8.5",
		strings.Repeat("password+", 3000):    "",
		strings.Repeat("Mozilla/5.0 ", 1000): strings.TrimSpace(strings.Repeat("Mozilla/5.0 ", 21)),
	} {
		h.Set("User-Agent", value)
		cutHeader(h, "User-Agent")
		if got := h.Get("User-Agent"); got != want {
			t.Errorf("%.20q…: %q, want %q", value, got, want)
		}
	}
}
