package recoup

import "time"

// DayFilter selects counts by day. A zero From is seven days before To, a zero To is
// now; empty fields do not restrict.
type DayFilter struct {
	From    time.Time `query:"from" doc:"a time of the first day; default: 7 days ago"`
	To      time.Time `query:"to" doc:"a time of the last day; default: today"`
	Service string    `query:"service" doc:"only this service"`
	Code    string    `query:"code" doc:"only this code, or an alias of it"`
}

// TopCodes are the codes with the most events in a time.
type TopCodes struct {
	From  time.Time   `json:"from" doc:"counted from"`
	To    time.Time   `json:"to" doc:"counted until"`
	Codes []CodeCount `json:"codes" doc:"the most frequent first"`
}

// RetryableRates is the share of failures that are worth trying again.
type RetryableRates struct {
	Services []ServiceRate `json:"services" doc:"one for each service"`
}

// DailyCounts is counts by day, service and code.
type DailyCounts struct {
	Days []DailyCount `json:"days" doc:"one for each day, service and code"`
}

// DailyCount is how often a service failed with a code on a day.
type DailyCount struct {
	Day       string    `json:"day" format:"date" doc:"in UTC"`
	Service   string    `json:"service" doc:"the service"`
	Code      Code      `json:"code" doc:"the code"`
	Count     int64     `json:"count" doc:"how many events"`
	Retryable int64     `json:"retryable_count" doc:"how many of them were worth trying again"`
	LastSeen  time.Time `json:"last_seen_at" doc:"when the last one happened"`
}

// DropCounts counts events that were left out of the ledger.
type DropCounts struct {
	Drops []DropCount `json:"drops" doc:"one for each day and reason"`
}

// DropCount is how many events were left out of the ledger on a day, and why.
type DropCount struct {
	Day    string `json:"day" format:"date" doc:"in UTC"`
	Reason string `json:"reason" doc:"why it was left out"`
	N      int64  `json:"n" doc:"how many"`
}
