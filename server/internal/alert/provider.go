package alert

import (
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// InUse returns the provider of a group that is to be asked, and the row that says
// so; nil: the group was never switched. A row that names a provider which the
// policy does not have any more says nothing: the first member is in use again.
func InUse(group *policy.ProviderGroup, rows []recoup.Provider) (active string, row *recoup.Provider) {
	i := slices.IndexFunc(rows, func(p recoup.Provider) bool { return p.Group == group.Name })
	if i < 0 {
		return group.Members[0], nil
	}
	if !slices.Contains(group.Members, rows[i].Active) {
		return group.Members[0], &rows[i]
	}
	return rows[i].Active, &rows[i]
}

// switchProviders moves groups away from a provider whose alert fires, and back to
// the first once all has been quiet for long enough.
func (j *evaluation) switchProviders() {
	for i := range j.Policy.Providers {
		group := &j.Policy.Providers[i]
		active, row := InUse(group, j.Providers)
		if m := j.failing(active); m != nil {
			j.leave(group, active, row, m)
			continue
		}
		if j.quiet(group, active, row) {
			back := store.Switch{Group: group.Name, To: group.Members[0], AlertID: row.AlertID,
				Reason: "back to the first: quiet for " + policy.FormatDuration(group.BackAfter)}
			j.move(back, active, row, wire.NoticeAlertResolved)
		}
	}
}

// failing returns the alert that fires and takes a provider out of use, or nil.
func (j *evaluation) failing(provider string) *subject {
	for _, m := range j.cases {
		if m.switches() && m.next.Scope == provider && m.next.State == wire.AlertFiring {
			return m
		}
	}
	return nil
}

func (m *subject) switches() bool { return m.rule != nil && m.rule.Action == wire.SwitchProvider }

// leave switches to the next member that does not fail itself; where there is
// none, the platform is paged instead. Whoever has switched to a provider by hand
// while its alert fired has meant it.
func (j *evaluation) leave(group *policy.ProviderGroup, active string, row *recoup.Provider, m *subject) {
	if row != nil && row.AlertID.IsZero() && row.Since.After(m.next.FiredAt) {
		return
	}
	at := slices.Index(group.Members, active)
	for i := 1; i < len(group.Members); i++ {
		to := group.Members[(at+i)%len(group.Members)]
		if j.failing(to) == nil {
			away := store.Switch{Group: group.Name, To: to, AlertID: m.next.ID, Reason: m.next.Rule + ": " + m.next.Condition}
			j.move(away, active, row, wire.NoticeAlert)
			return
		}
	}
	m.next.Action = wire.PagePlatformOnCall
}

// quiet reports whether a group that an alert has switched can go back: for long
// enough nothing was wrong with any of its members. What a person has switched, a
// person switches back.
func (j *evaluation) quiet(group *policy.ProviderGroup, active string, row *recoup.Provider) bool {
	if row == nil || row.AlertID.IsZero() || active == group.Members[0] || group.BackAfter <= 0 {
		return false
	}
	since := row.Since
	later := func(t time.Time) {
		if t.After(since) {
			since = t
		}
	}
	for _, member := range group.Members {
		later(j.Resolved[member])
	}
	for _, m := range j.cases {
		if m.switches() && slices.Contains(group.Members, m.next.Scope) {
			later(j.Now) // it goes on, or has just ended
		}
	}
	return j.Now.Sub(since) >= group.BackAfter
}

// move switches a group, and has the platform's team hear of it.
func (j *evaluation) move(s store.Switch, active string, row *recoup.Provider, kind wire.NoticeKind) {
	if row != nil {
		s.From = row.Active
	}
	j.verdict.Switches = append(j.verdict.Switches, s)
	n := j.notice(j.Policy.PlatformHub.Team, kind, false)
	n.body.Switches = append(n.body.Switches, Change{Group: s.Group, From: active, To: s.To})
	n.name("switch:" + s.Group + ":" + s.AlertID.String() + ":" + s.To)
}
