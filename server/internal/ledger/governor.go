package ledger

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/internal/redact"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/turn"
)

// Rules are what the policy says of events.
type Rules struct {
	Retention time.Duration    // events that happened longer ago are refused
	Details   redact.AllowList // what details may have
}

// GovernorOptions are what a [Governor] goes by. All of them are required.
type GovernorOptions struct {
	Registry  *fault.Registry
	Providers fault.Providers // the external services that an event may name
	Tenants   *Tenants
	IDs       *recoup.IDSource
	Rules
	Tally *Tally // of what is refused and left out
}

func (o GovernorOptions) validate() error {
	switch {
	case o.Registry == nil, o.Tenants == nil, o.IDs == nil, o.Tally == nil:
		return errors.New("ledger: a governor needs a registry, tenants, a source of ids and a tally")
	case o.Retention <= 0 || len(o.Details.Keys) == 0:
		return errors.New("ledger: a governor needs a retention and a list of details")
	}
	return nil
}

// Governor turns what clients send into what is stored: codes by their registered
// names, ids and times filled in, details held to spec 003's list, tenants hashed.
// It does not change; another registry or other rules are another governor. It is safe
// for concurrent use.
type Governor struct {
	GovernorOptions
	secrets *redact.Redactor
	unsaid  map[bool]map[string]any // the details of events that have none, by their code's retryability
}

// NewGovernor returns a governor.
func NewGovernor(o GovernorOptions) (*Governor, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	return &Governor{GovernorOptions: o, secrets: redact.Default(), unsaid: map[bool]map[string]any{
		true: {"retryable": true}, false: {"retryable": false},
	}}, nil
}

// Govern decides about each event of a batch by itself: one that is refused takes
// nothing from the others. Every refusal is a VALIDATION_ERROR that names all bad
// fields. It is counted once, by what was found first. The only error is the context's: the
// work is done in turns with other callers.
func (g *Governor) Govern(ctx context.Context, now time.Time, batch []Incoming) (Governed, error) {
	result := Governed{Events: make([]store.Event, 0, len(batch)), IDs: make([]recoup.ID, len(batch))}
	var left counts
	var c check
	known := newKnowledge()
	err := turn.Each(ctx, len(batch), func(i int) error {
		result.Events = append(result.Events, store.Event{})
		e := &result.Events[len(result.Events)-1]
		c = check{Governor: g, knowledge: known, now: now, in: &batch[i], out: e}
		c.run()
		if c.reason != "" {
			left.add(c.reason, 1)
			result.Events = result.Events[:len(result.Events)-1]
			result.Refused = append(result.Refused, Refusal{Index: i, Err: fault.Validation(c.bad...)})
			return nil
		}
		for reason, n := range c.left {
			left.add(reason, n)
		}
		result.IDs[i] = e.ID
		return nil
	})
	if err != nil {
		return Governed{}, err
	}
	g.Tally.add(now, left)
	return result, nil
}

// Check says everything that is wrong with an event, and counts nothing.
func (g *Governor) Check(now time.Time, in *Incoming) error {
	c := check{Governor: g, knowledge: newKnowledge(), now: now, in: in, out: &store.Event{}}
	if c.run(); c.reason == "" {
		return nil
	}
	return fault.Validation(c.bad...)
}

// Keep governs events that are stored together with the act that they record. The
// result has nil in the place of one that is refused; the act stands without it. The only error is
// the context's.
func (g *Governor) Keep(ctx context.Context, now time.Time, events []recoup.Event) ([]*store.Event, error) {
	batch := make([]Incoming, len(events))
	for i := range events {
		batch[i].Event = events[i]
	}
	governed, err := g.Govern(ctx, now, batch)
	if err != nil {
		return nil, err
	}
	kept, refused := make([]*store.Event, len(events)), governed.Refused
	for i, next := 0, 0; i < len(events); i++ {
		if len(refused) > 0 && refused[0].Index == i {
			refused = refused[1:]
			continue
		}
		kept[i] = &governed.Events[next]
		next++
	}
	return kept, nil
}

