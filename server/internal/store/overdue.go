package store

import "time"

// What is kept until a time, beside errors with their deadlines: see Overdue.
const (
	DuePurge     Deadline = "purge"     // an archived error whose retention is over
	DueReceipt   Deadline = "receipt"   // a receipt that has expired
	DueNotice    Deadline = "notice"    // a notice that was delivered or given up
	DueProcessed Deadline = "processed" // the count of an hour
	DueHourly    Deadline = "hourly"    // the rollup of an hour
	DueDaily     Deadline = "daily"     // the rollup of a day
)

// Overdue is how much has reached its time, and since when the first of it has.
type Overdue struct {
	N     int       // never above what was asked for
	Since time.Time // zero: nothing is
}

// Age is how long the first of it has been overdue.
func (o Overdue) Age(now time.Time) time.Duration {
	if o.Since.IsZero() || o.Since.After(now) {
		return 0
	}
	return now.Sub(o.Since)
}
