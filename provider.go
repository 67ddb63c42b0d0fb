package recoup

import "time"

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

// ProviderList is every group of providers.
type ProviderList struct {
	Providers []Provider `json:"providers" doc:"all of them"`
}
