package policy

import (
	"cmp"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/retry"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// defaultEntityColumn names the entity in tables that have no name for it.
const defaultEntityColumn = "entity_id"

// SpecEntityColumn names the entity in the promotion check of spec 000, 6.3.
const SpecEntityColumn = "outreach_id"

// compiler turns a checked file into a Policy.
type compiler struct {
	doc  *document
	file *file
	out  *Policy
}

// compile cannot fail: whatever could be wrong, check has refused.
func compile(doc *document, f *file) *Policy {
	c := compiler{doc: doc, file: f, out: &Policy{
		Version:       string(f.Version),
		EffectiveFrom: f.Effective,
		Authority:     f.Authority,
		Floors:        map[recoup.Class]time.Duration{},
		ExpiryNotice:  time.Duration(f.Escalation.ExpiryNotice),
		Leases: Leases{
			Default:     time.Duration(f.Leases.Default),
			Max:         time.Duration(f.Leases.Max),
			ExpiryGrace: time.Duration(f.Leases.ExpiryGrace),
		},
		MinSamples: f.Alerts.MinSamples,
		Repeat:     time.Duration(f.Alerts.Repeat),
		Reasons:    descriptions(doc, f.Parking.Reasons, "parking", "reasons"),
		doc:        doc,
		byName:     map[string]*Table{},
		conditions: map[recoup.Code][]*Condition{},
	}}
	c.tiers()
	c.hubs()
	c.ladder()
	c.tables()
	c.decisions()
	c.measures()
	c.notifications()
	c.altitudes()
	c.ledger()
	return c.out
}

// keysOf returns the keys of a mapping in the order of the file.
func (d *document) keysOf(steps ...string) []string { return d.keys[pointer(steps...)] }

func descriptions[K ~string](doc *document, m map[K]string, steps ...string) []Description {
	var list []Description
	for _, name := range doc.keysOf(steps...) {
		list = append(list, Description{name, m[K(name)]})
	}
	return list
}

// ttl returns how long a tier lasts; zero is for ever, or no tier.
func (c *compiler) ttl(tier string) time.Duration {
	d, err := ParseDuration(c.file.Tiers[tier].Lasts)
	if err != nil {
		return 0
	}
	return d
}

func (c *compiler) tiers() {
	for _, name := range c.doc.keysOf("tiers") {
		c.out.Tiers = append(c.out.Tiers, Tier{name, c.ttl(name), c.file.Tiers[name].Use})
	}
}

func (c *compiler) hubs() {
	for _, id := range c.doc.keysOf("hubs") {
		h := c.file.Hubs[id]
		o := h.Overrides
		hub := &Hub{
			ID: id, Name: h.Name, Team: h.Team, Lead: h.Lead, Services: h.Services, Pipelines: h.Pipelines,
			Overrides: Overrides{Tables: o.Tables, MaxRetries: o.MaxRetries, TTLTier: o.TTL, ttl: c.ttl(o.TTL)},
		}
		for _, f := range o.AutoPark {
			hub.Overrides.Families = append(hub.Overrides.Families, &Family{f.Family, f.After, f.Reason, f.Codes})
		}
		c.out.Hubs = append(c.out.Hubs, hub)
	}
	c.out.PlatformHub = c.hub(c.file.PlatformHub)
}

func (c *compiler) hub(id string) *Hub {
	i := slices.IndexFunc(c.out.Hubs, func(h *Hub) bool { return h.ID == id })
	return c.out.Hubs[i]
}

func (c *compiler) ladder() {
	for _, r := range c.file.Escalation.Ladder {
		c.out.Ladder = append(c.out.Ladder, Rung{
			r.Tier, string(r.Owner), time.Duration(r.After), time.Duration(r.ReviewWithin),
		})
	}
}

func (c *compiler) tables() {
	for _, name := range c.doc.keysOf("tables") {
		t := c.table(name, c.file.Tables[name])
		c.out.tables = append(c.out.tables, t)
		c.out.byName[name] = t
	}
	c.out.OrphanTable = c.out.byName[c.file.OrphanTable]
	for _, d := range descriptions(c.doc, c.file.DeadTables, "dead_tables") {
		c.out.DeadTables = append(c.out.DeadTables, DeadTable{d.Name, d.Text})
	}
}

func (c *compiler) table(name string, f fileTable) *Table {
	t := &Table{
		Name:           name,
		Hub:            f.Hub,
		Layer:          f.Layer,
		EntityColumn:   cmp.Or(f.Entity, defaultEntityColumn),
		EntityOptional: f.EntityRequired != nil && !*f.EntityRequired,
		TTLTier:        f.TTL,
		TTL:            c.ttl(f.TTL),
		Default:        f.Default,
		Blocks:         f.Blocks,
		BlocksWhy:      f.Because,
		DeadLetter:     f.DeadLetters,
		ParkReason:     f.ParkReason,
		Source:         wire.SourceRules(f.Source),
		hub:            c.hub(f.Hub),
		overrides:      &Overrides{},
	}
	if o := &t.hub.Overrides; len(o.Tables) == 0 || slices.Contains(o.Tables, name) {
		t.overrides = o
	}
	if !t.Infinite() {
		t.Archive = cmp.Or(f.Archive, name+c.file.Archive.Suffix)
		t.Retention = time.Duration(cmp.Or(f.Retention, c.file.Archive.Retention))
	}
	for _, a := range f.Allowed {
		t.allowed[actionIndex(a)] = true
	}
	t.owners[0] = recoup.System
	for tier := range recoup.MaxTier {
		t.owners[tier+1] = c.owner(t, tier+1)
	}
	return t
}

// owner says who owns a table's errors at a tier. Above a ladder's last rung
// its owner stays.
func (c *compiler) owner(t *Table, tier int) string {
	ladder := c.file.Escalation.Ladder
	role := ladder[min(tier, len(ladder))-1].Owner
	if t.Layer == GlobalLayer {
		role = c.file.Escalation.GlobalOwner
	}
	switch role {
	case HubTeam:
		return t.hub.Team
	case HubLead:
		return t.hub.Lead
	}
	return c.hub(c.file.PlatformHub).Team
}

func (c *compiler) decisions() {
	for _, s := range recoup.Severities() {
		f := c.file.Severities[s]
		c.out.Severities = append(c.out.Severities, SeverityRule{
			s, f.Disposition, f.Otherwise, f.TTL, f.ParkReason, c.ttl(f.TTL),
		})
	}
	for _, cat := range recoup.Categories() {
		f := c.file.Retry.Categories[cat]
		c.out.Categories = append(c.out.Categories, CategoryRule{
			cat, f.MaxRetries, f.Schedule.compile(), time.Duration(f.Window),
		})
	}
	for class, floor := range c.file.Retry.Floors {
		c.out.Floors[class] = time.Duration(floor)
	}
	for i, f := range c.file.Parking.Conditions {
		condition := &Condition{f.Name, f.Codes, f.Tables, f.Reason, f.Page, i}
		c.out.Conditions = append(c.out.Conditions, condition)
		for _, code := range f.Codes {
			c.out.conditions[code] = append(c.out.conditions[code], condition)
		}
	}
}

func (f fileSchedule) compile() retry.Schedule {
	s := retry.Schedule{
		Kind:       f.Kind,
		Base:       time.Duration(f.Base),
		Multiplier: f.Multiplier,
		Cap:        time.Duration(f.Cap),
		Jitter:     f.Jitter,
	}
	for _, step := range f.Steps {
		s.Steps = append(s.Steps, time.Duration(step))
	}
	return s
}

func (c *compiler) measures() {
	for _, name := range c.doc.keysOf("metrics") {
		f := c.file.Metrics[name]
		kind, _ := kindOf(name)
		c.out.Metrics = append(c.out.Metrics, Metric{name, kind, f.Means, parseQuantity(string(f.Threshold)).value})
	}
	for _, f := range c.file.Alerts.Rules {
		when, _ := parseTerm(f.When)
		c.out.Alerts = append(c.out.Alerts, Alert{
			Name: f.Name, Metric: when.metric, Compare: when.compare, Value: when.value.value,
			Window: time.Duration(f.Window), For: time.Duration(f.For),
			Repeat: cmp.Or(time.Duration(f.Repeat), c.out.Repeat),
			Per:    f.Per, Hub: f.Hub, Severity: f.Severity, Action: f.Action,
		})
	}
	for _, name := range c.doc.keysOf("providers") {
		f := c.file.Providers[name]
		c.out.Providers = append(c.out.Providers, ProviderGroup{name, f.Members, time.Duration(f.BackAfter), f.Hub})
	}
}

// altitudes compiles the retries that do not belong to a stored error.
func (c *compiler) altitudes() {
	c.out.DefaultRequest = c.file.Requests.Default.compile()
	c.out.Requests = make(map[recoup.Code]fault.RetryPolicy, len(c.file.Requests.Codes))
	for code, f := range c.file.Requests.Codes {
		c.out.Requests[code] = f.compile()
	}
	s := c.file.Stages
	c.out.Stage = retry.Policy{
		Schedule:   s.Schedule.compile(),
		MaxRetries: retry.Retries(s.MaxAttempts),
		RetryAfter: retry.Honour,
		Ceiling:    time.Duration(s.RetryAfterCeiling),
	}
	c.out.ReplayRetention = time.Duration(s.ReplayRetention)
	c.out.CheckpointRetention = time.Duration(s.CheckpointRetention)
	g := c.file.Gate
	gate := &c.out.Gate
	gate.Schedule, gate.MaxAttempts = fileSchedule{Kind: retry.Fixed, Steps: g.Waits}.compile(), g.MaxAttempts
	gate.RecoveryWindow, gate.Reasons = time.Duration(g.RecoveryWindow), descriptions(c.doc, g.Reasons, "gate", "reasons")
}

func (f fileRequest) compile() fault.RetryPolicy {
	if f.MaxAttempts == 0 {
		return fault.RetryPolicy{}
	}
	return fault.RetryPolicy{
		MaxAttempts: f.MaxAttempts, BaseDelayMS: time.Duration(f.Base).Milliseconds(), MaxDelayMS: time.Duration(f.Cap).Milliseconds(),
		BackoffMultiplier: f.Multiplier, RespectRetryAfter: true,
	}
}

func (c *compiler) ledger() {
	f := c.file.Ledger
	c.out.Ledger = Ledger{
		MaxValueBytes:   f.Details.MaxValueBytes,
		MaxBytes:        f.Details.MaxBytes,
		EventRetention:  time.Duration(f.EventRetention),
		RollupRetention: time.Duration(f.RollupRetention),
	}
	for _, key := range c.doc.keysOf("ledger", "details", "keys") {
		c.out.Ledger.Details = append(c.out.Ledger.Details, Detail{key, f.Details.Keys[key]})
	}
}
