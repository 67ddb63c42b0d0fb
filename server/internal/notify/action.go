package notify

import (
	"slices"

	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// wants says which kind of channel a notice is for by its nature: one that pages is
// for a pager, an alert that asks for Slack is for Slack. Empty: none.
func (l *outgoing) wants(u policy.Urgency) Kind {
	if u == policy.Page {
		return PagerDuty
	}
	if l.Kind == wire.NoticeAlert || l.Kind == wire.NoticeAlertResolved {
		for _, line := range readBody(l.body).Alerts {
			if line.Action == wire.SlackAlert {
				return Slack
			}
		}
	}
	return ""
}

// only returns the one channel of a kind, if there is exactly one, and no route of
// the policy names it: what routes name goes by the routes.
func (d *Dispatcher) only(rules *policy.Notifications, kind Kind) string {
	found := ""
	for name, l := range d.lanes {
		if kind == "" || l.kind != kind {
			continue
		}
		if found != "" {
			return ""
		}
		found = name
	}
	if slices.Contains(rules.Named(), found) {
		return ""
	}
	return found
}

// reach says where a team is notified of something that is for a kind of channel, as
// the policy's routes and the node's channels have it.
func (d *Dispatcher) reach(rules *policy.Notifications, team string, kind wire.NoticeKind, u policy.Urgency, wants Kind) []string {
	names := rules.Channels(team, kind, u)
	if only := d.only(rules, wants); only != "" {
		names = append(slices.Clone(names), only)
	}
	return names
}

// Unreached is an action whose notices to some teams are only logged.
type Unreached struct {
	Action wire.AlertAction
	Teams  []string
}

// Unreached returns the actions of the policy's alerts that are to wake or to
// message somebody and reach nobody, in the order of the rules.
func (d *Dispatcher) Unreached() []Unreached {
	p := d.o.Policy()
	var list []Unreached
	for _, rule := range p.Alerts {
		wants, u := PagerDuty, policy.Page
		teams := []string{p.PlatformHub.Team}
		switch rule.Action {
		case wire.SlackAlert:
			wants, u = Slack, policy.Warning
		case wire.PagePlatformOnCall:
		case wire.PageOnCall:
			teams = leads(p, rule)
		default:
			continue
		}
		for _, team := range teams {
			if !slices.ContainsFunc(d.reach(&p.Notifications, team, wire.NoticeAlert, u, wants), d.speaks) {
				list = addUnreached(list, rule.Action, team)
			}
		}
	}
	return list
}

// addUnreached adds a team to those of an action, once.
func addUnreached(list []Unreached, action wire.AlertAction, team string) []Unreached {
	i := slices.IndexFunc(list, func(x Unreached) bool { return x.Action == action })
	if i < 0 {
		i, list = len(list), append(list, Unreached{Action: action})
	}
	if !slices.Contains(list[i].Teams, team) {
		list[i].Teams = append(list[i].Teams, team)
	}
	return list
}

// leads are those whom a rule wakes.
func leads(p *policy.Policy, rule policy.Alert) []string {
	if rule.Per != policy.PerHub {
		return []string{p.PlatformHub.Lead}
	}
	var list []string
	for _, h := range p.Hubs {
		if rule.Hub == "" || rule.Hub == h.ID {
			list = append(list, h.Lead)
		}
	}
	return list
}

// speaks reports whether a channel of this node is more than a log.
func (d *Dispatcher) speaks(name string) bool {
	return d.lanes[name] != nil && d.lanes[name].kind != Log
}
