package proof

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/policy"
)

// override is a rule of the policy that exists to change answers.
type override struct {
	path   []string
	name   string
	tables []string // it is meant for; empty: all
	named  bool     // the policy names these tables, each of them on purpose
	whole  bool     // its parts are looked at too
}

// index is the place of an override in its list, or -1 if it is in none.
func (o override) index() int {
	i, err := strconv.Atoi(o.path[len(o.path)-1])
	if err != nil {
		return -1
	}
	return i
}

// overrides lists every rule that could be left out of a policy.
func overrides(p *policy.Policy) []override {
	var list []override
	add := func(o override, path ...string) {
		if o.path = path; p.Line(path...) > 0 {
			list = append(list, o)
		}
	}
	for _, h := range p.Hubs {
		at, o := []string{"hubs", h.ID, "overrides"}, override{tables: hubTables(p, h), named: len(h.Overrides.Tables) > 0}
		o.name = "the max_retries of the hub " + h.ID
		add(o, append(at, "max_retries")...)
		o.name = "the ttl of the hub " + h.ID
		add(o, append(at, "ttl")...)
		for i, f := range h.Overrides.Families {
			o.name = "the family " + f.Name
			add(o, append(at, "auto_park", strconv.Itoa(i))...)
		}
	}
	for _, s := range p.Severities {
		at := []string{"severities", string(s.Severity)}
		add(override{name: "severity " + string(s.Severity), whole: true}, append(at, "disposition")...)
		add(override{name: "the ttl of severity " + string(s.Severity)}, append(at, "ttl")...)
	}
	for i, c := range p.Conditions {
		add(override{name: "the condition " + c.Name, tables: c.Tables, named: true}, "parking", "conditions", strconv.Itoa(i))
	}
	return list
}

// hubTables lists the tables that a hub's overrides are meant for.
func hubTables(p *policy.Policy, h *policy.Hub) []string {
	if len(h.Overrides.Tables) > 0 {
		return h.Overrides.Tables
	}
	var names []string
	for _, t := range p.Tables() {
		if t.Hub == h.ID {
			names = append(names, t.Name)
		}
	}
	return names
}

// checkOverrides leaves out each rule in turn. One without which the policy
// answers as before is shadowed: by the rule without which it would matter, if
// there is one.
func (c *checker) checkOverrides() {
	s := &shadows{checker: c, list: overrides(c.policy), byTable: newGroups[string, int]()}
	s.present = s.answers(c.policy)
	for q, a := range s.present {
		s.byTable.add(a.table, q)
	}
	for _, o := range s.list {
		s.absent = append(s.absent, s.answers(without(c.policy, o)))
	}
	for i := range s.list {
		s.effects = append(s.effects, s.effect(i))
	}
	for i, o := range s.list {
		switch {
		case len(s.effects[i]) == 0:
			s.useless(i)
		case !o.whole:
			s.partly(i)
		}
	}
}

// shadows compares the answers of a policy with those of its variants.
type shadows struct {
	*checker
	list    []override
	present []answer
	byTable *groups[string, int] // the questions, by the table they lead to
	absent  [][]answer           // without each override of the list
	effects []map[string]bool    // of each override: the tables in which it changes an answer
}

func (s *shadows) answers(p *policy.Policy) []answer {
	list := make([]answer, len(s.questions))
	for i, q := range s.questions {
		list[i] = noticed(p, q)
	}
	return list
}

// noticed is of an answer what makes a difference: how often and how soon it is
// retried does not where no error gets into retry.
func noticed(p *policy.Policy, q policy.Question) answer {
	a := resolve(p, q)
	if t, _ := p.Table(a.table); a.action == recoup.ActionRetry || t.Allows(recoup.ActionRetry) && t.Allows(recoup.ActionPark) {
		return a
	}
	a.retries, a.manual, a.category, a.floor, a.window = 0, false, "", 0, 0
	return a
}

// effect returns the tables in which an override changes an answer.
func (s *shadows) effect(i int) map[string]bool {
	tables := map[string]bool{}
	for q, a := range s.present {
		if a != s.absent[i][q] {
			tables[a.table] = true
		}
	}
	return tables
}

