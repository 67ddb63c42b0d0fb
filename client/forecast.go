package client

import (
	"context"
	"time"
)

// Forecast is when queues are empty at their present pace.
type Forecast struct {
	At      time.Time       `json:"at" doc:"when it was made"`
	Minutes int             `json:"minutes" doc:"how far back the rates look"`
	Queues  []QueueForecast `json:"queues" doc:"every error table, and every lane in use"`
}

// QueueForecast is when a queue is empty, with the figures that this follows from.
type QueueForecast struct {
	Table         string    `json:"table,omitempty" doc:"an error table, whose retries are claimed"`
	Pipeline      string    `json:"pipeline,omitempty" doc:"with stage, a lane of staged work"`
	Stage         string    `json:"stage,omitempty" doc:"with pipeline, a lane of staged work"`
	Verdict       string    `json:"verdict" enum:"too_little_data,empty,drains,will_not_drain,may_not_drain" doc:"what can be said"`
	Due           int64     `json:"due" doc:"how much is due and held by no worker; beyond some thousands, at least"`
	Waiting       int64     `json:"waiting" doc:"how much waits in all, due or not"`
	NewPerMinute  float64   `json:"new_per_minute" doc:"how much came, on average"`
	DonePerMinute float64   `json:"done_per_minute" doc:"how much left the queue, on average"`
	EmptyFrom     time.Time `json:"empty_from,omitzero" doc:"when it is empty at the earliest, in nine cases of ten"`
	EmptyBy       time.Time `json:"empty_by,omitzero" doc:"when it is empty at the latest; without it, perhaps never"`
}

// Forecast says of every queue when it will be empty, or that it will not.
func (c *Client) Forecast(ctx context.Context, options ...CallOption) (Forecast, error) {
	return get[Forecast](ctx, c, "/v1/forecast", nil, options)
}
