// Package push delivers work to receivers: addresses of others that take staged work, or
// what another [Kind] has for them, by signed HTTP requests, where workers would come and
// ask for it. It is the API turned round: a delivery says what a claim would have
// been answered, and its answer is read as the result that a worker would have sent.
//
// Whatever is delivered was claimed through the services that workers use, so that
// leases, fences, pauses and whatever else stops a claim hold for it as they do for them. Any number
// of nodes may deliver to one receiver. It decides nothing about work or companies: a
// receiver that is away uses up nothing of theirs.
package push

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/deadletter"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// Letters is the dead letter service, which staged work comes from.
type Letters interface {
	Claim(ctx context.Context, c engine.Caller, in recoup.WorkClaim) ([]recoup.ClaimedWork, error)
	Results(ctx context.Context, c engine.Caller, results []recoup.WorkResult, receipts deadletter.Receipts) ([]deadletter.Done, error)
}

// Options are what a pusher is made of. All but Kinds, Sources, Receivers and Roots are required.
type Options struct {
	Letters   Letters
	Kinds     []Kind                // beside staged work
	Sources   map[string]OpenSource // of these, by their names
	Receivers []Config
	Read      func(document []byte, into any) error // an answer, as strictly as the API reads what workers send
	Now       func() time.Time
	Random    func() float64
	Logger    *slog.Logger
	Roots     *x509.CertPool // whose certificates are trusted; nil: the machine's
}

// kinds are all kinds of receivers.
func (o *Options) kinds() []Kind { return append([]Kind{WorkKind()}, o.Kinds...) }

// sources make the sources of all kinds.
func (o *Options) sources() map[string]OpenSource {
	all := maps.Clone(o.Sources)
	if all == nil {
		all = map[string]OpenSource{}
	}
	all[Work] = func(worker string, values map[string]string) Source {
		return &workSource{o, worker, lanes(values["lanes"])}
	}
	return all
}

// Pusher delivers. It is safe for concurrent use.
type Pusher struct {
	receivers []*receiver // by name
	cut       chan struct{}
	once      sync.Once
}

// New makes the receivers. It returns everything that is wrong with them at once.
func New(o Options) (*Pusher, error) {
	if o.Letters == nil || o.Read == nil || o.Now == nil || o.Random == nil || o.Logger == nil {
		return nil, errors.New("push: letters, a reader of answers, clock, randomness and logger are required")
	}
	for _, k := range o.kinds() {
		if o.sources()[k.Name] == nil {
			return nil, fmt.Errorf("push: the kind %s of receivers has no source", k.Name)
		}
	}
	p := &Pusher{cut: make(chan struct{})}
	var bad []error
	for _, c := range o.Receivers {
		if err := c.Check(o.kinds()); err != nil {
			bad = append(bad, err)
			continue
		}
		p.receivers = append(p.receivers, newReceiver(c, &o, p.cut))
	}
	slices.SortFunc(p.receivers, func(a, b *receiver) int { return strings.Compare(a.status.Name, b.status.Name) })
	return p, errors.Join(bad...)
}

// Run gives each receiver as much as it takes now, and does not wait for any of them:
// one that is slow delays neither Run nor the others. While there is more to do they
// go on by themselves; call Run again, every second or so, and when there is new work.
func (p *Pusher) Run(ctx context.Context) error {
	var failed []error
	for _, r := range p.receivers {
		failed = append(failed, r.pass(ctx))
	}
	return errors.Join(failed...)
}

// Stop makes sure that nothing is claimed any more. What is on its way goes on.
func (p *Pusher) Stop() {
	for _, r := range p.receivers {
		r.stop()
	}
}

// Drain stops, and waits for what is on its way. When ctx ends deliveries are broken
// off and given back. When it returns nothing is held any more.
func (p *Pusher) Drain(ctx context.Context) error {
	p.Stop()
	end := context.AfterFunc(ctx, func() { p.once.Do(func() { close(p.cut) }) })
	defer end()
	var failed []error
	for _, r := range p.receivers {
		r.under.Wait()
		failed = append(failed, r.giveBack(context.WithoutCancel(ctx), true))
	}
	return errors.Join(failed...)
}

// Receivers returns the state of the receivers of this node, sorted by name.
func (p *Pusher) Receivers() []wire.Receiver {
	list := make([]wire.Receiver, len(p.receivers))
	for i, r := range p.receivers {
		list[i] = r.report()
	}
	return list
}
