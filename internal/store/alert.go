package store

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"recoup"
	"recoup/internal/policy"
	"recoup/internal/store/row"
)

// AlertState is where an alert stands.
type AlertState string

// The states of an alert.
const (
	AlertPending  AlertState = "PENDING"  // its condition holds, not yet for long enough
	AlertFiring   AlertState = "FIRING"   // people were told
	AlertResolved AlertState = "RESOLVED" // over, for good: the next time is another alert
)

// Alert is one episode of a rule that held for one scope. At most one of a rule
// and a scope is not resolved.
type Alert struct {
	ID         recoup.ID            `json:"alert_id"`
	Rule       string               `json:"rule"`
	Scope      string               `json:"scope,omitempty"` // the hub, service or provider; empty: everything together
	State      AlertState           `json:"state"`
	Severity   policy.AlertSeverity `json:"severity"`
	Action     policy.AlertAction   `json:"action"`
	Condition  string               `json:"condition"` // in words: error_rate > 5% over 24h
	Value      float64              `json:"value"`     // when it was last seen to hold
	Samples    int64                `json:"samples"`
	PendingAt  time.Time            `json:"pending_at"`
	FiredAt    time.Time            `json:"fired_at,omitzero"`
	ResolvedAt time.Time            `json:"resolved_at,omitzero"`
	NotifiedAt time.Time            `json:"notified_at,omitzero"` // the last time people were told
	Notified   int                  `json:"notified"`             // how often
}

// Alerts describes the rows of alerts.
var Alerts = row.Table[Alert]{Name: "recoup.alert", Columns: []row.Column[Alert]{
	row.ID("alert_id", func(a *Alert) *recoup.ID { return &a.ID }).Key(),
	row.Text("rule", func(a *Alert) *string { return &a.Rule }),
	row.Text("scope", func(a *Alert) *string { return &a.Scope }),
	row.Text("state", func(a *Alert) *string { return (*string)(&a.State) }),
	row.Text("severity", func(a *Alert) *string { return (*string)(&a.Severity) }),
	row.Text("action", func(a *Alert) *string { return (*string)(&a.Action) }),
	row.Text("condition", func(a *Alert) *string { return &a.Condition }),
	row.Big("samples", func(a *Alert) *int64 { return &a.Samples }),
	row.Time("pending_at", func(a *Alert) *time.Time { return &a.PendingAt }),
	row.Time("fired_at", func(a *Alert) *time.Time { return &a.FiredAt }),
	row.Time("resolved_at", func(a *Alert) *time.Time { return &a.ResolvedAt }),
	row.Time("notified_at", func(a *Alert) *time.Time { return &a.NotifiedAt }),
	row.Int("notified", func(a *Alert) *int { return &a.Notified }),
	row.Real("value", func(a *Alert) *float64 { return &a.Value }),
}}

// MaxOpenAlerts is the most alerts that are looked at together: those of all
// rules and scopes that are not resolved.
const MaxOpenAlerts = 10 * MaxPage

// AlertFilter selects alerts. Empty fields do not restrict.
type AlertFilter struct {
	States []AlertState
	Rule   string
	Scope  string

	// Told leaves only those that people were told of. It goes with a rule, and the
	// scope counts then, also if it is empty.
	Told bool
}

// Open reports whether the filter asks for nothing that is resolved.
func (f *AlertFilter) Open() bool {
	return len(f.States) > 0 && !slices.Contains(f.States, AlertResolved)
}

// Silence keeps alerts from being told for a time. They fire all the same.
type Silence struct {
	ID      recoup.ID `json:"silence_id"`
	Rule    string    `json:"rule,omitempty"`  // empty: any
	Scope   string    `json:"scope,omitempty"` // empty: any
	Until   time.Time `json:"until"`
	Reason  string    `json:"reason"`
	At      time.Time `json:"at"`
	By      string    `json:"by"`
	EndedAt time.Time `json:"ended_at,omitzero"` // by hand, before its time
	EndedBy string    `json:"ended_by,omitempty"`
}

