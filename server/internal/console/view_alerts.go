package console

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/admin"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// alertsPage is what fires or has fired, and of what nobody is notified.
type alertsPage struct {
	Alerts   []wire.Alert
	State    string // open, all, or a state
	States   []string
	Rule     string
	Loud     int64 // fire, and are not silenced
	Silences []wire.Silence
	Past     bool // silences that are over are listed too
	Refused  string
	First    string
	Next     string
}

func viewAlerts(v *Request) (any, error) {
	q := v.r.URL.Query()
	p := alertsPage{State: cmp.Or(q.Get("state"), "open"), States: []string{"open", "FIRING", "PENDING", "RESOLVED", "all"}, Past: q.Get("past") != "", Rule: q.Get("rule"), Refused: v.who.Refused()}
	f := wire.AlertFilter{Rule: p.Rule, Open: p.State == "open"}
	if p.State != "open" && p.State != "all" {
		f.State = wire.AlertState(p.State)
	}
	page, err := admin.New(v.client).Alerts.List(v.ctx(), f, client.Page{Cursor: q.Get("cursor"), Limit: pageRows})
	if err != nil {
		return nil, err
	}
	p.Alerts = page.Alerts
	for i := range p.Alerts {
		if a := &p.Alerts[i]; a.State == wire.AlertFiring && !a.Silenced {
			p.Loud++
		}
	}
	silences, err := admin.New(v.client).Alerts.Silences(v.ctx(), p.Past, client.Page{Limit: 200})
	if err != nil {
		return nil, err
	}
	p.Silences = silences.Silences
	for _, gone := range []string{"done", "n"} {
		q.Del(gone)
	}
	if q.Has("cursor") {
		q.Del("cursor")
		p.First = Address("alerts", q)
	}
	if page.Next != "" {
		q.Set("cursor", page.Next)
		p.Next = Address("alerts", q)
	}
	return p, nil
}

// alertPage is one alert, and the silences that cover it.
type alertPage struct {
	wire.Alert
	SilencedBy []wire.Silence
	Refused    string
	Typed      url.Values
	Problem    string
}

// Lengths are how long a silence can last.
func (alertPage) Lengths() []string { return []string{"1h", "4h", "8h", "1d", "3d", "7d", "30d"} }

// Chosen reports whether a length was chosen in a form that was refused.
func (p alertPage) Chosen(length string) bool { return p.Typed.Get("for") == length }

// Reason is what was typed.
func (p alertPage) Reason() string { return p.Typed.Get("reason") }

func viewAlert(v *Request) (any, error) {
	id, err := v.pathID("an alert")
	if err != nil {
		return nil, err
	}
	return oneAlert(v, id)
}

func oneAlert(v *Request, id recoup.ID) (alertPage, error) {
	p := alertPage{Refused: v.who.Refused()}
	var err error
	if p.Alert, err = admin.New(v.client).Alerts.Get(v.ctx(), id); err != nil {
		return p, err
	}
	silences, err := admin.New(v.client).Alerts.Silences(v.ctx(), false, client.Page{Limit: 1000})
	for i := range silences.Silences {
		if s := &silences.Silences[i]; s.Covers(&p.Alert, v.now) {
			p.SilencedBy = append(p.SilencedBy, *s)
		}
	}
	return p, err
}

// silenceAlert keeps people from being notified of an alert for a time.
func silenceAlert(v *Request) (any, error) {
	id, err := v.pathID("an alert")
	if err != nil {
		return nil, err
	}
	p, err := oneAlert(v, id)
	if err != nil {
		return nil, err
	}
	asked := wire.NewSilence{Rule: p.Rule, Scope: p.Scope, Reason: v.text("reason")}
	if v.text("everywhere") != "" {
		asked.Scope = ""
	}
	length, err := wire.ParseAge(v.text("for"))
	if err != nil {
		err = fault.BadField("for", "invalid", "say for how long: 4h, or 7d")
	} else {
		asked.Until = v.now.Add(length)
		_, err = admin.New(v.client).Alerts.Silence(v.ctx(), asked)
	}
	if wrong := unfit(err); wrong != "" {
		p.Typed, p.Problem = v.r.PostForm, wrong
		return v.again("alert", p)
	}
	if err != nil {
		return nil, err
	}
	v.goDone("alerts/"+id.String(), "silence", 1)
	return nil, nil
}

// endSilence ends a silence before its time.
func endSilence(v *Request) (any, error) {
	id, err := v.pathID("a silence")
	if err != nil {
		return nil, err
	}
	if _, err := admin.New(v.client).Alerts.EndSilence(v.ctx(), id); err != nil {
		return nil, err
	}
	v.goDone(cmp.Or(alertOf(v.text("back")), "alerts"), "unsilence", 1)
	return nil, nil
}

// alertOf is the page of an alert, if that is where a form comes from.
func alertOf(back string) string {
	text, _ := strings.CutPrefix(back, "alerts/")
	id, err := recoup.ParseID(text)
	if err != nil {
		return ""
	}
	return "alerts/" + id.String()
}

// alertBadge is where an alert stands.
func alertBadge(a wire.Alert) Badge {
	switch {
	case a.State == wire.AlertResolved:
		return Badge{"resolved", "Resolved"}
	case a.Silenced:
		return Badge{"archived", "Silenced"}
	case a.State == wire.AlertFiring:
		return Badge{"critical", "Firing"}
	}
	return Badge{"parked", "Pending"}
}

// figure is the value of an alert, as its condition writes it.
func figure(a wire.Alert) string {
	if strings.Contains(a.Condition, "%") {
		return percent(a.Value)
	}
	return fmt.Sprintf("%.6g", a.Value)
}

// alertSince is when an alert began to be what it is.
func alertSince(a wire.Alert) time.Time {
	switch a.State {
	case wire.AlertFiring:
		return a.FiredAt
	case wire.AlertResolved:
		return a.ResolvedAt
	}
	return a.PendingAt
}
