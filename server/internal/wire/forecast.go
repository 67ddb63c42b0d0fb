package wire

import (
	"time"
)

// Forecast is when queues are empty at their present pace, and which deadlines are missed.
type Forecast struct {
	At      time.Time       `json:"at" doc:"when it was made"`
	Minutes int             `json:"minutes" doc:"how far back the rates of queues look"`
	Queues  []QueueForecast `json:"queues" doc:"every error table, and every pipeline of staged work in use"`
	Days    int             `json:"days" doc:"how far back the rates of park queues look"`
	Park    []ParkForecast  `json:"park" doc:"the park queue of every table that has one"`
	Partial bool            `json:"partial,omitempty" doc:"there are more deadlines than are counted: those of the park queues are at least so many"`
}

// QueueForecast is when a queue is empty, with the figures that this follows from.
type QueueForecast struct {
	Table         string    `json:"table,omitempty" doc:"an error table, whose retries are claimed"`
	Pipeline      string    `json:"pipeline,omitempty" doc:"a pipeline of staged work, all of its stages"`
	Verdict       string    `json:"verdict" enum:"too_little_data,empty,drains,will_not_drain,may_not_drain" doc:"what can be said"`
	Due           int64     `json:"due" doc:"how much is due and held by no worker; beyond some thousands, at least"`
	Waiting       int64     `json:"waiting" doc:"how much waits in all, due or not; of a pipeline, what workers hold too, and beyond some thousands, at least"`
	NewPerMinute  float64   `json:"new_per_minute" doc:"how much came, on average"`
	DonePerMinute float64   `json:"done_per_minute" doc:"how much left the queue, on average"`
	EmptyFrom     time.Time `json:"empty_from,omitzero" doc:"when it is empty at the earliest, in nine cases of ten"`
	EmptyBy       time.Time `json:"empty_by,omitzero" doc:"when it is empty at the latest; without it, perhaps never"`
}

// Name is the table or the pipeline.
func (q *QueueForecast) Name() string {
	if q.Table != "" {
		return q.Table
	}
	return q.Pipeline
}

// ParkForecast is what becomes of what is parked in a table, with the figures that this
// follows from.
type ParkForecast struct {
	Table          string           `json:"table" doc:"the error table"`
	Verdict        string           `json:"verdict" enum:"too_little_data,empty,drains,will_not_drain,may_not_drain" doc:"what can be said of the park queue as a whole"`
	Waiting        int64            `json:"waiting" doc:"how many are parked"`
	NewPerDay      float64          `json:"new_per_day" doc:"how many were parked, on average"`
	ClearedPerDay  float64          `json:"cleared_per_day" doc:"how many were unparked, resolved, archived or verified, on average"`
	ReviewedPerDay float64          `json:"reviewed_per_day" doc:"how many review deadlines were met, on average; clearing an error meets its deadline"`
	EmptyFrom      time.Time        `json:"empty_from,omitzero" doc:"when it is empty at the earliest, in nine cases of ten"`
	EmptyBy        time.Time        `json:"empty_by,omitzero" doc:"when it is empty at the latest; without it, perhaps never"`
	Overdue        int64            `json:"overdue" doc:"how many review deadlines have passed and are still open"`
	OverdueSince   time.Time        `json:"overdue_since,omitzero" doc:"the first of them"`
	Reviews        DeadlineForecast `json:"reviews" doc:"review deadlines to come"`
	Expiries       DeadlineForecast `json:"expiries" doc:"parked errors that expire before anyone clears them"`
}

// DeadlineForecast is how many deadlines are missed if the earliest are served first.
type DeadlineForecast struct {
	Verdict string    `json:"verdict" enum:"too_little_data,empty,in_time,may_miss,will_miss" doc:"what can be said"`
	Of      int64     `json:"of" doc:"how many are still to come"`
	Fewest  int64     `json:"fewest" doc:"how many are missed at least, in nine cases of ten"`
	Most    int64     `json:"most" doc:"how many are missed at most"`
	First   time.Time `json:"first,omitzero" doc:"the earliest that may be missed"`
}
