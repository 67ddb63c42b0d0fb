package lifecycle

import (
	"time"

	"github.com/recoup-dev/recoup"
)

// mark sets what metrics count an error by. was is the error before, or the one that a repeat
// replaces; zero for the first report of a failure.
func mark(was, e *recoup.Error, now time.Time) {
	if tried(was, e) {
		e.RetriedAt = now
		if e.RetryExhausted && !was.RetryExhausted {
			e.ExhaustedAt = now
		}
	}
	if e.Historic {
		return
	}
	live := !was.Historic // else it was not counted: it does not count as having left, and enters with what is live
	switch before, after := live && was.State.InParkQueue(), e.State.InParkQueue(); {
	case after && !before:
		e.LastParkedAt, e.UnparkedAt = e.ParkedAt, time.Time{}
	case before && !after:
		e.UnparkedAt = now
	}
	switch before, after := live && was.State == recoup.Escalated, e.State == recoup.Escalated; {
	case after && !before:
		e.DeescalatedAt = time.Time{}
	case before && !after:
		e.DeescalatedAt = now
	}
}

// tried reports whether a retry ended, or a repeat used one up.
func tried(was, e *recoup.Error) bool {
	result := !was.LeaseToken.IsZero() && e.LastAttempt == was.LeaseToken && e.LastResult != ""
	return result || was.State == recoup.RetryPending && e.RetryCount > was.RetryCount
}
