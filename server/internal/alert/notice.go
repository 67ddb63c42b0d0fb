package alert

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// Body is what a notice of the kinds ALERT and ALERT_RESOLVED carries: everything
// that changed for one recipient at one time. It holds nothing private.
type Body struct {
	Page     bool     `json:"page,omitempty"` // somebody has to be woken
	Alerts   []Line   `json:"alerts,omitempty"`
	More     int      `json:"more,omitempty"` // alerts that the list leaves out
	Switches []Change `json:"switches,omitempty"`
}

// Line is one alert of a notice.
type Line struct {
	ID        recoup.ID          `json:"alert_id"`
	Rule      string             `json:"rule"`
	Scope     string             `json:"scope,omitempty"`
	Severity  wire.AlertSeverity `json:"severity"`
	Action    wire.AlertAction   `json:"action"`
	Condition string             `json:"condition"`
	Value     float64            `json:"value"`
	Samples   int64              `json:"samples,omitempty"`
	Since     time.Time          `json:"since"`
	Until     time.Time          `json:"until,omitzero"` // it has ended then
	Notified  int                `json:"notified"`       // which notification of it this is: 1, 2, 3…
	Hint      string             `json:"hint,omitempty"`
}

// Change is a group that another provider serves from now on.
type Change struct {
	Group string `json:"group"`
	From  string `json:"from"`
	To    string `json:"to"`
}

// maxLines is how many alerts one notice lists.
const maxLines = 50

// notice is one in the making.
type notice struct {
	to   string
	kind wire.NoticeKind
	body Body
	key  string
}

// name gives a notice its key, if it has none yet.
func (n *notice) name(key string) {
	if n.key == "" {
		n.key = key
	}
}

// notice returns the one for a recipient, with which all else goes that they are to
// hear now.
func (j *evaluation) notice(to string, kind wire.NoticeKind, page bool) *notice {
	for _, n := range j.notices {
		if n.to == to && n.kind == kind && n.body.Page == page {
			return n
		}
	}
	n := &notice{to: to, kind: kind, body: Body{Page: page}}
	j.notices = append(j.notices, n)
	return n
}

// notify says what people are notified of: that an alert fires, again when it still does
// after its interval, and that it is over if they have heard of it before. Of one
// that is silenced they do not hear that it fires; that it is over they hear all
// the same, because what was notified to begin must not seem to last for ever.
func (j *evaluation) notify() {
	for _, m := range j.cases {
		to, page := recipient(j.Policy, m)
		switch {
		case m.due(j.Now) && !j.silenced(&m.next) && !j.resting(m):
			m.next.Notified++
			m.next.NotifiedAt = j.Now
			j.notice(to, wire.NoticeAlert, page).add(m)
		case m.next.State == wire.AlertResolved && m.next.Notified > 0:
			j.notice(to, wire.NoticeAlertResolved, page).add(m)
		}
	}
	for _, n := range j.notices {
		j.verdict.Notices = append(j.verdict.Notices, n.write())
	}
}

// due reports whether a notification of a firing alert is due.
func (m *subject) due(now time.Time) bool {
	if m.next.State != wire.AlertFiring || m.few {
		return false
	}
	last := m.next.NotifiedAt
	return last.IsZero() || last.After(now) || now.Sub(last) >= m.rule.Repeat // or the clock was set back
}

// leastRest is how long nobody is notified that a rule holds again that was notified to hold
// before. It doubles with every time.
const leastRest = 5 * time.Minute

// resting reports whether a flapping alert is not to be notified for now. Each
// notification within the rule's interval doubles the wait, up to that interval: what
// flaps is notified a few times in it, and what has ended for good and comes back
// later is notified at once.
func (j *evaluation) resting(m *subject) bool {
	if m.next.Notified > 0 {
		return false
	}
	rest, last := time.Duration(0), time.Time{}
	for i := range j.Earlier {
		a := &j.Earlier[i]
		if a.Rule != m.next.Rule || a.Scope != m.next.Scope || a.Notified == 0 || a.NotifiedAt.After(j.Now) || j.Now.Sub(a.NotifiedAt) >= m.rule.Repeat {
			continue
		}
		rest = min(max(2*rest, leastRest), m.rule.Repeat)
		if a.NotifiedAt.After(last) {
			last = a.NotifiedAt
		}
	}
	return j.Now.Sub(last) < rest
}

func (n *notice) add(m *subject) {
	a := &m.next
	which := fmt.Sprint(a.Notified)
	if a.State == wire.AlertResolved {
		which = "resolved"
	}
	n.name("alert:" + a.ID.String() + ":" + which)
	if len(n.body.Alerts) == maxLines {
		n.body.More++
		return
	}
	n.body.Alerts = append(n.body.Alerts, Line{
		ID: a.ID, Rule: a.Rule, Scope: a.Scope, Severity: a.Severity, Action: a.Action, Condition: a.Condition,
		Value: a.Value, Samples: a.Samples, Since: a.PendingAt, Until: a.ResolvedAt, Notified: a.Notified, Hint: hint(a),
	})
}

// hint says what to do about an alert.
func hint(a *wire.Alert) string {
	switch {
	case a.State == wire.AlertResolved || a.Action != wire.ReviewParkQueue:
		return ""
	case a.Scope == "":
		return "review the park queue: recoup errors list --parked"
	}
	return "review the park queue: recoup errors list --parked --hub " + a.Scope
}

func (n *notice) write() wire.Notice {
	body, err := json.Marshal(n.body)
	if err != nil {
		body = []byte("unencodable") // which no store accepts; a number that is none is the only way here
	}
	return wire.Notice{Kind: n.kind, To: n.to, Key: n.key, Body: recoup.JSON(body)}
}

// recipient says who hears of an alert, and whether they are woken. Where there is
// no hub to notify, the platform's people are notified.
func recipient(p *policy.Policy, m *subject) (to string, page bool) {
	base, hub := p.PlatformHub, p.PlatformHub
	if m.rule == nil || m.rule.Per == policy.PerHub {
		for _, h := range p.Hubs {
			if h.ID == m.next.Scope {
				hub = h
			}
		}
	}
	switch m.next.Action {
	case wire.NotifyHubTeam, wire.ReviewParkQueue:
		return hub.Team, false
	case wire.PageOnCall:
		return hub.Lead, true
	case wire.PagePlatformOnCall:
		return base.Team, true
	}
	return base.Team, false
}
