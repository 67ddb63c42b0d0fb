package wire

import (
	"time"
)

// Metrics are the current values of the policy's metrics.
type Metrics struct {
	At      time.Time `json:"at" doc:"when they were measured"`
	Metrics []Metric  `json:"metrics" doc:"one for each metric and scope"`
}

// Metric is the value of a metric for a table, a hub, a service, a provider, or the
// whole platform.
type Metric struct {
	Metric    string  `json:"metric" doc:"its name in the policy"`
	Per       string  `json:"per" enum:"platform,hub,table,service,provider" doc:"what it is counted for"`
	Scope     string  `json:"scope,omitempty" doc:"which table, hub, service or provider; none: the platform"`
	Hub       string  `json:"hub,omitempty" doc:"the hub that a table or hub metric belongs to"`
	Value     float64 `json:"value" doc:"a share for rates: 5 % is 0.05"`
	Samples   int64   `json:"samples" doc:"of how many samples a rate or an average is made"`
	Window    string  `json:"window,omitempty" doc:"the time that it is counted over"`
	Threshold float64 `json:"threshold,omitempty" doc:"the value above which a rule holds"`
	Above     bool    `json:"above" doc:"whether the value is above the threshold; false where the metric has none"`
	Few       bool    `json:"few,omitempty" doc:"there are too few samples to be meaningful"`
}
