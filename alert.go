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
	ID         ID            `json:"alert_id" doc:"names the alert"`
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
	ID      ID        `json:"silence_id" doc:"names the silence"`
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

// Provider is which member of a group of providers is in use. Since and By are not
// set if it was never switched.
type Provider struct {
	Group   string    `json:"group" doc:"the group of interchangeable providers"`
	Active  string    `json:"active" doc:"the member to use"`
	Members []string  `json:"members" doc:"all members, the preferred one first"` // from the policy, the preferred one first; set in responses only
	Since   time.Time `json:"since,omitzero" doc:"when it was last switched"`
	By      string    `json:"by,omitempty" doc:"who switched it"`
	Reason  string    `json:"reason,omitempty" doc:"why it was switched"`
	AlertID ID        `json:"alert_id,omitzero" doc:"the alert that switched it; none: a person did"` // the alert that switched it; zero: a person did
}
