package store

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// Alerts describes the rows of alerts.
var Alerts = sqldb.Table[wire.Alert]{Name: "recoup.alert", Columns: []sqldb.Column[wire.Alert]{
	sqldb.ID("alert_id", func(a *wire.Alert) *recoup.ID { return &a.ID }).Key(),
	sqldb.Text("rule", func(a *wire.Alert) *string { return &a.Rule }),
	sqldb.Text("scope", func(a *wire.Alert) *string { return &a.Scope }),
	sqldb.Text("state", func(a *wire.Alert) *string { return (*string)(&a.State) }),
	sqldb.Text("severity", func(a *wire.Alert) *string { return (*string)(&a.Severity) }),
	sqldb.Text("action", func(a *wire.Alert) *string { return (*string)(&a.Action) }),
	sqldb.Text("condition", func(a *wire.Alert) *string { return &a.Condition }),
	sqldb.Big("samples", func(a *wire.Alert) *int64 { return &a.Samples }),
	sqldb.Time("pending_at", func(a *wire.Alert) *time.Time { return &a.PendingAt }),
	sqldb.Time("fired_at", func(a *wire.Alert) *time.Time { return &a.FiredAt }),
	sqldb.Time("resolved_at", func(a *wire.Alert) *time.Time { return &a.ResolvedAt }),
	sqldb.Time("notified_at", func(a *wire.Alert) *time.Time { return &a.NotifiedAt }),
	sqldb.Int("notified", func(a *wire.Alert) *int { return &a.Notified }),
	sqldb.Real("value", func(a *wire.Alert) *float64 { return &a.Value }),
}}

// MaxOpenAlerts is the most alerts that are looked at together: those of all
// rules and scopes that are not resolved.
const MaxOpenAlerts = 10 * sqldb.MaxPage

// AlertFilter selects alerts. Empty fields do not restrict.
type AlertFilter struct {
	States []wire.AlertState
	Rule   string
	Scope  string

	// Notified leaves only those that people were notified of. It goes with a rule, and the
	// scope counts then, also if it is empty.
	Notified bool
}

// Open reports whether the filter asks for nothing that is resolved.
func (f *AlertFilter) Open() bool {
	return len(f.States) > 0 && !slices.Contains(f.States, wire.AlertResolved)
}

// Silences describes the rows of silences.
var Silences = sqldb.Table[wire.Silence]{Name: "recoup.silence", Columns: []sqldb.Column[wire.Silence]{
	sqldb.ID("silence_id", func(s *wire.Silence) *recoup.ID { return &s.ID }).Key(),
	sqldb.Text("rule", func(s *wire.Silence) *string { return &s.Rule }).Fixed(),
	sqldb.Text("scope", func(s *wire.Silence) *string { return &s.Scope }).Fixed(),
	sqldb.Time("until", func(s *wire.Silence) *time.Time { return &s.Until }).Fixed(),
	sqldb.Text("reason", func(s *wire.Silence) *string { return &s.Reason }).Fixed(),
	sqldb.Time("created_at", func(s *wire.Silence) *time.Time { return &s.At }).Fixed(),
	sqldb.Text("created_by", func(s *wire.Silence) *string { return &s.By }).Fixed(),
	sqldb.Time("ended_at", func(s *wire.Silence) *time.Time { return &s.EndedAt }),
	sqldb.Text("ended_by", func(s *wire.Silence) *string { return &s.EndedBy }),
}}

// AddSilence returns a silence as the act adds it: by whoever acts, and not ended.
func (a Act) AddSilence(s wire.Silence) wire.Silence {
	s.Until, s.Reason, s.At, s.By = kept(s.Until), cmp.Or(s.Reason, a.Reason), kept(a.At), a.By
	s.EndedAt, s.EndedBy = time.Time{}, ""
	return s
}

// EndSilence returns a silence as the act ends it. The first end stands, also where
// that is the silence's own time.
func (a Act) EndSilence(s wire.Silence) wire.Silence {
	if s.EndedAt.IsZero() && a.At.Before(s.Until) {
		s.EndedAt, s.EndedBy = kept(a.At), a.By
	}
	return s
}

// OnSilence returns the row of the audit for an act on a silence.
func (a Act) OnSilence(act string, s *wire.Silence) wire.AuditEntry {
	about := map[string]any{"until": s.Until.UTC().Format(time.RFC3339Nano)}
	if s.Rule != "" {
		about["rule"] = s.Rule
	}
	if s.Scope != "" {
		about["scope"] = s.Scope
	}
	return a.On(act, s.ID.String(), about)
}

// Providers describes the rows of groups of providers.
var Providers = sqldb.Table[recoup.Provider]{Name: "recoup.provider", Columns: []sqldb.Column[recoup.Provider]{
	sqldb.Text("group_name", func(p *recoup.Provider) *string { return &p.Group }).Key(),
	sqldb.Text("active", func(p *recoup.Provider) *string { return &p.Active }),
	sqldb.Time("since", func(p *recoup.Provider) *time.Time { return &p.Since }),
	sqldb.Text("switched_by", func(p *recoup.Provider) *string { return &p.By }),
	sqldb.Text("reason", func(p *recoup.Provider) *string { return &p.Reason }),
	sqldb.ID("alert_id", func(p *recoup.Provider) *recoup.ID { return &p.AlertID }),
}}

// Switch moves a group from one provider to another. If From is not the one in
// use any more it is ErrConflict; empty stands for a group that was never
// switched.
type Switch struct {
	Group, From, To string
	AlertID         recoup.ID
	Reason          string // in a verdict; a person's act has its own
}

// Apply returns the group as the switch leaves it, and the act as the audit
// records it. p is the zero Provider if the group was never switched.
func (s Switch) Apply(p recoup.Provider, act Act) (recoup.Provider, wire.AuditEntry, error) {
	if p.Active != s.From || s.To == s.From || s.To == "" {
		return p, wire.AuditEntry{}, fmt.Errorf("provider of %s: %w", s.Group, ErrConflict)
	}
	about := map[string]any{"to": s.To}
	if s.From != "" {
		about["from"] = s.From
	}
	if !s.AlertID.IsZero() {
		about["alert_id"] = s.AlertID.String()
	}
	next := recoup.Provider{Group: s.Group, Active: s.To, Since: kept(act.At), By: act.By, Reason: act.Reason, AlertID: s.AlertID}
	return next, act.On(ActProviderSwitch, s.Group, about), nil
}

// Verdict is what an evaluation of the alert rules changes: all of it or nothing.
type Verdict struct {
	Alerts   []wire.Alert // new, or new versions
	Notices  []wire.Notice
	Switches []Switch // by the system; without a reason of its own, for the alert's condition
}

// Check returns an error if a notice's body is not JSON.
func (v *Verdict) Check() error {
	for _, n := range v.Notices {
		if err := n.Body.Check(); err != nil {
			return err
		}
	}
	return nil
}

// Act is how the audit records a switch of the verdict.
func (v *Verdict) Act(s Switch, now time.Time) Act {
	act := Act{By: recoup.System, Reason: s.Reason, At: now}
	for i := range v.Alerts {
		if act.Reason == "" && v.Alerts[i].ID == s.AlertID {
			act.Reason = v.Alerts[i].Condition
		}
	}
	return act
}

// The acts on alerts, as the audit names them.
const (
	ActSilenceAdd     = "silence.add"
	ActSilenceEnd     = "silence.end"
	ActProviderSwitch = "provider.switch"
)
