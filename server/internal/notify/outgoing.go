package notify

import (
	"encoding/json"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// outgoing is a notice on its way. The outbox has one row and one fate per notice, so
// one that goes to several channels is passed on: a copy for each is put into the
// outbox, and from then on each copy waits, fails and is given up by itself.
type outgoing struct {
	wire.Notice
	body    recoup.JSON // what the notice says
	channel string      // of a copy: where it goes; empty: the policy says
	first   time.Time   // of a copy: when what it is a copy of arose
	saved   *saved      // the message that it stands for; nil: it is in none yet
}

// saved is a message as the outbox keeps it from before it is sent first, so that
// whoever sends it again sends the same.
type saved struct {
	Channel string   `json:"channel"` // which it was made for
	Message *Message `json:"message"`
}

// readSaved returns a message as it was kept. One that cannot be read says nothing.
func readSaved(text recoup.JSON) *saved {
	var s saved
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return &saved{}
	}
	return &s
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

func read(n wire.Notice) outgoing {
	l := outgoing{Notice: n, body: n.Body}
	if c, ok := unwrap(n.Body); ok {
		l.body, l.channel, l.first = recoup.JSON(c.Body), c.Channel, c.At
	}
	if n.Message != "" {
		l.saved = readSaved(n.Message)
	}
	return l
}

// Public is a notice as it is shown: with its state and, if it is a copy, where it goes,
// what it is a copy of and what that says.
func Public(n wire.Notice) wire.Notice {
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

// copies returns the notice for each of several channels.
func (l *outgoing) copies(channels []string) (list []wire.Notice, err error) {
	for _, channel := range channels {
		c, err := l.copy(channel)
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return list, nil
}

// copy returns the notice for one channel.
func (l *outgoing) copy(channel string) (wire.Notice, error) {
	c := copied{Channel: channel, CopyOf: l.ID, At: l.CreatedAt}
	if l.body != "" {
		c.Body = json.RawMessage(l.body)
	}
	body, err := json.Marshal(c)
	return wire.Notice{
		Kind: l.Kind, To: l.To, ErrorID: l.ErrorID, Key: "copy:" + l.ID.String() + ":" + channel, Body: recoup.JSON(body),
	}, err
}

// urgency says how urgent a notice is: as its kind, or more if it says so itself.
func (l *outgoing) urgency() policy.Urgency {
	if (l.Kind == wire.NoticeAlert || l.Kind == wire.NoticeAlertResolved) && readBody(l.body).Page {
		return policy.Page
	}
	return policy.UrgencyOf(l.Kind)
}
