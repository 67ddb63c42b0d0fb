package notify

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// health is how a channel does since the node started. Its lane guards it.
type health struct {
	seen wire.Channel

	// owed are notices and messages that failed and were not delivered since.
	owed map[recoup.ID]debt
}

// debt is how many notices are owed, and until when they are expected back: what is not
// has been taken by another node.
type debt struct {
	notices int
	until   time.Time
}

// succeeded records that the channel accepted a message.
func (h *health) succeeded(now time.Time) {
	h.seen.LastSuccessAt, h.seen.FailingSince, h.seen.Failures = now, time.Time{}, 0
}

// failed records that it did not. One that refuses a message for good works.
func (h *health) failed(now time.Time, f *Failure) {
	h.seen.LastFailureAt, h.seen.LastFailure = now, f.Reason
	if f.Permanent {
		return
	}
	if h.seen.Failures++; h.seen.Failures == 1 {
		h.seen.FailingSince = now
	}
}

// owes counts what is tried again.
func (h *health) owes(id recoup.ID, d debt) {
	if h.owed == nil {
		h.owed = map[recoup.ID]debt{}
	}
	if len(h.owed) < store.MaxOutboxCount {
		h.owed[id] = d
	}
}

// settle forgets notices that were delivered or given up.
func (h *health) settle(list []outgoing) {
	for i := range list {
		delete(h.owed, list[i].ID)
	}
}

// report returns the state of the channel.
func (l *lane) report(now time.Time) wire.Channel {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.owed, func(_ recoup.ID, d debt) bool { return now.After(d.until) })
	c := l.seen
	c.Name, c.Kind, c.Queued = l.name, string(l.kind), l.queued
	for _, d := range l.owed {
		c.Undelivered += d.notices
	}
	switch {
	case c.Failures >= trust:
		c.State = wire.ChannelFailing
	case c.Failures > 0:
		c.State = wire.ChannelRetrying
	default:
		c.State = wire.ChannelUp
	}
	if now.Before(l.closed) {
		c.Until = l.closed
	}
	return c
}

// Channels returns the state of the node's channels, and of those that the policy names
// and the node does not have, sorted by name.
func (d *Dispatcher) Channels() []wire.Channel {
	var list []wire.Channel
	now := d.o.Tools.Now()
	for _, l := range d.lanes {
		list = append(list, l.report(now))
	}
	for _, name := range d.o.Policy().Notifications.Named() {
		if d.lanes[name] == nil {
			list = append(list, wire.Channel{Name: name, State: wire.ChannelMissing})
		}
	}
	slices.SortFunc(list, func(a, b wire.Channel) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// tested records what became of a message that tries the channel.
func (l *lane) tested(now time.Time, err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil {
		l.succeeded(now)
		l.closed = time.Time{}
		return nil
	}
	f := failureOf(err)
	l.failed(now, f)
	return f
}
