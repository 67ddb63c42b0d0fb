package policy

import (
	"slices"
	"time"

	"github.com/recoup-dev/recoup/server/internal/wire"
)

func (c *checker) checkMetrics() {
	for _, name := range c.doc.keysOf("metrics") {
		kind, known := kindOf(name)
		threshold := c.file.Metrics[name].Threshold
		if known && threshold != "" {
			c.quantity(kind, name, parseQuantity(string(threshold)), "metrics", name, "threshold")
		}
	}
}

// quantity wants shares for what is relative, numbers for what is counted.
func (c *checker) quantity(kind MetricKind, metric string, q quantity, at ...string) {
	switch {
	case kind.Relative() && !q.percent:
		c.add(c.doc.at(at...), "%s is a share, expected percent such as 5%%", metric)
	case !kind.Relative() && q.percent:
		c.add(c.doc.at(at...), "%s is a number of errors, expected no percent", metric)
	case kind.Relative() && q.value > 1:
		c.add(c.doc.at(at...), "%s is a share, expected at most 100%%", metric)
	}
}

func (c *checker) checkAlerts() {
	var names []string
	for i, f := range c.file.Alerts.Rules {
		at := []string{"alerts", "rules", itoa(i)}
		names = append(names, f.Name)
		c.checkTerm(f, at)
		reference(c, "hub", f.Hub, c.file.Hubs, path(at, "hub")...)
		if f.Hub != "" && f.Per != "" && f.Per != PerHub {
			c.add(c.doc.at(path(at, "hub")...), "the rule is counted per %s, expected per: hub where it names one", f.Per)
		}
		if f.Action == wire.SwitchProvider && f.Per != "" && f.Per != PerProvider {
			c.add(c.doc.at(path(at, "action")...), "there is no provider to switch from, expected per: provider")
		}
		if f.Action == wire.NotifyHubTeam && f.Per != "" && f.Per != PerHub {
			c.add(c.doc.at(path(at, "action")...), "there is no hub to notify, expected per: hub")
		}
	}
	c.once("alert", names, "alerts", "rules")
}

// MaxWindow is how far a rule may look back: what figures are made of is kept a little longer.
const MaxWindow = 30 * 24 * time.Hour

// checkTerm looks at what a rule compares, and over which time.
func (c *checker) checkTerm(f fileRule, at []string) {
	when, ok := parseTerm(f.When)
	if !ok {
		return
	}
	reference(c, "metric", when.metric, c.file.Metrics, path(at, "when")...)
	kind, known := kindOf(when.metric)
	if !known {
		return
	}
	c.quantity(kind, when.metric, when.value, path(at, "when")...)
	if scopes := CountedPer(when.metric); f.Per != "" && !slices.Contains(scopes, f.Per) {
		c.add(c.doc.at(path(at, "per")...), "%s cannot be counted per %s, expected %s or %s", when.metric, f.Per, scopes[0], scopes[1])
	}
	switch given := c.doc.given(path(at, "window")...); {
	case kind.Windowed() && !given:
		c.add(c.doc.at(path(at, "when")...), "%s is counted over time, expected a window", when.metric)
	case !kind.Windowed() && given:
		c.add(c.doc.at(path(at, "window")...), "%s is what holds at the moment, expected no window", when.metric)
	case time.Duration(f.Window) > MaxWindow:
		c.add(c.doc.at(path(at, "window")...), "figures are not kept for so long, expected a window of at most %s", FormatDuration(MaxWindow))
	}
}
