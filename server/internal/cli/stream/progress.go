package stream

import (
	"fmt"
	"time"
	"unicode/utf8"
)

// progressEvery is how often progress is drawn at most.
const progressEvery = 200 * time.Millisecond

// ShowProgress shows on a terminal how much of some work is done, and nothing elsewhere. A
// total of -1 is unknown. The caller calls end when the work is over.
func (s Streams) ShowProgress(what string) (advance func(done, total int), end func()) {
	if !s.Terminal {
		return func(int, int) {}, func() {}
	}
	line := StatusLine{Streams: s, Every: progressEvery}
	return func(done, total int) {
		if total > 0 {
			line.Show(fmt.Sprintf("%s: %d of %d, %d%%", what, done, total, int(100*float64(done)/float64(total))))
			return
		}
		line.Show(fmt.Sprintf("%s: %d", what, done))
	}, line.Clear
}

// StatusLine is a text at the bottom of a terminal that the next one replaces. It must not be
// used by several goroutines at once.
type StatusLine struct {
	Streams
	Every time.Duration // a text that comes earlier after the last one is not shown

	last string // the text on the terminal; empty: none
	at   time.Time
}

// Show replaces the text.
func (l *StatusLine) Show(text string) {
	now := l.Clock()
	if !l.at.IsZero() && now.Sub(l.at) < l.Every {
		return
	}
	l.Clear()
	fmt.Fprint(l.Err, text)
	l.last, l.at = text, now
}

// Clear removes the text.
func (l *StatusLine) Clear() {
	if l.last == "" {
		return
	}
	if l.Width > 0 {
		if above := (utf8.RuneCountInString(l.last) - 1) / l.Width; above > 0 {
			fmt.Fprintf(l.Err, "\x1b[%dA", above)
		}
	}
	fmt.Fprint(l.Err, "\r\x1b[J")
	l.last = ""
}
