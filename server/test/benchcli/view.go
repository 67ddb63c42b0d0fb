package benchcli

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/test/load"
)

// How often a run is shown: drawn again on a terminal, in lines elsewhere.
const (
	drawEvery    = 500 * time.Millisecond
	leastBetween = time.Second
	mostBetween  = 30 * time.Second
	linesOfRun   = 10
)

// watch shows a run until it is done: a screen on a terminal, lines in a log. Who reads
// JSON gets no lines.
func (b *benchmark) watch(l *load.Load, done <-chan struct{}) {
	v := &view{benchmark: b}
	every, show := drawEvery, v.draw
	switch {
	case b.Terminal:
		defer v.clear()
	case b.Machine():
		return
	default:
		every, show = min(max(b.spans.duration/linesOfRun, leastBetween), mostBetween), v.line
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-done:
			return
		case <-ticker.C:
			f := l.Figures()
			show(&f)
		}
	}
}

// view is what is shown of a run while it goes on.
type view struct {
	*benchmark
	last  load.Figures
	lines int // of the screen that is shown
}

// pace is how many operations per second were sent since the last look.
func (v *view) pace(f *load.Figures) float64 {
	span := f.Elapsed - v.last.Elapsed
	if span <= 0 {
		return 0
	}
	return float64(f.All.Sent-v.last.All.Sent) / span
}

// waiting is how many operations are due that no client can have begun. Latencies have them
// only when they are answered: while a server stalls this is what shows it.
func (v *view) waiting(f *load.Figures) int {
	return f.Planned - f.All.Sent - f.All.Skipped - v.clients
}

// draw draws the screen in the place of the one before.
func (v *view) draw(f *load.Figures) {
	s := v.Streams
	s.Width = min(cmp.Or(s.Width, command.HelpWidth), command.PageWidth)
	screen := fmt.Sprintf("%s\n%s", v.bar(f, s.Width), table(s, f))
	v.clear()
	fmt.Fprint(v.Err, screen)
	v.lines, v.last = strings.Count(screen, "\n"), *f
}

// clear takes the screen away.
func (v *view) clear() {
	if v.lines > 0 {
		fmt.Fprintf(v.Err, "\x1b[%dA\r\x1b[J", v.lines)
	}
	v.lines = 0
}

// bar is how far the run is, in a line of so many columns.
func (v *view) bar(f *load.Figures, width int) string {
	total := v.spans.duration.Seconds()
	left := fmt.Sprintf("%3.0fs of %.0fs ", f.Elapsed, total)
	if f.Elapsed > total {
		left = fmt.Sprintf("%3.0fs over time ", f.Elapsed-total) // what is late is still sent
	}
	right := fmt.Sprintf(" %.0f/s of %d/s", v.pace(f), v.benchmark.rate)
	if n := v.waiting(f); n > 0 {
		right += fmt.Sprintf(", %d waiting", n)
	}
	room := max(width-len(left)-len(right)-2, 10)
	full := min(int(float64(room)*f.Elapsed/total), room)
	return left + "[" + strings.Repeat("#", full) + strings.Repeat("-", room-full) + "]" + right
}

// line prints how the run goes, in a line.
func (v *view) line(f *load.Figures) {
	text := fmt.Sprintf("%.0fs: %d sent, %.0f/s, p50 %s, p99 %s, max %s, %d failed", f.Elapsed, f.All.Sent, v.pace(f),
		micros(f.All.Latency.P50), micros(f.All.Latency.P99), micros(f.All.Latency.Max), f.All.Failed)
	if f.All.Limited > 0 {
		text += fmt.Sprintf(", %d × 429", f.All.Limited)
	}
	if n := v.waiting(f); n > 0 {
		text += fmt.Sprintf(", %d waiting", n)
	}
	v.last = *f
	fmt.Fprintln(v.Err, text)
}
