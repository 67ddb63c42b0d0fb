package notify

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/retry"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store"
)

const (
	// trust is how many messages in a row may fail before a channel is left alone
	// for a while. So a thousand notices do not each wait for the same time-out.
	trust = 3

	// A notice is given up when it is this old and was tried this often: nodes that
	// were off for a weekend still deliver what they find.
	giveUpAfter  = 24 * time.Hour
	giveUpTries  = 10
	maxQueue     = 2 * claimSize
	longestPause = 15 * time.Minute // that another side can ask for
	soonest      = time.Second
	spare        = 5 * time.Second // what a delivery may take beside its time-out
)

// again is how long a notice waits that has failed, and pause how long a channel is
// left alone.
var (
	again  = retry.Schedule{Kind: retry.Exponential, Base: 5 * time.Second, Multiplier: 2, Cap: 15 * time.Minute, Jitter: retry.Full}
	urgent = retry.Schedule{Kind: retry.Exponential, Base: 2 * time.Second, Multiplier: 2, Cap: time.Minute, Jitter: retry.Full}
	pause  = retry.Schedule{Kind: retry.Exponential, Base: 5 * time.Second, Multiplier: 2, Cap: 5 * time.Minute}
)

// batch is a message, or one to be.
type batch struct {
	group
	list    []outgoing // of a message that was saved: the one that stands for it
	saved   *saved     // nil: it was never sent
	claimed time.Time
}

// size is how many notices there are.
func (b *batch) size() int {
	if b.saved != nil && b.saved.Message != nil {
		return b.saved.Message.Count
	}
	return len(b.list)
}

// attempts is how often they were tried at most.
func (b *batch) attempts() (most int) {
	for i := range b.list {
		most = max(most, b.list[i].Attempts)
	}
	return most
}

// lane delivers what one channel has to send, one message after the other.
type lane struct {
	d       *Dispatcher
	name    string
	kind    Kind
	channel Channel
	gap     time.Duration // between messages

	mu     sync.Mutex
	queue  []batch
	queued int       // notices in the queue
	busy   bool      // somebody works at it
	closed time.Time // it is left alone until then
	next   time.Time // no message is sent before
	health
}

// take queues a batch, or says when it is to be tried again: a channel that is left
// alone, or has more than it can send in time, takes nothing.
func (l *lane) take(ctx context.Context, now time.Time, b batch) []store.Delivery {
	l.mu.Lock()
	defer l.mu.Unlock()
	if off := l.shut(now, &b); off != nil {
		return off
	}
	if l.queued+b.size() > maxQueue {
		return later(&b, now.Add(lease/2), "the channel is busy")
	}
	l.queue = append(l.queue, b)
	l.queued += b.size()
	if !l.busy {
		l.busy = true
		l.d.work.Go(func() { l.run(ctx) })
	}
	return nil
}

// pop returns what is next: pages first.
func (l *lane) pop() (b batch, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) == 0 {
		l.busy = false
		return batch{}, false
	}
	i := max(0, slices.IndexFunc(l.queue, func(b batch) bool { return b.urgency == policy.Page }))
	b = l.queue[i]
	l.queue = slices.Delete(l.queue, i, i+1)
	l.queued -= b.size()
	return b, true
}

// run empties the queue. If the node stops, what is left is sent by whoever takes it
// when its lease is over.
func (l *lane) run(ctx context.Context) {
	for {
		b, ok := l.pop()
		if !ok {
			return
		}
		if ctx.Err() != nil {
			continue
		}
		if err := l.deliver(ctx, &b); err != nil && ctx.Err() == nil {
			l.d.log().Warn("notifications could not be processed; they will be retried", "channel", l.name, "notices", b.size(), "cause", err)
		}
	}
}

// deliver sends one message and notes what became of it. An error is the store's.
func (l *lane) deliver(ctx context.Context, b *batch) error {
	if err := l.slot(ctx); err != nil {
		return err
	}
	now := l.d.o.Tools.Now()
	if now.After(b.claimed.Add(lease - l.d.o.Timeout - spare)) {
		return nil // it may be somebody else's by the time it is sent
	}
	l.mu.Lock()
	off := l.shut(now, b)
	l.mu.Unlock()
	if off != nil {
		return l.d.finish(ctx, now, off)
	}
	if b.saved == nil {
		held, err := l.hold(ctx, now, b)
		if err != nil {
			return err
		}
		if err := l.d.finish(ctx, now, held); err != nil || len(b.list) == 0 {
			return err
		}
		if err := l.save(ctx, b); errors.Is(err, store.ErrConflict) {
			return nil // some of it is somebody else's by now; the rest is due again soon
		} else if err != nil {
			return err
		}
	}
	err := l.send(ctx, b.saved.Message)
	if err != nil && ctx.Err() != nil {
		return ctx.Err() // nobody knows whether it was sent
	}
	now = l.d.o.Tools.Now()
	return l.d.finish(ctx, now, l.record(now, b, err))
}

