package wire

import (
	"time"

	"github.com/recoup-dev/recoup"
)

// AlertState is where an alert stands.
type AlertState string

// The states of an alert.
const (
	AlertPending  AlertState = "PENDING"  // its condition holds, not yet for long enough
	AlertFiring   AlertState = "FIRING"   // people were notified
	AlertResolved AlertState = "RESOLVED" // over for good: the next time is a new alert
)

// AlertSeverity is how serious an alert is.
type AlertSeverity string

// The severities of spec 000, 11.2.
const (
	AlertWarning  AlertSeverity = "WARNING"
	AlertHigh     AlertSeverity = "HIGH"
	AlertCritical AlertSeverity = "CRITICAL"
)

// AlertAction is what an alert does.
type AlertAction string

// The actions of spec 000, 11.2 and spec 001.
const (
	NotifyHubTeam      AlertAction = "NOTIFY_HUB_TEAM"
	PageOnCall         AlertAction = "PAGE_ON_CALL"
	ReviewParkQueue    AlertAction = "REVIEW_PARK_QUEUE"
	EscalateToPlatform AlertAction = "ESCALATE_TO_PLATFORM"
	PagePlatformOnCall AlertAction = "PAGE_PLATFORM_ON_CALL"
	SlackAlert         AlertAction = "SLACK_ALERT"
	SwitchProvider     AlertAction = "SWITCH_PROVIDER"
)

// Alert is one episode of a rule that held for one scope: a hub, a service, a
// provider, or everything together. A rule and scope have at most one alert that
// is not resolved.
type Alert struct {
	ID         recoup.ID     `json:"alert_id" doc:"names the alert"`
	Rule       string        `json:"rule" doc:"the rule of the policy"`
	Scope      string        `json:"scope,omitempty" doc:"the hub, service or provider that it is about; none: everything together"`
	State      AlertState    `json:"state" enum:"PENDING,FIRING,RESOLVED" doc:"PENDING: the condition holds, not yet for long enough; FIRING: people were notified; RESOLVED: over for good"`
	Severity   AlertSeverity `json:"severity" doc:"WARNING, HIGH or CRITICAL"`
	Action     AlertAction   `json:"action" doc:"what the rule does, such as NOTIFY_HUB_TEAM or SWITCH_PROVIDER"`
	Condition  string        `json:"condition" doc:"the rule in words: error_rate > 5% over 24h"`
	Value      float64       `json:"value" doc:"the figure when the condition last held"`
	Samples    int64         `json:"samples,omitempty" doc:"of how many samples the figure is made"`
	PendingAt  time.Time     `json:"pending_at" doc:"since when the condition holds"`
	FiredAt    time.Time     `json:"fired_at,omitzero" doc:"when people were first notified"`
	ResolvedAt time.Time     `json:"resolved_at,omitzero" doc:"when the condition no longer held"`
	NotifiedAt time.Time     `json:"notified_at,omitzero" doc:"when people were last notified"`
	Notified   int           `json:"notified,omitempty" doc:"how often people were notified"`
	Silenced   bool          `json:"silenced,omitempty" doc:"whether a silence covers it now"` // a silence covers it now; set in responses only
}

// Silence keeps people from being notified of alerts until a time. Silenced alerts
// still fire.
type Silence struct {
	ID      recoup.ID `json:"silence_id" doc:"names the silence"`
	Rule    string    `json:"rule,omitempty" doc:"the rule that is silenced; none: any"`
	Scope   string    `json:"scope,omitempty" doc:"the scope that is silenced; none: any"`
	Until   time.Time `json:"until" doc:"when it ends by itself"`
	Reason  string    `json:"reason" doc:"why people are not notified"`
	At      time.Time `json:"at" doc:"when it was made"`
	By      string    `json:"by" doc:"who made it"`
	EndedAt time.Time `json:"ended_at,omitzero" doc:"when it was ended by hand, before its time"`
	EndedBy string    `json:"ended_by,omitempty" doc:"who ended it"`
}

// Covers reports whether the silence keeps people from being notified of an
// alert at now.
func (s *Silence) Covers(a *Alert, now time.Time) bool {
	return s.EndedAt.IsZero() && now.Before(s.Until) &&
		(s.Rule == "" || s.Rule == a.Rule) && (s.Scope == "" || s.Scope == a.Scope)
}

// AlertPage is a page of alerts, newest first.
type AlertPage struct {
	Alerts []Alert `json:"alerts" doc:"this page of the list"`
	Next   string  `json:"next,omitempty" doc:"the cursor of the next page; none: this is the last"`
}

// AlertFilter selects alerts. All fields that are set must match.
type AlertFilter struct {
	State AlertState `query:"state" enum:"PENDING,FIRING,RESOLVED" doc:"only alerts in this state; not together with open"`
	Open  bool       `query:"open" doc:"PENDING or FIRING"`
	Rule  string     `query:"rule" maxLength:"100" doc:"only alerts of this rule"`
	Scope string     `query:"scope" maxLength:"200" doc:"only alerts of this hub, service or provider"`
}

// SilencePage is a page of silences, newest first.
type SilencePage struct {
	Silences []Silence `json:"silences" doc:"this page of the list"`
	Next     string    `json:"next,omitempty" doc:"the cursor of the next page; none: this is the last"`
}

// NewSilence asks for a silence: of a rule, of a scope, of a rule for a scope, or,
// if All says so, of everything.
type NewSilence struct {
	Rule   string    `json:"rule,omitempty" maxLength:"100" doc:"a rule of the policy; none: any"`
	Scope  string    `json:"scope,omitempty" maxLength:"200" doc:"a hub, service or provider; none: any"`
	All    bool      `json:"all,omitempty" doc:"everything is meant"`
	Until  time.Time `json:"until" doc:"at most 30 days from now"`
	Reason string    `json:"reason" maxLength:"1000" doc:"others read there why they are not notified"`
}