// check decides about one event. Its methods fill in the event and note what is
// wrong with it; what is refused in the end was never stored, so they need not
// care about what they leave in it.
type check struct {
	*Governor
	*knowledge
	now  time.Time
	in   *Incoming
	out  *store.Event
	left counts // parts that are left out
	def  *fault.Definition

	reason string // why the event is refused; empty: it is not
	bad    []fault.FieldError
}

func (c *check) run() {
	c.code()
	c.id()
	c.time()
	c.correlation()
	c.names()
	c.status()
	c.provider()
	c.details()
	if c.in.Tenant != "" && c.reason == "" {
		c.out.TenantHash, c.out.TenantKey = c.tenant(c.Tenants, c.in.Tenant)
	}
}

func (c *check) refuse(reason, field, constraint, message string) {
	if c.reason == "" {
		c.reason = reason
	}
	c.bad = append(c.bad, fault.FieldError{Field: field, Constraint: constraint, Message: message})
}

// code folds the code. A key in upper case may have the form of a code, so a name
// that nobody has registered is looked at as it was sent and as it is kept.
func (c *check) code() {
	sent := string(c.in.Code)
	def, name, err := c.Registry.Fold(sent)
	if err != nil {
		c.refuse(DropCode, "code", "format", "expected a code such as NETWORK_TIMEOUT: letters, digits and _, beginning with a letter, at most 64")
		return
	}
	c.out.Code, c.def = def.Code, def
	if name == def.Code {
		return
	}
	c.out.ReportedCode = name
	c.identifier("code", sent)
	c.identifier("code", string(name))
}

// details keeps the details that are allowed. An event that does not say whether
// trying again is worth it is stored with what the registry says, so that spec 003's
// query over the details counts what the rollups do.
func (c *check) details() {
	if c.reason != "" {
		return
	}
	retryable := c.def.Retryable(false)
	if len(c.in.Details) == 0 {
		c.out.Details = c.unsaid[retryable]
		return
	}
	kept, dropped := c.Details.Apply(c.secrets, c.in.Details)
	for reason, n := range dropped {
		c.left.add(detailsPrefix+reason, int64(n))
	}
	if kept == nil {
		kept = map[string]any{}
	}
	if _, said := kept["retryable"]; !said {
		kept["retryable"] = retryable
	}
	c.out.Details = kept
}

// provider keeps the name of an external service that is registered. Another name
// would become a dimension of alerts, so the event is stored without it.
func (c *check) provider() {
	name := c.in.ExternalService
	if name == "" {
		return
	}
	if s := c.in.Sender; s != nil && s.OwnsProvider != nil && !s.OwnsProvider(name) {
		c.identifier("external_service", name)
		c.left.add(DropForeignProvider, 1)
		return
	}
	if _, ok := c.Providers.Lookup(name); ok {
		c.out.ExternalService = name
		return
	}
	c.identifier("external_service", name)
	c.left.add(DropProvider, 1)
}

// names takes the names of where it happened, or the sender's.
func (c *check) names() {
	c.out.Service, c.out.Region = c.in.Service, c.in.Region
	if s := c.in.Sender; s != nil {
		if c.out.Service == "" {
			c.out.Service = s.Service
		}
		if c.out.Region == "" {
			c.out.Region = s.Region
		}
	}
	if strings.TrimSpace(c.out.Service) == "" {
		c.refuse(DropService, "service", "required", "expected the logical name of the service or job that failed")
	} else {
		c.identifier("service", c.out.Service)
	}
	if s := c.in.Sender; s != nil && s.OwnsService != nil && c.out.Service != "" && !s.OwnsService(c.out.Service) {
		c.refuse(DropForeign, "service", "hub", "expected a service of the key's hubs: list it there as one of its services in the policy, or use a key for all hubs")
	}
	c.identifier("region", c.out.Region)
	endpoint, _, cut := strings.Cut(c.in.Endpoint, "?")
	if cut {
		c.left.add(DropQuery, 1)
	}
	c.out.Endpoint = endpoint
	c.identifier("endpoint", endpoint)
}
