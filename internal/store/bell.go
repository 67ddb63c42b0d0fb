package store

import "sync"

// The things that somebody may wait for.
const (
	WakeErrors  = "errors"  // an error was made due at once, or plain SQL wrote one that waits to be admitted
	WakeNotices = "notices" // there is something to be told
	WakePolicy  = "policy"  // a policy was added
	WakeWork    = "work"    // there is work to be claimed at once
)

// Wakes returns everything that somebody may wait for.
func Wakes() []string { return []string{WakeErrors, WakeNotices, WakePolicy, WakeWork} }

// Bell tells those who listen, in this process, that there is something of a
// kind. Whoever rings never waits. The zero value is a bell without listeners.
type Bell struct {
	mu        sync.Mutex
	listeners map[*Listener]bool
}

// Listener is somebody who waits. What it has not taken yet is kept once,
// however often it was rung for.
type Listener struct {
	bell    *Bell
	pending map[string]bool // under the bell's lock
	ready   chan struct{}
}

// Ring says that there is something of some kinds.
func (b *Bell) Ring(kinds ...string) {
	if len(kinds) == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for l := range b.listeners {
		for _, kind := range kinds {
			l.pending[kind] = true
		}
		select {
		case l.ready <- struct{}{}:
		default:
		}
	}
}

// Join begins to listen.
func (b *Bell) Join() *Listener {
	l := &Listener{b, map[string]bool{}, make(chan struct{}, 1)}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.listeners == nil {
		b.listeners = map[*Listener]bool{}
	}
	b.listeners[l] = true
	return l
}

// Ready yields once there is something to take.
func (l *Listener) Ready() <-chan struct{} { return l.ready }

// Take returns what was rung for since the last time, in the order of [Wakes].
func (l *Listener) Take() (kinds []string) {
	l.bell.mu.Lock()
	defer l.bell.mu.Unlock()
	for _, kind := range Wakes() {
		if l.pending[kind] {
			kinds = append(kinds, kind)
		}
	}
	clear(l.pending)
	return kinds
}

// Leave ends listening.
func (l *Listener) Leave() {
	l.bell.mu.Lock()
	defer l.bell.mu.Unlock()
	delete(l.bell.listeners, l)
}
