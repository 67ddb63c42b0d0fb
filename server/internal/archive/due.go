package archive

import (
	"time"

	"github.com/recoup-dev/recoup/server/internal/store"
)

const (
	// settle is how long after its end a day is written: events may be as far ahead of
	// the clock, and most that come late have come by then. As long a file stands before
	// it is written again for events that came later still.
	settle = 24 * time.Hour

	oneDay = 24 * time.Hour
)

// Due returns since when a day is to be written, or zero if it is not yet or has been. A
// day whose month may be dropped is not waited for.
func Due(d store.EventDay, now time.Time, retention time.Duration) time.Time {
	since := d.Day.Add(oneDay + settle)
	if d.File != nil {
		if d.File.Rows >= d.Events {
			return time.Time{}
		}
		if since = d.File.WrittenAt.Add(settle); store.Month(d.Day).AddDate(0, 1, 0).Add(retention).Before(now) {
			since = d.File.WrittenAt
		}
	}
	if since.After(now) {
		return time.Time{}
	}
	return since
}
