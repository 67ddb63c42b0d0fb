package client

import (
	"context"
	"time"
)

// SeriesFilter says of what, and how far back.
type SeriesFilter struct {
	Table string `query:"table" doc:"only this error table"`
	Hub   string `query:"hub" doc:"only tables of this hub"`
	Hours int    `query:"hours" minimum:"1" maximum:"168" default:"24" doc:"how many hours, the present one included"`
}

// Series is what happened to errors, hour by hour.
type Series struct {
	Hours []HourCount `json:"hours" doc:"each hour, the present one last; those in which nothing happened too"`
}

// HourCount is what happened in an hour.
type HourCount struct {
	Hour      time.Time `json:"hour" doc:"its beginning"`
	Reported  int64     `json:"reported" doc:"failures that were reported, repeats too"`
	Retried   int64     `json:"retried" doc:"results of retries, lost workers too"`
	Succeeded int64     `json:"succeeded" doc:"retries that went well"`
	Parked    int64     `json:"parked" doc:"errors that came to wait for a person"`
	Escalated int64     `json:"escalated" doc:"errors that moved up a tier for the first time since they were parked"`
	Expired   int64     `json:"expired" doc:"errors whose TTL ran out"`
	Archived  int64     `json:"archived" doc:"errors that went to the archive, for whatever reason"`
}

// Series counts what happened to errors in each of the last hours. The present hour is some
// seconds old at most.
func (c *Client) Series(ctx context.Context, f SeriesFilter, options ...CallOption) (Series, error) {
	q := query{}.text("table", f.Table).text("hub", f.Hub).number("hours", f.Hours)
	return get[Series](ctx, c, "/v1/series", q.values(), options)
}
