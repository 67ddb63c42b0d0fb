package recoup

import "time"

// Processed counts work that was done, failed or not, in a minute: the
// denominator of error rates.
type Processed struct {
	Minute     time.Time `json:"minute,omitzero" doc:"which minute; default: now"`
	Table      string    `json:"table,omitempty" doc:"an error table; this or service is needed"`
	Service    string    `json:"service,omitempty" doc:"the service that did the work"`
	Count      int64     `json:"count" minimum:"1" doc:"how much was done, failures included"`
	Failed     int64     `json:"failed,omitempty" minimum:"0" doc:"how much of it failed"`
	DurationMS int64     `json:"duration_ms,omitempty" minimum:"0" doc:"how long all of it took together"`

	FailedDurationMS int64 `json:"failed_duration_ms,omitempty" minimum:"0" doc:"how much of that went into what failed"`
}

// ProcessedBatch is many counts.
type ProcessedBatch struct {
	Counts []Processed `json:"counts" minItems:"1" maxItems:"1000" doc:"sums by minute, table and service"`
}
