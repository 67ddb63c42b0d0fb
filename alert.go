package recoup

import "time"

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
	ID         ID            `json:"alert_id"`
	Rule       string        `json:"rule"`
	Scope      string        `json:"scope,omitempty"` // the hub, service or provider; empty: everything together
	State      AlertState    `json:"state" enum:"PENDING,FIRING,RESOLVED"`
	Severity   AlertSeverity `json:"severity"`
	Action     AlertAction   `json:"action"`
	Condition  string        `json:"condition"` // in words: error_rate > 5% over 24h
	Value      float64       `json:"value"`     // when the condition last held
	Samples    int64         `json:"samples,omitempty"`
	PendingAt  time.Time     `json:"pending_at"`
	FiredAt    time.Time     `json:"fired_at,omitzero"`
	ResolvedAt time.Time     `json:"resolved_at,omitzero"`
	NotifiedAt time.Time     `json:"notified_at,omitzero"` // the last time people were notified
	Notified   int           `json:"notified,omitempty"`   // how often
	Silenced   bool          `json:"silenced,omitempty"`   // a silence covers it now; set in responses only
}

// Silence keeps people from being notified of alerts until a time. Silenced alerts
// still fire.
type Silence struct {
	ID      ID        `json:"silence_id"`
	Rule    string    `json:"rule,omitempty"`  // empty: any
	Scope   string    `json:"scope,omitempty"` // empty: any
	Until   time.Time `json:"until"`
	Reason  string    `json:"reason"`
	At      time.Time `json:"at"`
	By      string    `json:"by"`
	EndedAt time.Time `json:"ended_at,omitzero"` // by hand, before its time
	EndedBy string    `json:"ended_by,omitempty"`
}

// Covers reports whether the silence keeps people from being notified of an
// alert at now.
func (s *Silence) Covers(a *Alert, now time.Time) bool {
	return s.EndedAt.IsZero() && now.Before(s.Until) &&
		(s.Rule == "" || s.Rule == a.Rule) && (s.Scope == "" || s.Scope == a.Scope)
}

// Provider is which member of a group of providers is in use. Since and By are not
// set if it was never switched.
type Provider struct {
	Group   string    `json:"group"`
	Active  string    `json:"active"`
	Members []string  `json:"members"`           // from the policy, the preferred one first; set in responses only
	Since   time.Time `json:"since,omitzero"`    // of the last switch
	By      string    `json:"by,omitempty"`      // who switched
	Reason  string    `json:"reason,omitempty"`  // and why
	AlertID ID        `json:"alert_id,omitzero"` // the alert that switched it; zero: a person did
}
