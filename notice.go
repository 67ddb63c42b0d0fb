package recoup

import "time"

// NoticeKind says what a notice is about.
type NoticeKind string

// What people are told.
const (
	NoticeParked       NoticeKind = "PARKED"        // an error waits for its owner
	NoticeNotParked    NoticeKind = "NOT_PARKED"    // it should wait for a person, but its table has no PARK
	NoticeEscalated    NoticeKind = "ESCALATED"     // it moved up to its owner
	NoticeReviewMissed NoticeKind = "REVIEW_MISSED" // nobody reviewed it in time
	NoticeExpiring     NoticeKind = "EXPIRING"      // its expiry will unblock its entity
	NoticeUnblocked    NoticeKind = "UNBLOCKED"     // its expiry has unblocked its entity
	NoticePage         NoticeKind = "PAGE"          // an operator is needed now
	NoticePageOver     NoticeKind = "PAGE_OVER"     // what an operator was needed for has ended

	NoticeAlert         NoticeKind = "ALERT"          // rules hold, or still hold
	NoticeAlertResolved NoticeKind = "ALERT_RESOLVED" // they hold no more
	NoticeJobLate       NoticeKind = "JOB_LATE"       // what the clock should do is not done in time
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

// Notice is something that somebody was notified of, or is to be. One with a key is
// sent once: another with that key is never written beside it.
type Notice struct {
	ID          ID          `json:"notice_id"`
	Kind        NoticeKind  `json:"kind"`
	To          string      `json:"to"`                // a team or a lead
	State       NoticeState `json:"state"`             // shown only
	ErrorID     ID          `json:"error_id,omitzero"` // what it is about, if that is an error
	CreatedAt   time.Time   `json:"created_at"`
	DueAt       time.Time   `json:"due_at,omitzero"` // of one that waits: when it is tried, or tried again
	Attempts    int         `json:"attempts"`
	DeliveredAt time.Time   `json:"delivered_at,omitzero"`
	GivenUpAt   time.Time   `json:"given_up_at,omitzero"`
	LastError   string      `json:"last_error,omitempty"`
	Channel     string      `json:"channel,omitempty"`  // shown only, of a copy: where it goes
	CopyOf      ID          `json:"copy_of,omitzero"`   // shown only: the notice that was passed on to several channels
	ResendOf    ID          `json:"resend_of,omitzero"` // the undeliverable notice of which this is another try
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

// NoticeFilter selects notices. Everything that is set must hold.
type NoticeFilter struct {
	State NoticeState `query:"state" enum:"WAITING,DELIVERED,GIVEN_UP"`
	To    string      `query:"to"`
	Kind  NoticeKind  `query:"kind"`
}
