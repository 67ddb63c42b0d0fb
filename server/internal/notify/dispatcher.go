package notify

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// Store is what the dispatcher needs of a store.
type Store interface {
	store.Outbox
	store.ErrorFinder
}

// Options are what a dispatcher is made of. All but Channels, Timeout, URL and
// Transport are required.
type Options struct {
	Store    Store
	Policy   func() *policy.Policy
	Channels []Config // beside the log, which is always there
	Tools    Tools
	URL      string // where the console is, for links; empty: none
	Random   func() float64
	Wait     func(context.Context, time.Duration) error
	Timeout  time.Duration // of one message; zero: ten seconds

	// Transport carries the requests of all channels that speak HTTP. Nil: each has
	// connections of its own.
	Transport http.RoundTripper
}

const (
	// lease is how long a notice belongs to the node that took it. If the node
	// dies, another sends it then.
	lease = 2 * time.Minute

	claimSize = sqldb.MaxPage
	maxGroup  = maxItems // of notices that are looked at one by one
)

// Dispatcher delivers notices. Any number of nodes may run one. It is safe for
// concurrent use.
type Dispatcher struct {
	o     Options
	lanes map[string]*lane
	work  sync.WaitGroup // lanes that are busy

	mu      sync.Mutex
	missing map[string]bool // channels that were looked for in vain
}

// NewDispatcher makes the channels. Everything that is wrong with them is reported at
// once.
func NewDispatcher(o Options) (*Dispatcher, error) {
	if o.Store == nil || o.Policy == nil || o.Tools.Now == nil || o.Tools.Logger == nil || o.Random == nil || o.Wait == nil {
		return nil, errors.New("notify: store, policy, clock, logger, randomness and waiting are required")
	}
	if o.Timeout == 0 {
		o.Timeout = 10 * time.Second
	}
	d := &Dispatcher{o: o, lanes: map[string]*lane{}, missing: map[string]bool{}}
	configs := slices.Clone(o.Channels)
	if !slices.ContainsFunc(configs, func(c Config) bool { return c.Name == policy.LogChannel }) {
		configs = append(configs, Config{Name: policy.LogChannel, Kind: Log})
	}
	var bad []error
	for _, c := range configs {
		channel, err := New(c, o.Tools)
		if err != nil {
			bad = append(bad, err)
			continue
		}
		if over, ok := channel.(interface{ over(http.RoundTripper) }); ok && o.Transport != nil {
			over.over(o.Transport)
		}
		d.lanes[c.Name] = &lane{d: d, name: c.Name, kind: c.Kind, channel: channel, gap: c.Kind.gap()}
	}
	if err := errors.Join(bad...); err != nil {
		return nil, err
	}
	return d, nil
}

// Run takes what is due and hands it to the channels, each of which delivers by
// itself: Run does not wait for any of them, and one that is slow or away delays
// neither Run nor the others. They end with ctx; see [Dispatcher.Wait].
func (d *Dispatcher) Run(ctx context.Context) error {
	for {
		now := d.o.Tools.Now()
		list, err := d.o.Store.ClaimNotices(ctx, now, lease, claimSize)
		if err != nil {
			return err
		}
		if err := d.sort(ctx, now, list); err != nil || len(list) < claimSize {
			return err
		}
	}
}

// Wait returns once no channel is busy. Nobody may run the dispatcher meanwhile.
func (d *Dispatcher) Wait() { d.work.Wait() }

// group is what notices have in common that can be sent in one message.
type group struct {
	channel string
	to      string
	kind    wire.NoticeKind
	urgency policy.Urgency
}

