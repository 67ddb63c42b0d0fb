// Package stream tells who listens what has changed: one watcher of a node reads it, once
// a second and only while somebody listens, and each listener has a mailbox of its own
// that never grows beyond a bound. It knows neither HTTP nor who may see what.
package stream

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// Source is where changes are read.
type Source interface {
	store.ChangeReader
	Counts(ctx context.Context) ([]recoup.StateCount, error)
}

// Options are what a watcher is made of. Source, Tables and Now are required.
type Options struct {
	Source Source
	Tables func() []string // whose archives are watched
	Now    func() time.Time
	Every  time.Duration // how often it looks; 0: every second
	Logger *slog.Logger
}

const (
	// maxLook is how many changes a look reads. If there are more, listeners are told
	// that some are lost.
	maxLook = 2000

	// lookTimeout ends a look that the database does not answer.
	lookTimeout = 10 * time.Second

	// maxMoving is how many of a kind a look reads, other than errors: the newest.
	maxMoving = 100
)

// Watcher reads what changes and hands it to listeners.
type Watcher struct {
	o       Options
	stopped chan struct{}
	stop    func()

	mu        sync.Mutex
	listeners map[*Listener]struct{}
	running   bool
}

// New returns a watcher that nobody listens to yet.
func New(o Options) *Watcher {
	if o.Every == 0 {
		o.Every = time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	w := &Watcher{o: o, stopped: make(chan struct{}), listeners: map[*Listener]struct{}{}}
	w.stop = sync.OnceFunc(func() { close(w.stopped) })
	return w
}

// Stop ends the watch for good; Stopped is closed then.
func (w *Watcher) Stop() { w.stop() }

// Stopped is closed once the watch has ended.
func (w *Watcher) Stopped() <-chan struct{} { return w.stopped }

// Listen adds a listener, who hears of what it may see. Close ends it.
func (w *Watcher) Listen(eyes Eyes) *Listener {
	l := newListener(w, eyes)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.listeners[l] = struct{}{}
	if !w.running {
		w.running = true
		go w.run()
	}
	return l
}

// Listeners returns how many listen.
func (w *Watcher) Listeners() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.listeners)
}

// audience returns who listens. If nobody does, the watch is over.
func (w *Watcher) audience() []*Listener {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.listeners) == 0 {
		w.running = false
		return nil
	}
	list := make([]*Listener, 0, len(w.listeners))
	for l := range w.listeners {
		list = append(list, l)
	}
	return list
}

// run looks until nobody listens any more.
func (w *Watcher) run() {
	tick := time.NewTicker(w.o.Every)
	defer tick.Stop()
	var at position
	failed := false
	for {
		news, err := w.look(&at)
		if (err != nil) != failed {
			failed = err != nil
			w.o.Logger.Warn("live stream: reading changes", "failing", failed, "error", err)
		}
		audience := w.audience()
		if audience == nil {
			return
		}
		if err == nil {
			for _, l := range audience {
				l.deliver(news)
			}
		}
		select {
		case <-tick.C:
		case <-w.stopped: // it counts as running, so that nobody begins another
			return
		}
	}
}

// position is how far the watcher has read.
type position struct {
	mark   store.ChangeMark
	begun  bool
	seen   map[int64]bool // the numbers of the last look, which the next may have again
	counts []recoup.StateCount
	moving map[wire.ChangedObject]store.MovingMark
}

// news is what a look has found.
type news struct {
	changed []wire.Changed // oldest first
	moved   []store.Moving
	lost    bool // there was more
	counts  []recoup.StateCount
	counted bool // they have changed
}

// look reads what has changed since the position, and moves it. A look that fails leaves
// it where it is, so that nothing is passed over.
func (w *Watcher) look(at *position) (news, error) {
	ctx, cancel := context.WithTimeout(context.Background(), lookTimeout)
	defer cancel()
	if !at.begun {
		mark, err := w.o.Source.ChangeMark(ctx, w.o.Now())
		if err != nil {
			return news{}, err
		}
		at.mark, at.begun = mark, true
	}
	list, mark, err := w.o.Source.Changed(ctx, at.mark, w.o.Tables(), maxLook)
	if err != nil {
		return news{}, err
	}
	counts, err := w.o.Source.Counts(ctx)
	if err != nil {
		return news{}, err
	}
	moving, err := w.o.Source.Moving(ctx, maxMoving)
	if err != nil {
		return news{}, err
	}
	found := news{counts: counts, counted: at.counts == nil || !slices.Equal(counts, at.counts)}
	seen := make(map[int64]bool, len(list))
	slices.Reverse(list)
	for i := range list {
		if seen[list[i].Seq] = true; !at.seen[list[i].Seq] {
			found.changed = append(found.changed, list[i].Changed)
		}
	}
	found.lost = len(list) >= maxLook && len(found.changed) > 0
	found.moved, at.moving = moved(at.moving, moving)
	at.mark, at.seen, at.counts = mark, seen, slices.Concat([]recoup.StateCount{}, counts)
	return found, nil
}

// moved returns what was not there at the last look, or with another mark, and what the next
// look compares with. The first look has nothing to compare with: who has begun to listen
// reads what it shows anyway.
func moved(before map[wire.ChangedObject]store.MovingMark, now []store.Moving) (list []store.Moving, next map[wire.ChangedObject]store.MovingMark) {
	next = make(map[wire.ChangedObject]store.MovingMark, len(now))
	for _, m := range now {
		if _, twice := next[m.ChangedObject]; twice {
			continue // the newest note about a dead letter is the first
		}
		next[m.ChangedObject] = m.Mark
		if was, ok := before[m.ChangedObject]; before != nil && (!ok || was != m.Mark) {
			list = append(list, m)
		}
	}
	return list, next
}
