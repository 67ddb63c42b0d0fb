package wire

import (
	"time"

	"github.com/recoup-dev/recoup"
)

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
	NoticePaged        NoticeKind = "PAGE"          // an operator is needed now
	NoticePageOver     NoticeKind = "PAGE_OVER"     // the reason for the page is over

	NoticeAlert         NoticeKind = "ALERT"          // rules hold, or still hold
	NoticeAlertResolved NoticeKind = "ALERT_RESOLVED" // they no longer hold
	NoticeJobLate       NoticeKind = "JOB_LATE"       // a scheduled job is behind schedule
	NoticeJobRecovered  NoticeKind = "JOB_RECOVERED"  // it has caught up
	NoticePolicyRefused NoticeKind = "POLICY_REFUSED" // a changed policy is bad, so the old one stays
	NoticeReplayStopped NoticeKind = "REPLAY_STOPPED" // a replay has stopped itself and waits for a person
	NoticeAdopted       NoticeKind = "ADOPTED"        // all rows of an adopted table are governed, with what became of them
)

// NoticeKinds returns all kinds.
func NoticeKinds() []NoticeKind {
	return []NoticeKind{
		NoticeParked, NoticeNotParked, NoticeEscalated, NoticeReviewMissed, NoticeExpiring, NoticeUnblocked, NoticePaged, NoticePageOver,
		NoticeAlert, NoticeAlertResolved, NoticeJobLate, NoticeJobRecovered, NoticePolicyRefused,
		NoticeReplayStopped, NoticeAdopted,
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
	ID          recoup.ID   `json:"notice_id" doc:"names the notification"`
	Kind        NoticeKind  `json:"kind" doc:"what it is about, such as PARKED, ESCALATED, ALERT or JOB_LATE"`
	To          string      `json:"to" doc:"the team or the lead that is notified"`
	State       NoticeState `json:"state" doc:"WAITING, DELIVERED or GIVEN_UP"` // shown only
	ErrorID     recoup.ID   `json:"error_id,omitzero" doc:"the error it is about"`
	CreatedAt   time.Time   `json:"created_at" doc:"when it was made"`
	DueAt       time.Time   `json:"due_at,omitzero" doc:"when the next attempt is due"`
	Attempts    int         `json:"attempts" doc:"how often it was tried"`
	DeliveredAt time.Time   `json:"delivered_at,omitzero" doc:"when it was delivered"`
	GivenUpAt   time.Time   `json:"given_up_at,omitzero" doc:"when it was given up"`
	LastError   string      `json:"last_error,omitempty" doc:"why the last attempt failed"`
	Channel     string      `json:"channel,omitempty" doc:"the channel it goes to"`                        // shown only, of a copy: the channel it goes to
	CopyOf      recoup.ID   `json:"copy_of,omitzero" doc:"the notification that goes to several channels"` // shown only: the notice that was copied to several channels
	ResendOf    recoup.ID   `json:"resend_of,omitzero" doc:"the one that was given up and is sent again"`
	Key         string      `json:"-"`
	MessageID   recoup.ID   `json:"-"` // the message that it is sent in; zero: none yet
	Message     recoup.JSON `json:"-"` // what that says, of the one whose id is the message's
	Body        recoup.JSON `json:"body,omitempty" doc:"what it says"`
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
	State NoticeState `query:"state" enum:"WAITING,DELIVERED,GIVEN_UP" doc:"only notifications in this state"`
	To    string      `query:"to" doc:"only those for this team or lead"`
	Kind  NoticeKind  `query:"kind" doc:"only this kind, such as PARKED or ALERT"`
}

// NoticePage is a page of notices.
type NoticePage struct {
	Notices []Notice `json:"notices" doc:"this page of the list"`
	Next    string   `json:"next,omitempty" doc:"the cursor of the next page; none: this is the last"`
}

// NoticeResend requeues undeliverable notices.
type NoticeResend struct {
	IDs    []recoup.ID `json:"ids" minItems:"1" maxItems:"1000" doc:"notifications that were given up"`
	Reason string      `json:"reason,omitempty" maxLength:"1000" doc:"why; the audit keeps it"`
}

// NoticeResent is how many notices were requeued. Those that wait, are delivered, are
// unknown or were requeued before are left as they are.
type NoticeResent struct {
	Resent int `json:"resent" doc:"how many were requeued"`
}
