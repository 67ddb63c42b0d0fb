package policy

import (
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
)

// Resolve answers what is to be done with one failure. The disposition it
// gives is always one that the table allows. It does not allocate.
func (p *Policy) Resolve(q Question) Effective { return p.resolve(q, nil) }

// resolve applies rule after rule, each overruling the one before, and notes in
// the trail, if there is one, who decided what.
func (p *Policy) resolve(q Question, t *trail) Effective {
	var e Effective
	p.route(&e, &q, t)
	p.weigh(&e, &q, t)
	p.judge(&e, &q, t)
	p.budget(&e, &q, t)
	e.Blocks = e.Table.Blocks && q.Entity && (e.Action == recoup.ActionRetry || e.Action == recoup.ActionPark)
	t.note(fieldBlocks, byTable, &e)
	e.Family = e.Table.overrides.family(q.Code)
	if e.Family != nil {
		t.note(fieldFamily, byHub, &e)
	}
	return e
}

// route finds the table. A report that fits nowhere is kept among the orphans.
func (p *Policy) route(e *Effective, q *Question, t *trail) {
	table, known := p.byName[q.Table]
	switch {
	case !known:
		e.Table, e.Orphaned = p.OrphanTable, true
		t.note(fieldTable, byMissingTable, e)
	case !q.Entity && !table.EntityOptional:
		e.Table, e.Orphaned = p.OrphanTable, true
		t.note(fieldTable, byMissingEntity, e)
	default:
		e.Table = table
		t.note(fieldTable, byReport, e)
	}
}

// weigh takes the table's disposition and TTL, lets the severity replace both
// where the table allows its disposition, and the hub replace the TTL.
func (p *Policy) weigh(e *Effective, q *Question, t *trail) {
	table := e.Table
	e.Action, e.TTLTier, e.TTL = table.Default, table.TTLTier, table.TTL
	t.note(fieldAction, byTable, e)
	t.note(fieldTTL, byTable, e)
	if e.Action == recoup.ActionPark {
		e.ParkReason = table.ParkReason
		t.note(fieldReason, byTable, e)
	}
	if s := p.severity(q.Severity); s != nil {
		applySeverity(e, s, t)
	}
	overrideTTL(e, table.overrides.TTLTier, table.overrides.ttl, byHub, t)
}

func applySeverity(e *Effective, s *SeverityRule, t *trail) {
	action := s.Action
	if !e.Table.Allows(action) {
		action = s.Otherwise
	}
	switch {
	case e.Table.Allows(action):
		setAction(e, action, bySeverity, t)
		e.ParkReason = ""
		if action == recoup.ActionPark {
			e.ParkReason = s.ParkReason
			t.note(fieldReason, bySeverity, e)
		}
		overrideTTL(e, s.TTLTier, s.ttl, bySeverity, t)
	case s.Action == recoup.ActionPark:
		e.NotifyOwner = true
		t.note(fieldNotify, bySeverity, e)
		if !e.Table.Infinite() && e.Action != recoup.ActionRetry {
			e.ParkReason = s.ParkReason
			t.note(fieldReason, bySeverity, e)
		}
	}
}

// overrideTTL leaves INFINITE tables alone: nothing shortens an audit log.
func overrideTTL(e *Effective, tier string, ttl time.Duration, by cause, t *trail) {
	if tier == "" || e.Table.Infinite() {
		return
	}
	e.TTLTier, e.TTL = tier, ttl
	t.note(fieldTTL, by, e)
}

// judge parks what must not be retried by the system. Dispositions that retry
// nothing stand: an ignored failure must not start to block because its code
// is fatal.
func (p *Policy) judge(e *Effective, q *Question, t *trail) {
	e.Manual = fatal(q.Class) || q.Category == recoup.Structural
	verdict := p.MustPark(e.Table, q.Code, q.Class, q.Category)
	if verdict.Page {
		e.Page = true
		t.note(fieldPage, byCondition, e)
	}
	if verdict.Must && (e.Action == recoup.ActionRetry || e.Action == recoup.ActionPark) {
		mustPark(e, verdict, t)
	}
}

// mustPark parks, or, where the table does not allow that, archives, keeps the
// reason and has the owner notified.
func mustPark(e *Effective, v Verdict, t *trail) {
	e.ParkReason = v.Reason
	t.note(fieldReason, v.by, e)
	switch {
	case e.Table.Allows(recoup.ActionPark):
		setAction(e, recoup.ActionPark, v.by, t)
		return
	case e.Table.Allows(recoup.ActionArchive):
		setAction(e, recoup.ActionArchive, byNoPark, t)
	default:
		setAction(e, e.Table.Default, byNoPark, t)
	}
	e.NotifyOwner = true
	t.note(fieldNotify, byNoPark, e)
}

// setAction notes only a change: who asks for what holds anyway decides nothing.
func setAction(e *Effective, a recoup.Action, by cause, t *trail) {
	if e.Action != a {
		e.Action = a
		t.note(fieldAction, by, e)
	}
}

// budget says how often and how soon it may be retried. What the system must
// not retry has the budget of a structural failure: one try, by hand.
func (p *Policy) budget(e *Effective, q *Question, t *trail) {
	category, by := p.category(q.Category), byCategory
	if e.Manual && category.Category != recoup.Structural {
		category, by = p.category(recoup.Structural), byClass
	}
	e.MaxRetries, e.Schedule, e.Window = category.MaxRetries, category.Schedule, category.Window
	t.note(fieldRetries, by, e)
	if e.Manual {
		return
	}
	if hub := e.Table.overrides.MaxRetries; hub > e.MaxRetries {
		e.MaxRetries = hub
		t.note(fieldRetries, byHub, e)
	}
	t.note(fieldSchedule, byCategory, e)
	t.note(fieldWindow, byCategory, e)
	e.Floor = p.Floors[q.Class]
	t.note(fieldFloor, byClass, e)
}

// severity returns the rule of s, or nil where s is neutral.
func (p *Policy) severity(s recoup.Severity) *SeverityRule {
	for i := range p.Severities {
		if rule := &p.Severities[i]; rule.Severity == s && rule.Action != "" {
			return rule
		}
	}
	return nil
}

// category returns the rule of c. A failure whose category nobody knows counts
// as OPERATIONAL.
func (p *Policy) category(c recoup.Category) *CategoryRule {
	operational := &p.Categories[0]
	for i := range p.Categories {
		switch rule := &p.Categories[i]; rule.Category {
		case c:
			return rule
		case recoup.Operational:
			operational = rule
		}
	}
	return operational
}

// condition returns the first parking condition that fits, or nil.
func (p *Policy) condition(code recoup.Code, table string) *Condition {
	for _, c := range p.conditions[code] {
		if len(c.Tables) == 0 || slices.Contains(c.Tables, table) {
			return c
		}
	}
	return nil
}

// family returns the family that counts this code, or nil.
func (o *Overrides) family(code recoup.Code) *Family {
	for _, f := range o.Families {
		if slices.Contains(f.Codes, code) {
			return f
		}
	}
	return nil
}