// sort hands over messages that may have been sent before as they are. Of the rest it
// puts off what belongs into a later digest, passes on what goes to several channels,
// and groups what is left.
func (d *Dispatcher) sort(ctx context.Context, now time.Time, list []wire.Notice) error {
	rules := &d.o.Policy().Notifications
	var done []store.Delivery
	var order []group
	groups := map[group][]outgoing{}
	for _, n := range list {
		l := read(n)
		u := l.urgency()
		if l.saved != nil {
			g := group{d.again(rules, &l, u), l.To, l.Kind, u}
			done = append(done, d.lanes[g.channel].take(ctx, now, batch{g, []outgoing{l}, l.saved, now})...)
			continue
		}
		if at := digestAt(rules, &l, u); at.After(now) {
			done = append(done, store.Delivery{ID: l.ID, Attempt: l.Attempts, RetryAt: at})
			continue
		}
		channels := d.channels(rules, &l, u)
		if len(channels) > 1 {
			copies, err := l.copies(channels)
			if err != nil {
				return err
			}
			done = append(done, store.Delivery{ID: l.ID, Attempt: l.Attempts, Delivered: true, Copies: copies})
			continue
		}
		g := group{channels[0], l.To, l.Kind, u}
		if groups[g] == nil {
			order = append(order, g)
		}
		groups[g] = append(groups[g], l)
	}
	for _, g := range order {
		done = append(done, d.hand(ctx, now, g, groups[g])...)
	}
	return d.finish(ctx, now, done)
}

// digestAt is when a notice is sent at the earliest: at once, or at the end of the
// interval in which it arose, with all that arose there.
func digestAt(rules *policy.Notifications, l *outgoing, u policy.Urgency) time.Time {
	every := rules.Digests[l.Kind]
	if every == 0 || u == policy.Page || l.channel != "" {
		return time.Time{}
	}
	return l.CreatedAt.Truncate(every).Add(every)
}

// channels says where a notice goes. The log takes the place of a channel that this
// node does not have.
func (d *Dispatcher) channels(rules *policy.Notifications, l *outgoing, u policy.Urgency) []string {
	names := []string{l.channel}
	if l.channel == "" {
		names = d.reach(rules, l.To, l.Kind, u, l.wants(u))
	}
	var known []string
	for _, name := range names {
		if d.lanes[name] == nil {
			d.miss(name)
			name = policy.LogChannel
		}
		if !slices.Contains(known, name) {
			known = append(known, name)
		}
	}
	return known
}

// again says where a message goes that may have been sent before: to its channel, where
// those know it that got it, or, if the notice is not routed there any more, to the first
// that it is routed to.
func (d *Dispatcher) again(rules *policy.Notifications, l *outgoing, u policy.Urgency) string {
	channels := d.channels(rules, l, u)
	if slices.Contains(channels, l.saved.Channel) {
		return l.saved.Channel
	}
	return channels[0]
}

// miss logs once that a channel is missing.
func (d *Dispatcher) miss(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.missing[name] {
		d.missing[name] = true
		d.o.Tools.Logger.Warn("the policy names a channel that is not configured on this node; its notifications are only logged", "channel", name)
	}
}

// hand gives notices of a group to its channel, as many messages as it takes, and
// returns what became of those that it does not take.
func (d *Dispatcher) hand(ctx context.Context, now time.Time, g group, list []outgoing) (done []store.Delivery) {
	size := maxGroup
	if d.o.Policy().Notifications.Digests[g.kind] > 0 {
		size = claimSize // a digest counts
	}
	for part := range slices.Chunk(list, size) {
		done = append(done, d.lanes[g.channel].take(ctx, now, batch{g, part, nil, now})...)
	}
	return done
}

func (d *Dispatcher) finish(ctx context.Context, now time.Time, done []store.Delivery) error {
	if len(done) == 0 {
		return nil
	}
	_, err := d.o.Store.FinishNotices(ctx, now, done)
	return err
}

// Test sends a message through a channel, at once and whatever became of others. One
// that accepts it is no longer left alone. The error is a [*Failure], or
// sqldb.ErrNotFound for a channel that there is not.
func (d *Dispatcher) Test(ctx context.Context, name, by string, id recoup.ID) error {
	l := d.lanes[name]
	if l == nil {
		return sqldb.ErrNotFound
	}
	ctx, cancel := context.WithTimeout(ctx, d.o.Timeout)
	defer cancel()
	now := d.o.Tools.Now()
	err := l.channel.Send(ctx, &Message{
		ID: id, Kind: "TEST", To: name, Urgency: policy.Info, At: now, Title: "this channel works", Count: 1, Test: true,
		Items: []Item{{NoticeID: id, Key: "test:" + name, Hint: "asked for by " + clean(by)}},
	})
	return l.tested(d.o.Tools.Now(), err)
}

// log is used by lanes.
func (d *Dispatcher) log() *slog.Logger { return d.o.Tools.Logger }
