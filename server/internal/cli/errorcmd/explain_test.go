package errorcmd

import (
	"testing"

	"github.com/recoup-dev/recoup/server/internal/lifecycle"
)

// An error is said to be parked when its window closes only if its table allows that.
func TestDeadlineOfWindow(t *testing.T) {
	t.Parallel()
	for want, exits := range map[string][]string{
		"its retry window closes, and it is parked":            {"resolve", "park"},
		"its retry window closes, and it is no longer retried": {"resolve", "archive"},
	} {
		if got := deadline(string(lifecycle.WindowClosed), exits); got != want {
			t.Errorf("with %q it is %q, want %q", exits, got, want)
		}
	}
}
