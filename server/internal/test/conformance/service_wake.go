package conformance

import (
	"context"
	"errors"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

func wakeClauses() []serviceClause {
	return []serviceClause{
		{"whoever listens is woken by what is committed, and by nothing that is not", wakeHeard},
		{"many may listen, each hears, and one who stops is not heard of again", wakeMany},
	}
}

// listening is a subscriber, and what it was woken for.
type listening struct {
	*serviceDriver
	heard chan string
	stop  func()
}

// listen subscribes. It returns once every kind has woken it.
func (d *serviceDriver) listen() *listening {
	d.Helper()
	ctx, cancel := context.WithCancel(d.Context())
	l := &listening{d, make(chan string, 1000), nil}
	ended := make(chan error, 1)
	go func() { ended <- d.store.Listen(ctx, func(kind string) { l.heard <- kind }) }()
	l.stop = func() {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			d.Errorf("listening ended with %v", err)
		}
	}
	for _, kind := range store.Wakes() {
		l.wants(kind)
	}
	return l
}

// wants waits for what must be heard next.
func (l *listening) wants(kind string) {
	l.Helper()
	select {
	case got := <-l.heard:
		if got != kind {
			l.Fatalf("woken by %s, want %s", got, kind)
		}
	case <-l.Context().Done():
		l.Fatalf("nobody was woken by %s", kind)
	}
}

// wakeHeard relies on the order of commits: what was heard before the policy was
// all that there was.
func wakeHeard(d *serviceDriver) {
	errors := NewDriver(d.TB, d.store)
	l := d.listen()
	e := errors.Report(dol, "e1", "NETWORK_TIMEOUT", recoup.Medium) // due later, so it wakes nobody
	errors.Apply(e.ID, lifecycle.Park{By: "ada", Reason: "look"})
	l.wants(store.WakeNotices)
	errors.Apply(e.ID, lifecycle.Unpark{By: "ada"})
	l.wants(store.WakeErrors)
	d.claimed(1, "")
	d.addPolicy("1", "a")
	l.wants(store.WakePolicy)
	d.addPolicy("1", "a")
	if _, _, err := d.store.AddPolicy(d.Context(), wire.PolicyVersion{Version: "1", Text: "b"}, d.act("ada")); err == nil {
		d.Error("a version was used twice")
	}
	d.add("a", "b", "c")
	l.wants(store.WakeNotices)
	d.addPolicy("2", "c")
	l.wants(store.WakePolicy)
	l.stop()
}

func wakeMany(d *serviceDriver) {
	first, second := d.listen(), d.listen()
	d.addPolicy("1", "a")
	first.wants(store.WakePolicy)
	second.wants(store.WakePolicy)
	first.stop()
	d.addPolicy("2", "b")
	second.wants(store.WakePolicy)
	second.stop()
	d.addPolicy("3", "c")
	if len(first.heard) != 0 || len(second.heard) != 0 {
		d.Error("somebody heard after the end")
	}
}