// Silences describes the rows of silences.
var Silences = row.Table[Silence]{Name: "recoup.silence", Columns: []row.Column[Silence]{
	row.ID("silence_id", func(s *Silence) *recoup.ID { return &s.ID }).Key(),
	row.Text("rule", func(s *Silence) *string { return &s.Rule }).Fixed(),
	row.Text("scope", func(s *Silence) *string { return &s.Scope }).Fixed(),
	row.Time("until", func(s *Silence) *time.Time { return &s.Until }).Fixed(),
	row.Text("reason", func(s *Silence) *string { return &s.Reason }).Fixed(),
	row.Time("created_at", func(s *Silence) *time.Time { return &s.At }).Fixed(),
	row.Text("created_by", func(s *Silence) *string { return &s.By }).Fixed(),
	row.Time("ended_at", func(s *Silence) *time.Time { return &s.EndedAt }),
	row.Text("ended_by", func(s *Silence) *string { return &s.EndedBy }),
}}

// Covers reports whether the silence keeps an alert from being told at now.
func (s *Silence) Covers(a *Alert, now time.Time) bool {
	return s.EndedAt.IsZero() && now.Before(s.Until) &&
		(s.Rule == "" || s.Rule == a.Rule) && (s.Scope == "" || s.Scope == a.Scope)
}

// Made returns the silence as its act adds it: by whoever acts, and not ended.
func (s Silence) Made(act Act) Silence {
	return Silence{
		ID: s.ID, Rule: s.Rule, Scope: s.Scope, Until: kept(s.Until),
		Reason: cmp.Or(s.Reason, act.Reason), At: kept(act.At), By: act.By,
	}
}

// Ended returns the silence as its act ends it. The first end stands, also where
// that is the silence's own time.
func (s Silence) Ended(act Act) Silence {
	if s.EndedAt.IsZero() && act.At.Before(s.Until) {
		s.EndedAt, s.EndedBy = kept(act.At), act.By
	}
	return s
}

// About tells the audit what silence it is.
func (s *Silence) About() map[string]any {
	about := map[string]any{"until": s.Until.UTC().Format(time.RFC3339Nano)}
	if s.Rule != "" {
		about["rule"] = s.Rule
	}
	if s.Scope != "" {
		about["scope"] = s.Scope
	}
	return about
}

// Provider is which member of a group of providers is in use. A group that was
// never switched has no row: its first member is in use.
type Provider struct {
	Group   string    `json:"group"`
	Active  string    `json:"active"`
	Since   time.Time `json:"since"`
	By      string    `json:"by"`
	Reason  string    `json:"reason"`
	AlertID recoup.ID `json:"alert_id,omitzero"` // the alert that switched it; zero: a person did
}

// Providers describes the rows of groups of providers.
var Providers = row.Table[Provider]{Name: "recoup.provider", Columns: []row.Column[Provider]{
	row.Text("group_name", func(p *Provider) *string { return &p.Group }).Key(),
	row.Text("active", func(p *Provider) *string { return &p.Active }),
	row.Time("since", func(p *Provider) *time.Time { return &p.Since }),
	row.Text("switched_by", func(p *Provider) *string { return &p.By }),
	row.Text("reason", func(p *Provider) *string { return &p.Reason }),
	row.ID("alert_id", func(p *Provider) *recoup.ID { return &p.AlertID }),
}}

// Switch moves a group from one provider to another. If From is not the one in
// use any more it is ErrConflict; empty stands for a group that was never
// switched.
type Switch struct {
	Group, From, To string
	AlertID         recoup.ID
	Reason          string // in a verdict; a person's act has its own
}

// Switched returns the group as the switch leaves it, and the act as the audit
// tells of it. p is the zero Provider if the group was never switched.
func (p Provider) Switched(s Switch, act Act) (Provider, AuditEntry, error) {
	if p.Active != s.From || s.To == s.From || s.To == "" {
		return p, AuditEntry{}, fmt.Errorf("provider of %s: %w", s.Group, ErrConflict)
	}
	about := map[string]any{"to": s.To}
	if s.From != "" {
		about["from"] = s.From
	}
	if !s.AlertID.IsZero() {
		about["alert_id"] = s.AlertID.String()
	}
	next := Provider{Group: s.Group, Active: s.To, Since: kept(act.At), By: act.By, Reason: act.Reason, AlertID: s.AlertID}
	return next, act.On(ActProviderSwitch, s.Group, about), nil
}

// Verdict is what an evaluation of the alert rules changes: all of it or nothing.
type Verdict struct {
	Alerts   []Alert // new, or new versions
	Notices  []Notice
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

// Act is how the audit tells of a switch of the verdict.
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
