package store

import "time"

// Steady returns a clock that says what read said at first, and since then goes
// on as its monotonic reading does: whoever sets the machine's clock forward or
// back does not move it (decision 0029). A test's clock, which has no such reading,
// is followed.
// Times are whole microseconds, which is what the stores keep.
func Steady(read func() time.Time) func() time.Time {
	start := read()
	return func() time.Time { return kept(start.Add(read().Sub(start))) }
}
