package recoup

import "time"

// NoticeKind says what a notification is about.
type NoticeKind string

// The kinds of notifications.
const (
	NoticeParked       NoticeKind = "PARKED"        // an error waits for its owner
	NoticeNotParked    NoticeKind = "NOT_PARKED"    // it should wait for a person, but its table has no PARK
	NoticeEscalated    NoticeKind = "ESCALATED"     // it moved up a tier, to its owner
	NoticeReviewMissed NoticeKind = "REVIEW_MISSED" // nobody reviewed it in time
	NoticeExpiring     NoticeKind = "EXPIRING"      // its expiry will unblock its entity
	NoticeUnblocked    NoticeKind = "UNBLOCKED"     // its expiry has unblocked its entity
	NoticePage         NoticeKind = "PAGE"          // an operator is needed now
	NoticePageOver     NoticeKind = "PAGE_OVER"     // the reason for the page is over

	NoticeAlert         NoticeKind = "ALERT"          // rules hold, or still hold
	NoticeAlertResolved NoticeKind = "ALERT_RESOLVED" // they no longer hold
	NoticeJobLate       NoticeKind = "JOB_LATE"       // a scheduled job is behind schedule
	NoticeJobRecovered  NoticeKind = "JOB_RECOVERED"  // it has caught up
	NoticePolicyRefused NoticeKind = "POLICY_REFUSED" // a changed policy is bad, so the old one stays
	NoticeReplayStopped NoticeKind = "REPLAY_STOPPED" // a replay has stopped itself and waits for a person
)

// NoticeKinds returns all kinds.
func NoticeKinds() []NoticeKind {
	return []NoticeKind{
		NoticeParked, NoticeNotParked, NoticeEscalated, NoticeReviewMissed, NoticeExpiring, NoticeUnblocked, NoticePage, NoticePageOver,
		NoticeAlert, NoticeAlertResolved, NoticeJobLate, NoticeJobRecovered, NoticePolicyRefused,
		NoticeReplayStopped,
	}
}

// NoticeState is what became of a notice.
type NoticeState string

// The states of a notice.
const (
	NoticeWaiting   NoticeState = "WAITING"
	NoticeDelivered NoticeState = "DELIVERED"
	NoticeGivenUp   NoticeState = "GIVEN_UP"
)

// Notice is a notification, sent or still to be sent. Its key, if it has one, is
// unique: a second notice with the same key is not written.
type Notice struct {
	ID          ID          `json:"notice_id"`
	Kind        NoticeKind  `json:"kind"`
	To          string      `json:"to"`                // a team or a lead
	State       NoticeState `json:"state"`             // shown only
	ErrorID     ID          `json:"error_id,omitzero"` // what it is about, if that is an error
	CreatedAt   time.Time   `json:"created_at"`
	DueAt       time.Time   `json:"due_at,omitzero"` // of one that waits: when the next attempt is due
	Attempts    int         `json:"attempts"`
	DeliveredAt time.Time   `json:"delivered_at,omitzero"`
	GivenUpAt   time.Time   `json:"given_up_at,omitzero"`
	LastError   string      `json:"last_error,omitempty"`
	Channel     string      `json:"channel,omitempty"`  // shown only, of a copy: the channel it goes to
	CopyOf      ID          `json:"copy_of,omitzero"`   // shown only: the notice that was copied to several channels
	ResendOf    ID          `json:"resend_of,omitzero"` // the undeliverable notice that this one resends
	Key         string      `json:"-"`
	Body        JSON        `json:"body,omitempty"` // what it says
}

// Outcome returns what became of the notice.
func (n *Notice) Outcome() NoticeState {
	switch {
	case !n.DeliveredAt.IsZero():
		return NoticeDelivered
	case !n.GivenUpAt.IsZero():
		return NoticeGivenUp
	}
	return NoticeWaiting
}

// NoticeFilter selects notices. All fields that are set must match.
type NoticeFilter struct {
	State NoticeState `query:"state" enum:"WAITING,DELIVERED,GIVEN_UP"`
	To    string      `query:"to"`
	Kind  NoticeKind  `query:"kind"`
}
