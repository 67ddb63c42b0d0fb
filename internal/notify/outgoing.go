package notify

import (
	"encoding/json"
	"time"

	"recoup"
	"recoup/internal/policy"
)

// outgoing is a notice on its way. The outbox has one row and one fate per notice, so
// one that goes to several channels is passed on: a copy for each is put into the
// outbox, and from then on each copy waits, fails and is given up by itself.
type outgoing struct {
	recoup.Notice
	body    recoup.JSON // what the notice says
	channel string      // of a copy: where it goes; empty: the policy says
	first   time.Time   // of a copy: when what it is a copy of arose
}

// arose says when what the notice is about was to be notified first.
func (l *outgoing) arose() time.Time {
	if !l.first.IsZero() {
		return l.first
	}
	return l.CreatedAt
}

// copied is the body of a copy. It names the channel there and not in its key,
// because a copy that is requeued by hand has another key.
type copied struct {
	Channel string          `json:"channel"`
	CopyOf  recoup.ID       `json:"copy_of"`
	At      time.Time       `json:"at,omitzero"` // when that arose
	Body    json.RawMessage `json:"body,omitempty"`
}

func read(n recoup.Notice) outgoing {
	c, ok := unwrap(n.Body)
	if !ok {
		return outgoing{Notice: n, body: n.Body}
	}
	return outgoing{Notice: n, body: recoup.JSON(c.Body), channel: c.Channel, first: c.At}
}

// Public is a notice as it is shown: with its state and, if it is a copy, where it goes,
// what it is a copy of and what that says.
func Public(n recoup.Notice) recoup.Notice {
	n.State = n.Outcome()
	if c, ok := unwrap(n.Body); ok {
		n.Channel, n.CopyOf, n.Body = c.Channel, c.CopyOf, recoup.JSON(c.Body)
	}
	return n
}

func unwrap(body recoup.JSON) (c copied, ok bool) {
	err := json.Unmarshal([]byte(body), &c)
	return c, err == nil && c.Channel != "" && !c.CopyOf.IsZero()
}

// copy returns the notice for one channel. It is put in once, however often that is
// tried.
func (l *outgoing) copy(channel string) (recoup.Notice, error) {
	c := copied{Channel: channel, CopyOf: l.ID, At: l.CreatedAt}
	if l.body != "" {
		c.Body = json.RawMessage(l.body)
	}
	body, err := json.Marshal(c)
	return recoup.Notice{
		Kind: l.Kind, To: l.To, ErrorID: l.ErrorID, Key: "copy:" + l.ID.String() + ":" + channel, Body: recoup.JSON(body),
	}, err
}

// urgency says how urgent a notice is: as its kind, or more if it says so itself.
func (l *outgoing) urgency() policy.Urgency {
	if (l.Kind == recoup.NoticeAlert || l.Kind == recoup.NoticeAlertResolved) && readBody(l.body).Page {
		return policy.Page
	}
	return policy.UrgencyOf(l.Kind)
}
