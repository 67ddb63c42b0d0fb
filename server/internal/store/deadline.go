package store

import "time"

// ParkDeadline is a kind of deadline of what is parked.
type ParkDeadline string

// The deadlines of what is parked.
const (
	ParkReview ParkDeadline = "review" // by then somebody must have looked at it
	ParkExpiry ParkDeadline = "expiry" // then its TTL is over
)

// MaxDeadlines is how many deadlines of a kind are counted, the earliest of them; beyond,
// it is "at least".
const MaxDeadlines = 100_000

// DeadlineCount is how many errors of a table have their deadline in a bucket, and the
// first of them.
type DeadlineCount struct {
	Table  string
	Bucket int // the number of edges that are not after the deadline; zero: before the first
	N      int64
	First  time.Time
}
