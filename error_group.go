package recoup

import "time"

// ErrorGroup is what errors of one table and code have in common whose messages differ
// in numbers, ids and quoted text only: one cause, usually, however many it hit. Its
// counts are some seconds old at most.
type ErrorGroup struct {
	ID          ID        `json:"group_id" doc:"names the group"`
	Table       string    `json:"table" doc:"the error table"`
	Code        Code      `json:"code" doc:"what failed"`
	Signature   string    `json:"signature,omitempty" doc:"what the messages have in common"`
	Example     string    `json:"example,omitempty" doc:"the message of one of the first, with secrets replaced"`
	Owner       string    `json:"owner,omitempty" doc:"who takes care of it"`
	Note        string    `json:"note,omitempty" doc:"what is known of it now"`
	FirstSeenAt time.Time `json:"first_seen_at" doc:"when its first error was reported"`
	LastSeenAt  time.Time `json:"last_seen_at" doc:"when its last error was reported"`
	Total       int64     `json:"total" doc:"reports, repeats too"`
	Open        int64     `json:"open" doc:"errors that are open, in whatever state"`

	GroupStates

	Trend []int64 `json:"trend" doc:"reports of each of the last 24 hours, the present one last"`
}

// GroupStates is how many errors of a group are in each state.
type GroupStates struct {
	Active       int64 `json:"active" doc:"errors that are ACTIVE"`
	RetryPending int64 `json:"retry_pending" doc:"errors that are RETRY_PENDING"`
	Parked       int64 `json:"parked" doc:"errors that are PARKED"`
	Escalated    int64 `json:"escalated" doc:"errors that are ESCALATED"`
	Resolved     int64 `json:"resolved" doc:"errors that are RESOLVED and not archived yet"`
}

// TrendHours is how many hours the trend of a group has.
const TrendHours = 24

// GroupOrder is the order of a list of groups.
type GroupOrder string

// The orders of groups.
const (
	GroupsByOpen GroupOrder = "open" // those first of which most is open
	GroupsBySeen GroupOrder = "seen" // those first that were seen last
)
