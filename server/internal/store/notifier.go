package store

import (
	"context"
	"sync"
)

// The things that somebody may wait for.
const (
	WakeActive  = "active"  // a node has requests, after a while without
	WakeErrors  = "errors"  // an error was made due at once, or plain SQL wrote one that waits to be admitted
	WakeNotices = "notices" // there are notifications to deliver
	WakePolicy  = "policy"  // a policy was added
	WakeWork    = "work"    // there is work to be claimed at once
)

// WakeMissed is what Listen says to a node that rests, where something of any kind may have
// been missed: it looks then. Nobody notifies of it.
const WakeMissed = "missed"

// Wakes returns everything that somebody may wait for.
func Wakes() []string { return []string{WakeActive, WakeErrors, WakeNotices, WakePolicy, WakeWork} }

// Notifier wakes the subscribers in this process to which something of a kind matters.
// Notify never blocks. The zero value has no subscribers.
type Notifier struct {
	mu          sync.Mutex
	subscribers map[*Subscription]bool
}

// Subscription is one subscriber's. A kind that it has not taken yet is kept once, however
// often it was notified of.
type Subscription struct {
	notifier *Notifier
	pending  map[string]bool // under the notifier's lock
	ready    chan struct{}
}

// Notify says that there is something of some kinds.
func (n *Notifier) Notify(kinds ...string) {
	if len(kinds) == 0 {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for l := range n.subscribers {
		for _, kind := range kinds {
			l.pending[kind] = true
		}
		select {
		case l.ready <- struct{}{}:
		default:
		}
	}
}

// Subscribe begins a subscription.
func (n *Notifier) Subscribe() *Subscription {
	l := &Subscription{n, map[string]bool{}, make(chan struct{}, 1)}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.subscribers == nil {
		n.subscribers = map[*Subscription]bool{}
	}
	n.subscribers[l] = true
	return l
}

// Listen calls wake with every kind, and then with those notified of, until ctx ends.
func (n *Notifier) Listen(ctx context.Context, wake func(kind string)) error {
	l := n.Subscribe()
	defer l.Close()
	for kinds := Wakes(); ; kinds = l.Take() {
		for _, kind := range kinds {
			wake(kind)
		}
		select {
		case <-l.Ready():
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Ready yields once there is something to take.
func (s *Subscription) Ready() <-chan struct{} { return s.ready }

// Take returns the kinds notified of since the last time, in the order of [Wakes].
func (s *Subscription) Take() (kinds []string) {
	s.notifier.mu.Lock()
	defer s.notifier.mu.Unlock()
	for _, kind := range Wakes() {
		if s.pending[kind] {
			kinds = append(kinds, kind)
		}
	}
	clear(s.pending)
	return kinds
}

// Close ends the subscription.
func (s *Subscription) Close() {
	s.notifier.mu.Lock()
	defer s.notifier.mu.Unlock()
	delete(s.notifier.subscribers, s)
}