// useless reports an override that changes nothing anywhere.
func (s *shadows) useless(i int) {
	o := s.list[i]
	message := fmt.Sprintf("%s changes no answer", o.name)
	for by, other := range s.list {
		if hidden := s.revealed(i, by, func(string) bool { return true }); len(hidden) > 0 {
			message += fmt.Sprintf(": %s, line %d, decides alone", other.name, s.policy.Line(other.path...))
			s.refute(shadowed, o.path, message, len(hidden), s.show(i, by, hidden[0]))
			return
		}
	}
	s.refute(shadowed, o.path, message, len(s.questions), nil)
}

// partly reports the tables in which an override that has an effect elsewhere has
// none: because others take it all, or although the policy names the table.
func (s *shadows) partly(i int) {
	o := s.list[i]
	idle := s.idle(i)
	var where []string
	var example []Moment
	cases := 0
	for by, other := range s.list {
		hidden := s.revealed(i, by, func(table string) bool {
			meant := len(o.tables) == 0 || slices.Contains(o.tables, table)
			return meant && s.effects[by][table] && !s.effects[i][table]
		})
		if len(hidden) == 0 {
			continue
		}
		var tables []string
		for _, q := range hidden {
			tables = append(tables, s.present[q].table)
		}
		idle = slices.DeleteFunc(idle, func(table string) bool { return slices.Contains(tables, table) })
		where = append(where, fmt.Sprintf("%s (%s, line %d, wins)",
			enumerate(slices.Compact(tables)), other.name, s.policy.Line(other.path...)))
		if cases += len(hidden); example == nil {
			example = s.show(i, by, hidden[0])
		}
	}
	for _, table := range idle {
		where = append(where, table)
		cases += len(s.byTable.of[table])
	}
	if len(where) > 0 {
		s.refute(shadowed, o.path, fmt.Sprintf("%s has no effect in %s", o.name, enumerate(where)), cases, example)
	}
}

// idle lists the tables that an override names and in which it changes nothing.
func (s *shadows) idle(i int) []string {
	o := s.list[i]
	if !o.named {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(o.tables), func(table string) bool { return s.effects[i][table] })
}

// revealed lists the questions, of some tables, whose answer an override would
// change if only another one were gone.
func (s *shadows) revealed(i, by int, in func(table string) bool) []int {
	var list []int
	for _, table := range s.byTable.keys {
		if i != by && in(table) {
			list = append(list, s.byTable.of[table]...)
		}
	}
	if len(list) == 0 {
		return nil
	}
	neither := without(s.policy, s.list[by], s.list[i])
	return slices.DeleteFunc(list, func(q int) bool { return noticed(neither, s.questions[q]) == s.absent[by][q] })
}

// show says what the answer is, and what it would be.
func (s *shadows) show(i, by, question int) []Moment {
	q := s.questions[question]
	is, would := s.present[question], s.absent[by][question]
	neither := noticed(without(s.policy, s.list[by], s.list[i]), q)
	moments := []Moment{{What: "report " + describe(q)}}
	for _, part := range parts {
		if now, then := part.value(&is), part.value(&would); now != then && then != part.value(&neither) {
			moments = append(moments, Moment{What: fmt.Sprintf("its %s is %s; without %s it would be %s", part.name, now, s.list[by].name, then)})
		}
	}
	return moments
}

// parts is what of an answer overrides decide, in words.
var parts = []struct {
	name  string
	value func(*answer) string
}{
	{"disposition", func(a *answer) string { return string(a.action) }},
	{"park reason", func(a *answer) string { return cmp.Or(string(a.reason), "none") }},
	{"TTL", func(a *answer) string { return policy.FormatDuration(a.ttl) }},
	{"retry budget", func(a *answer) string { return strconv.Itoa(a.retries) }},
	{"family", func(a *answer) string { return cmp.Or(a.family, "none") }},
	{"paging", func(a *answer) string { return strconv.FormatBool(a.page) }},
}

// without leaves overrides out. Of two items of one list the later goes first,
// so that the other keeps its place.
func without(p *policy.Policy, list ...override) *policy.Policy {
	slices.SortStableFunc(list, func(a, b override) int { return b.index() - a.index() })
	for _, o := range list {
		p = p.With(nil, o.path...)
	}
	return p
}
