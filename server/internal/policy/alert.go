package policy

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/recoup-dev/recoup/server/internal/wire"
)

// Metric is something the node measures, and where it turns amber (spec 000,
// 11.1).
type Metric struct {
	Name      string
	Kind      MetricKind
	Means     string
	Threshold float64 // zero: none; a share for rates, so 5 % is 0.05
}

// MetricKind says how a metric is read.
type MetricKind string

// The kinds of metrics. Rates and counts are taken over a rule's window;
// a level is what holds at the moment.
const (
	Rate  MetricKind = "rate"
	Count MetricKind = "count"
	Level MetricKind = "level"
	Share MetricKind = "share" // a level between 0 and 1
)

// kindOf lists the metrics that a node can measure.
func kindOf(metric string) (MetricKind, bool) {
	switch metric {
	case "error_rate", "park_rate", "retry_exhaustion_rate", "escalation_rate", "request_error_rate":
		return Rate, true
	case "database_errors", "external_service_errors":
		return Count, true
	case "parked_errors", "blocking_errors", "parked_today", "unattended_seconds":
		return Level, true
	case "average_ttl_utilization":
		return Share, true
	}
	return "", false
}

// CountedPer lists what a metric can be counted for.
func CountedPer(metric string) []Scope {
	switch metric {
	case "request_error_rate":
		return []Scope{PerPlatform, PerService}
	case "database_errors", "external_service_errors":
		return []Scope{PerPlatform, PerProvider}
	}
	if _, known := kindOf(metric); known {
		return []Scope{PerPlatform, PerHub}
	}
	return nil
}

// Relative reports whether values of this kind are shares, written in percent.
func (k MetricKind) Relative() bool { return k == Rate || k == Share }

// Windowed reports whether a value of this kind needs a window.
func (k MetricKind) Windowed() bool { return k == Rate || k == Count }

// Alert notifies somebody when a metric leaves its bounds (spec 000, 11.2).
type Alert struct {
	Name     string
	Metric   string
	Compare  Comparison
	Value    float64       // a share for rates
	Window   time.Duration // zero: the metric is a level
	For      time.Duration // it must hold this long before anyone is notified
	Repeat   time.Duration // while it holds the notification is repeated so often
	Per      Scope
	Hub      string // empty: every hub
	Severity wire.AlertSeverity
	Action   wire.AlertAction
}

// Comparison is how an alert compares its metric with its value.
type Comparison string

// The comparisons of an alert.
const (
	Above   Comparison = ">"
	AtLeast Comparison = ">="
	Below   Comparison = "<"
	AtMost  Comparison = "<="
)

// Holds reports whether v compares with limit as c says.
func (c Comparison) Holds(v, limit float64) bool {
	switch c {
	case Above:
		return v > limit
	case AtLeast:
		return v >= limit
	case Below:
		return v < limit
	}
	return v <= limit
}

// Scope is what an alert is counted for, each on its own.
type Scope string

// The scopes of an alert.
const (
	PerPlatform Scope = "platform" // everything together
	PerHub      Scope = "hub"
	PerService  Scope = "service"
	PerProvider Scope = "provider"
)

// term is the condition of an alert: error_rate > 5%.
type term struct {
	metric  string
	compare Comparison
	value   quantity
}

var termPattern = regexp.MustCompile(`^([a-z_]+) (>=|>|<=|<) (\d+(?:\.\d+)?%?)$`)

func parseTerm(s string) (term, bool) {
	m := termPattern.FindStringSubmatch(s)
	if m == nil {
		return term{}, false
	}
	return term{m[1], Comparison(m[2]), parseQuantity(m[3])}, true
}

// quantity is a plain number, or a share written in percent.
type quantity struct {
	value   float64
	percent bool
}

// parseQuantity reads what the schema's pattern for numbers has accepted.
func parseQuantity(s string) quantity {
	digits, percent := strings.CutSuffix(s, "%")
	v, _ := strconv.ParseFloat(digits, 64)
	if percent {
		v /= 100
	}
	return quantity{v, percent}
}

// Condition writes when the alert speaks: error_rate > 5% over 24h.
func (a Alert) Condition() string {
	value := strconv.FormatFloat(a.Value, 'f', -1, 64)
	if kind, _ := kindOf(a.Metric); kind.Relative() {
		value = strconv.FormatFloat(a.Value*100, 'g', 6, 64) + "%"
	}
	term := fmt.Sprintf("%s %s %s", a.Metric, a.Compare, value)
	if a.Window > 0 {
		term += " over " + FormatDuration(a.Window)
	}
	if a.For > 0 {
		term += " for " + FormatDuration(a.For)
	}
	return term
}
