package wire

import (
	"time"
)

// SeriesFilter says of what, and how far back.
type SeriesFilter struct {
	Table string `query:"table" doc:"only this error table"`
	Hub   string `query:"hub" doc:"only tables of this hub"`
	Code  string `query:"code" doc:"only this code: then events and reports alone are counted"`
	Hours int    `query:"hours" minimum:"1" maximum:"168" default:"24" doc:"how many hours, the present one included"`
}

// Series is what happened to errors, hour by hour.
type Series struct {
	Hours      []HourCount `json:"hours" doc:"each hour, the present one last; those in which nothing happened too"`
	Counted    []string    `json:"counted" doc:"which figures of the hours are known for what was asked; the others are zero. Events are counted by code, and for keys of all hubs, not by table; of a code only events and reports are"`
	Partial    bool        `json:"partial,omitempty" doc:"the code has more groups of errors than were counted"`
	Thresholds []Threshold `json:"thresholds" doc:"alert rules that compare one of the figures, for what was asked"`
}

// HourCount is what happened in an hour.
type HourCount struct {
	Hour      time.Time `json:"hour" doc:"its beginning"`
	Events    int64     `json:"events" doc:"events of the ledger that happened"`
	Reported  int64     `json:"reported" doc:"failures that were reported, repeats too"`
	Retried   int64     `json:"retried" doc:"results of retries, lost workers too"`
	Succeeded int64     `json:"succeeded" doc:"retries that went well"`
	Resolved  int64     `json:"resolved" doc:"errors that were resolved without a retry: by people, or with their source row"`
	Parked    int64     `json:"parked" doc:"errors that came to wait for a person"`
	Cleared   int64     `json:"cleared" doc:"parked errors that were unparked, resolved, archived or verified"`
	Reviewed  int64     `json:"reviewed" doc:"review deadlines that were met"`
	InPark    int64     `json:"in_park" doc:"errors that were parked when the hour ended; of the present one, right now"`
	Escalated int64     `json:"escalated" doc:"errors that moved up a tier for the first time since they were parked"`
	Expired   int64     `json:"expired" doc:"errors whose TTL ran out"`
	Archived  int64     `json:"archived" doc:"errors that went to the archive, for whatever reason"`
}

// Threshold is where an alert rule draws its line.
type Threshold struct {
	Rule     string  `json:"rule" doc:"the rule"`
	Figure   string  `json:"figure" doc:"the figure of an hour that it compares"`
	Compare  string  `json:"compare" enum:">,>=,<,<=" doc:"how"`
	Value    float64 `json:"value" doc:"with what"`
	Severity string  `json:"severity" doc:"how bad it is if that holds"`
}
