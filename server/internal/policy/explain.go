package policy

import (
	"fmt"
	"slices"

	"github.com/recoup-dev/recoup"
)

// Explain answers as [Policy.Resolve] does, and says for each value which rule
// decided. Rules that were overruled come before the one that stands.
func (p *Policy) Explain(q Question) (Effective, []recoup.Rule) {
	var t trail
	e := p.resolve(q, &t)
	slices.SortStableFunc(t.steps, func(a, b step) int {
		return slices.Index(fields, a.field) - slices.Index(fields, b.field)
	})
	reasons := make([]recoup.Rule, len(t.steps))
	for i, s := range t.steps {
		why, at := p.why(s, &q)
		reasons[i] = recoup.Rule{
			Field: string(s.field), Value: s.describe(), Why: why, Line: p.line(at),
			Overruled: i+1 < len(t.steps) && t.steps[i+1].field == s.field,
		}
		if s.describe() != (step{s.field, s.by, e}).describe() {
			reasons[i].Overruled = true
		}
	}
	return e, reasons
}

// fields is the order in which an answer is explained.
var fields = []field{
	fieldTable, fieldAction, fieldReason, fieldNotify, fieldPage, fieldTTL, fieldBlocks,
	fieldRetries, fieldSchedule, fieldFloor, fieldWindow, fieldFamily,
}

// line returns where a path is written, or 0.
func (p *Policy) line(at []string) int {
	if len(at) == 0 {
		return 0
	}
	return p.doc.places[pointer(at...)].key.line
}

// why puts a step into words and names the path in the file that it rests on.
func (p *Policy) why(s step, q *Question) (string, []string) {
	e := &s.answer
	table := func(key string) []string { return []string{"tables", e.Table.Name, key} }
	switch s.by {
	case byReport:
		return "the report names it", []string{"tables", e.Table.Name}
	case byMissingTable:
		return p.whyNoTable(q.Table)
	case byMissingEntity:
		return fmt.Sprintf("%s requires an entity, and the report names none", q.Table), []string{"tables", q.Table}
	case byTable:
		return whyTable(s, q), table(tableKey(s.field))
	case bySeverity:
		return p.whySeverity(s, q)
	case byHub:
		return p.whyHub(s)
	case byCondition:
		c := p.condition(q.Code, e.Table.Name)
		return fmt.Sprintf("the parking condition %s names %s", c.Name, q.Code), []string{"parking", "conditions", itoa(c.index)}
	case byNoPark:
		return "it must be parked, and the table does not allow PARK", table("allowed")
	case byClass:
		return whyClass(s, q)
	}
	return whyCategory(s, q, p.category(q.Category).Category)
}

func (p *Policy) whyNoTable(name string) (string, []string) {
	for _, d := range p.DeadTables {
		if d.Name == name {
			return fmt.Sprintf("%s is dead (%s)", name, d.Todo), []string{"dead_tables", name}
		}
	}
	return fmt.Sprintf("there is no table %s", name), []string{"orphan_table"}
}

// tableKey is the key of a table that decides a field.
func tableKey(f field) string {
	if f == fieldAction {
		return "default"
	}
	return string(f)
}

func whyTable(s step, q *Question) string {
	t := s.answer.Table
	switch {
	case s.field == fieldAction:
		return "the table's default"
	case s.field == fieldTTL:
		return "the table's tier"
	case s.field == fieldReason:
		return "what the table parks for"
	case t.Blocks && !q.Entity:
		return "the table blocks, but the report names no entity"
	case t.Blocks && !s.answer.Blocks:
		return fmt.Sprintf("the table blocks, but %s does not", s.answer.Action)
	}
	return t.BlocksWhy
}

func (p *Policy) whySeverity(s step, q *Question) (string, []string) {
	rule := p.severity(q.Severity)
	at := func(key string) []string { return []string{"severities", string(q.Severity), key} }
	switch {
	case s.field == fieldTTL:
		return fmt.Sprintf("severity %s has a tier of its own", q.Severity), at("ttl")
	case s.field == fieldReason:
		return fmt.Sprintf("severity %s parks for it", q.Severity), at("park_reason")
	case s.field == fieldNotify:
		return fmt.Sprintf("severity %s asks for PARK, which the table does not allow", q.Severity), at("disposition")
	case s.answer.Action != rule.Action:
		return fmt.Sprintf("severity %s asks for %s, which the table does not allow, otherwise for %s", q.Severity, rule.Action, rule.Otherwise), at("otherwise")
	}
	return fmt.Sprintf("severity %s asks for it, and the table allows it", q.Severity), at("disposition")
}

func (p *Policy) whyHub(s step) (string, []string) {
	hub := s.answer.Table.hub
	at := func(steps ...string) []string { return path([]string{"hubs", hub.ID, "overrides"}, steps...) }
	switch s.field {
	case fieldTTL:
		return fmt.Sprintf("the hub %s overrides it", hub.Name), at("ttl")
	case fieldRetries:
		return fmt.Sprintf("the hub %s raises it", hub.Name), at("max_retries")
	}
	i := slices.Index(hub.Overrides.Families, s.answer.Family)
	return fmt.Sprintf("the hub %s counts these failures of one entity together", hub.Name), at("auto_park", itoa(i))
}

func whyClass(s step, q *Question) (string, []string) {
	switch s.field {
	case fieldFloor:
		return fmt.Sprintf("the least wait of class %s", q.Class), []string{"retry", "floors", string(q.Class)}
	case fieldRetries:
		return fmt.Sprintf("class %s is not retried by the system; a person may try", q.Class),
			[]string{"retry", "categories", string(recoup.Structural), "max_retries"}
	}
	return fmt.Sprintf("class %s is not retried by the system", q.Class), nil
}

func whyCategory(s step, q *Question, counted recoup.Category) (string, []string) {
	at := []string{"retry", "categories", string(counted), string(s.field)}
	switch {
	case s.field == fieldAction, s.field == fieldReason:
		return fmt.Sprintf("category %s is not retried by the system", counted), at[:3]
	case counted != q.Category:
		return fmt.Sprintf("category %q is unknown and counts as %s", q.Category, counted), at
	}
	return fmt.Sprintf("category %s", counted), at
}
