package console

import (
	"strings"
	"testing"
	"time"
)

// A time is said as people say it, and exactly on hover.
func TestMoment(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 16, 12, 0, 0, 0, time.UTC)
	for ago, want := range map[time.Duration]string{
		0: "now", 900 * time.Millisecond: "now", -900 * time.Millisecond: "now", time.Second: "1 s ago", -2 * time.Second: "in 2 s",
		2 * time.Minute: "2 min ago", 3 * time.Hour: "3 h ago", -72 * time.Hour: "in 3 d",
	} {
		if got := string(moment(now, now.Add(-ago))); !strings.Contains(got, ">"+want+"<") {
			t.Errorf("%s ago is %s, want %s", ago, got, want)
		}
	}
	if got := string(moment(now, now)); !strings.Contains(got, `title="Mon 16 Nov 2026 12:00:00 UTC"`) {
		t.Errorf("on hover it is %s", got)
	}
}