// save composes the message and keeps it, so that it is the same whenever it is sent
// again, by whoever does, and whatever becomes of its notices until then. The youngest
// stands for it: by its age the message is given up.
func (l *lane) save(ctx context.Context, b *batch) error {
	c := composer{find: l.d.o.Store.Error, list: l.d.o.Store.Errors, policy: l.d.o.Policy(), base: l.d.o.URL}
	head := slices.MaxFunc(b.list, func(a, b outgoing) int { return store.OlderNotice(a.Notice, b.Notice) })
	m, err := c.compose(ctx, head.ID, b.list, b.urgency)
	if err != nil {
		return err
	}
	text, err := json.Marshal(saved{l.name, m})
	if err != nil {
		return err
	}
	message := store.Message{ID: m.ID, Body: recoup.JSON(text)}
	for i := range b.list {
		message.Notices = append(message.Notices, store.ClaimedNotice{ID: b.list[i].ID, Attempt: b.list[i].Attempts})
	}
	if err := l.d.o.Store.SaveMessage(ctx, message); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.settle(b.list) // from now on they are owed as one
	b.list, b.saved = []outgoing{head}, readSaved(message.Body)
	return nil
}

// send sends a message. One that could not be read is never sent.
func (l *lane) send(ctx context.Context, m *Message) error {
	if m == nil {
		return unwritable()
	}
	ctx, cancel := context.WithTimeout(ctx, l.d.o.Timeout)
	defer cancel()
	return l.channel.Send(ctx, m)
}

// slot waits until the channel may send again.
func (l *lane) slot(ctx context.Context) error {
	l.mu.Lock()
	now := l.d.o.Tools.Now()
	at := l.next
	if at.Before(now) {
		at = now
	}
	l.next = at.Add(l.gap)
	l.mu.Unlock()
	if at.After(now) {
		return l.d.o.Wait(ctx, at.Sub(now))
	}
	return nil
}

// record records how it went with the channel, and returns the results of the notices.
func (l *lane) record(now time.Time, b *batch, err error) []store.Delivery {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil {
		l.succeeded(now)
		l.closed = time.Time{}
		l.seen.Sent += int64(b.size())
		l.settle(b.list)
		return deliveries(b, func(x *store.Delivery, _ *outgoing) { x.Delivered = true })
	}
	f := failureOf(err)
	l.failed(now, f)
	l.seen.Failed += int64(b.size())
	if f.Permanent {
		l.seen.GivenUp += int64(b.size())
		l.settle(b.list)
		l.d.log().Warn("notifications given up: the channel rejected them for good", "channel", l.name, "notices", b.size(), "reason", f.Reason)
		return deliveries(b, func(x *store.Delivery, _ *outgoing) { x.Error = l.name + ": " + f.Reason })
	}
	wait := min(f.RetryAfter, longestPause)
	if l.seen.Failures >= trust {
		wait = max(wait, pause.Delay(l.seen.Failures-trust+1, nil))
	}
	if l.closed = now.Add(wait); l.seen.Failures == trust {
		l.d.log().Warn("channel failing; backing off", "channel", l.name, "reason", f.Reason)
	}
	return l.putOff(now, b, f.Reason, wait)
}

// shut puts notices off if the channel is left alone, and is nil if it is not.
func (l *lane) shut(now time.Time, b *batch) []store.Delivery {
	if !now.Before(l.closed) {
		return nil
	}
	return l.putOff(now, b, l.seen.LastFailure, l.closed.Sub(now))
}

// putOff says when notices are tried again, or gives them up. Waiting for a channel
// that is away counts as trying.
func (l *lane) putOff(now time.Time, b *batch, reason string, wait time.Duration) []store.Delivery {
	schedule := again
	if b.urgency == policy.Page {
		schedule = urgent
	}
	at := now.Add(max(soonest, wait, schedule.Delay(b.attempts(), l.d.o.Random)))
	each := b.size() / len(b.list) // each stands for itself, or one for all
	givenUp := 0
	list := deliveries(b, func(x *store.Delivery, n *outgoing) {
		x.Error = l.name + ": " + reason
		if n.Attempts >= giveUpTries && now.Sub(n.CreatedAt) >= giveUpAfter {
			givenUp += each
			delete(l.owed, n.ID)
			return
		}
		x.RetryAt = at
		l.owes(n.ID, debt{each, at.Add(lease)})
	})
	if givenUp > 0 {
		l.seen.GivenUp += int64(givenUp)
		l.d.log().Warn("notifications given up: the channel has failed for too long", "channel", l.name, "notices", givenUp, "reason", reason)
	}
	return list
}

// later puts notices off that nothing is wrong with.
func later(b *batch, at time.Time, why string) []store.Delivery {
	return deliveries(b, func(x *store.Delivery, _ *outgoing) { x.RetryAt, x.Error = at, why })
}

func deliveries(b *batch, say func(*store.Delivery, *outgoing)) []store.Delivery {
	list := make([]store.Delivery, len(b.list))
	for i := range b.list {
		list[i] = store.Delivery{ID: b.list[i].ID, Attempt: b.list[i].Attempts}
		say(&list[i], &b.list[i])
	}
	return list
}
