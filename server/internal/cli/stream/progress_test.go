package stream_test

import (
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/server/internal/cli/stream"
)

func TestProgress(t *testing.T) {
	t.Parallel()
	const clear = "\r\x1b[J"
	for _, row := range []struct {
		name     string
		terminal bool
		width    int
		after    time.Duration // from one call to the next
		total    int
		want     string
	}{
		{"no terminal", false, 80, time.Second, 200, ""},
		{"known total", true, 80, time.Second, 200, "reading: 1 of 200, 0%" + clear + "reading: 50 of 200, 25%" + clear + "reading: 200 of 200, 100%" + clear},
		{"unknown total", true, 80, time.Second, -1, "reading: 1" + clear + "reading: 50" + clear + "reading: 200" + clear},
		{"empty total", true, 80, time.Second, 0, "reading: 1" + clear + "reading: 50" + clear + "reading: 200" + clear},
		{"too often", true, 80, 150 * time.Millisecond, -1, "reading: 1" + clear + "reading: 200" + clear},
		{"wrapped lines", true, 4, time.Minute, -1, "reading: 1\x1b[2A" + clear + "reading: 50\x1b[2A" + clear + "reading: 200\x1b[2A" + clear},
	} {
		var shown strings.Builder
		now := time.Date(2026, 11, 19, 0, 0, 0, 0, time.UTC)
		advance, end := stream.Streams{Err: &shown, Terminal: row.terminal, Width: row.width, Now: func() time.Time { return now }}.ShowProgress("reading")
		for _, done := range []int{1, 50, 200} {
			advance(done, row.total)
			now = now.Add(row.after)
		}
		end()
		end()
		if shown.String() != row.want {
			t.Errorf("%s: shown is %q, want %q", row.name, &shown, row.want)
		}
	}
}
