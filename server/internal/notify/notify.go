// Package notify notifies people of what happened: it takes notices from the outbox,
// decides by the policy where they go, and delivers them at least once through
// channels such as Slack, PagerDuty, e-mail, a webhook or the log.
//
// What leaves the house is built from a short list of fields that hold nothing
// private; what an error says, and about whom, stays behind a link. The package
// knows no SQL, decides nothing of an error's life and can never hold it up: a
// notice is written in the commit of what caused it, and all that happens here
// comes afterwards.
package notify

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// Channel is a way to notify somebody. Send returns nil once the other
// side has accepted the message, else a [*Failure]. It gives up when ctx ends, is
// safe for concurrent use, and may be asked to send the same message again: its ID
// is the same then.
type Channel interface {
	Send(ctx context.Context, m *Message) error
}

// Failure is why a message was not accepted. It never holds an address, a key or
// what the other side has answered, because those may be secrets.
type Failure struct {
	Reason     string
	Permanent  bool          // this message will never be accepted
	RetryAfter time.Duration // the other side wants to be left alone for so long; zero: it did not say
}

// Error returns the reason.
func (f *Failure) Error() string { return f.Reason }

func temporary(format string, args ...any) *Failure {
	return &Failure{Reason: fmt.Sprintf(format, args...)}
}

// unwritable is the failure of a message that cannot be put into a channel's format.
func unwritable() *Failure {
	return &Failure{Reason: "the message cannot be written", Permanent: true}
}

// failureOf returns an error as a failure. What is none is not repeated: nobody
// knows what is in it.
func failureOf(err error) *Failure {
	var f *Failure
	if errors.As(err, &f) {
		return f
	}
	return temporary("the channel failed")
}

// Message is what a channel sends: one notice, or several of one kind to one team.
type Message struct {
	ID      recoup.ID       `json:"id"` // of one of its notices; the same whenever they are sent again
	Kind    wire.NoticeKind `json:"kind"`
	To      string          `json:"to"`
	Urgency policy.Urgency  `json:"urgency"`
	At      time.Time       `json:"at"` // when the first of them arose
	Title   string          `json:"title"`
	Count   int             `json:"count"`          // of notices
	Items   []Item          `json:"items"`          // what they are about
	More    int             `json:"more,omitempty"` // items that the list leaves out
	Test    bool            `json:"test,omitempty"` // somebody tries the channel
}

// Ends reports whether the message says that something is over.
func (m *Message) Ends() bool {
	return m.Kind == wire.NoticeAlertResolved || m.Kind == wire.NoticeJobRecovered || m.Kind == wire.NoticePageOver
}

// Item is one thing that a message is about: an error, an alert or a job. None of
// its fields holds what a person or a pipeline has written.
type Item struct {
	NoticeID recoup.ID `json:"notice_id"`
	Key      string    `json:"key"` // the same for all that belongs together, from its beginning to its end
	Link     string    `json:"link,omitempty"`

	// Of an error.
	ErrorID  recoup.ID         `json:"error_id,omitzero"`
	Table    string            `json:"table,omitempty"`
	Hub      string            `json:"hub,omitempty"`
	Code     recoup.Code       `json:"code,omitempty"`
	Severity string            `json:"severity,omitempty"`          // of an alert too
	Cause    recoup.Code       `json:"last_failure_code,omitempty"` // how its last attempt failed, if not with its code
	Reason   recoup.ParkReason `json:"park_reason,omitempty"`
	Tier     int               `json:"tier,omitempty"`
	Blocking bool              `json:"blocking,omitempty"`
	Deadline time.Time         `json:"deadline,omitzero"` // of its review, or when it expires

	// Of an alert, a provider that was switched, or a job.
	Rule      string    `json:"rule,omitempty"`
	Scope     string    `json:"scope,omitempty"`
	Condition string    `json:"condition,omitempty"`
	Value     *float64  `json:"value,omitempty"`
	Since     time.Time `json:"since,omitzero"`
	Until     time.Time `json:"until,omitzero"`
	Notified  int       `json:"notified,omitempty"` // which notification of it this is
	Hint      string    `json:"hint,omitempty"`
	Provider  string    `json:"provider,omitempty"` // the group, and from which to which
	Job       string    `json:"job,omitempty"`
}
