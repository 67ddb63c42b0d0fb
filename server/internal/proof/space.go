package proof

import (
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/policy"
)

// unknownTable is a table that no policy can have: its name has no schema.
const unknownTable = "no_such_table"

// questions lists everything a policy can be asked that could make a difference.
func questions(p *policy.Policy, plain recoup.Code) []policy.Question {
	var list []policy.Question
	codes, kinds := append([]recoup.Code{plain}, namedCodes(p)...), kinds()
	for _, table := range tableNames(p) {
		for _, code := range codes {
			for _, q := range kinds {
				q.Table, q.Code = table, code
				for _, q.Entity = range []bool{true, false} {
					list = append(list, q)
				}
			}
		}
	}
	return list
}

// kinds lists every kind of failure: its severity, category and class.
func kinds() []policy.Question {
	var list []policy.Question
	for _, severity := range append([]recoup.Severity{recoup.SeverityNone}, recoup.Severities()...) {
		for _, category := range recoup.Categories() {
			for _, class := range concreteClasses() {
				list = append(list, policy.Question{Severity: severity, Category: category, Class: class})
			}
		}
	}
	return list
}

// tableNames lists every governed table, one that is dead and one that nobody knows.
func tableNames(p *policy.Policy) []string {
	var names []string
	for _, t := range p.Tables() {
		names = append(names, t.Name)
	}
	if len(p.DeadTables) > 0 {
		names = append(names, p.DeadTables[0].Name)
	}
	return append(names, unknownTable)
}

// concreteClasses are the classes a failure can have once it is judged: a
// conditional one is by then retryable or fatal.
func concreteClasses() []recoup.Class {
	return slices.DeleteFunc(recoup.Classes(), func(c recoup.Class) bool { return c == recoup.ClassConditional })
}

// namedCodes lists the codes that conditions and families name, each once.
func namedCodes(p *policy.Policy) []recoup.Code {
	var codes []recoup.Code
	for _, c := range p.Conditions {
		codes = append(codes, c.Codes...)
	}
	for _, h := range p.Hubs {
		for _, f := range h.Overrides.Families {
			codes = append(codes, f.Codes...)
		}
	}
	slices.Sort(codes)
	return slices.Compact(codes)
}

// plainCode finds a registered code that the policy treats as any other.
func plainCode(p *policy.Policy, registry *fault.Registry) recoup.Code {
	named := namedCodes(p)
	if !slices.Contains(named, fault.CodeNetworkTimeout) {
		return fault.CodeNetworkTimeout
	}
	for _, def := range registry.All() {
		if !slices.Contains(named, def.Code) {
			return def.Code
		}
	}
	return fault.CodeUnregisteredCode
}

// answer is an answer of the policy in a form that can be compared, also
// between policies.
type answer struct {
	table    string
	entity   bool
	orphaned bool
	action   recoup.Action
	reason   recoup.ParkReason
	tell     bool
	page     bool
	ttl      time.Duration
	blocks   bool
	retries  int
	manual   bool
	category recoup.Category // the one whose schedule counts
	floor    time.Duration
	window   time.Duration
	family   string // that counts the failure; only what is retried needs counting
	after    int
}

func resolve(p *policy.Policy, q policy.Question) answer {
	e := p.Resolve(q)
	a := answer{
		table: e.Table.Name, entity: q.Entity, orphaned: e.Orphaned, action: e.Action,
		reason: e.ParkReason, tell: e.NotifyOwner, page: e.Page, ttl: e.TTL, blocks: e.Blocks,
		retries: e.MaxRetries, manual: e.Manual, category: q.Category, floor: e.Floor, window: e.Window,
	}
	if e.Manual {
		a.category = recoup.Structural
	}
	if e.Family != nil && e.Action == recoup.ActionRetry {
		a.family, a.after = e.Family.Name, e.Family.After
	}
	return a
}

// course returns what of an answer decides how an error lives on. Which reason it
// is parked for, whether somebody is paged and where it was meant to go are told
// and then change nothing.
func (a answer) course() answer {
	a.page, a.orphaned = false, false
	if a.reason != "" {
		a.reason = "any"
	}
	return a
}

// life is what follows from answers of one course, with the question that stands for all
// that lead to it.
type life struct {
	question policy.Question
	answer   answer
	table    *policy.Table
	cases    int

	rungs  [recoup.MaxTier + 1]bool // that the clock reaches
	expiry *node                    // how the first error to be parked ends by the clock; nil: none is parked
}

// gather asks every question and puts those that lead to the same life together.
func (c *checker) gather() {
	known := map[answer]*life{}
	for _, q := range c.questions {
		a := resolve(c.policy, q)
		l := known[a.course()]
		if l == nil {
			table, _ := c.policy.Table(a.table)
			l = &life{question: q, answer: a, table: table}
			known[a.course()] = l
			c.lives = append(c.lives, l)
		}
		l.cases++
		c.lifeOf = append(c.lifeOf, l)
	}
}
