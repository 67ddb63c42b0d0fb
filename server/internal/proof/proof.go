// Package proof proves properties of a policy, or refutes them with a
// counterexample. It asks the real policy every question that can be asked,
// drives the real state machine from every answer, and lets virtual time jump
// from deadline to deadline.
//
// Times are infinite, so of all the ways to reach a state the earliest is followed:
// whoever comes later has less time left, and nothing else to gain. A defect of
// the state machine that needs a later arrival, or failures of different kinds
// one after the other, is outside of what is explored.
//
// It decides nothing about errors and trusts nobody: what the loader of a policy
// refuses is looked for here again, from the other end.
package proof

import (
	"cmp"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/policy"
)

// Report is what [Check] found out about a policy.
type Report struct {
	Version  string    `json:"policy_version"`
	Cases    int       `json:"cases"`   // questions asked
	Answers  int       `json:"answers"` // different lives they lead to
	States   int       `json:"states"`  // explored
	Steps    int       `json:"steps"`   // taken by the state machine
	Rules    []Rule    `json:"rules"`   // what was to be proved
	Findings []Finding `json:"findings"`
}

// Finding is a property that does not hold, with a case that shows it.
type Finding struct {
	Level   Level    `json:"level"`
	Rule    string   `json:"rule"`
	Line    int      `json:"line,omitempty"` // of the policy file
	Message string   `json:"message"`
	Cases   int      `json:"cases"`          // how many cases show it
	Example []Moment `json:"counterexample"` // one of them
}

// Count returns how many findings are of a level.
func (r *Report) Count(level Level) int {
	n := 0
	for i := range r.Findings {
		if r.Findings[i].Level == level {
			n++
		}
	}
	return n
}

// Check explores a policy. The codes that the policy names are looked up in the
// registry. Findings are in the order of the policy file.
func Check(p *policy.Policy, registry *fault.Registry) Report {
	return check(p, registry, lifecycle.Step)
}

// machine is the signature of [lifecycle.Step]. Tests put a faulty one in its
// place to see that the proof notices.
type machine func(*policy.Policy, *recoup.Error, lifecycle.Input, time.Time) (recoup.Error, lifecycle.Effects, error)

func check(p *policy.Policy, registry *fault.Registry, step machine) Report {
	c := &checker{
		policy: p, registry: registry, step: step,
		plain: plainCode(p, registry), found: map[finding]*Finding{},
	}
	c.questions = questions(p, c.plain)
	c.gather()
	for _, l := range c.lives {
		c.explore(l)
	}
	c.checkRetries()
	c.checkRungs()
	c.checkOverrides()
	c.checkCodes()
	return c.report()
}

// checker collects what is found about one policy.
type checker struct {
	policy    *policy.Policy
	registry  *fault.Registry
	step      machine
	plain     recoup.Code // a code that the policy does not name
	questions []policy.Question
	lives     []*life // the different answers, in the order of the questions
	lifeOf    []*life // of each question
	states    int
	steps     int
	found     map[finding]*Finding
}

// finding is what similar counterexamples have in common: they are reported as
// one.
type finding struct {
	rule    string
	line    int
	message string
}

// refute notes a counterexample that stands for a number of cases. Of many for
// the same finding the first is kept: exploration goes from the simple to the
// involved.
func (c *checker) refute(rule string, at []string, message string, cases int, example []Moment) {
	key := finding{rule, c.line(at), message}
	if known, ok := c.found[key]; ok {
		known.Cases += cases
		return
	}
	c.found[key] = &Finding{
		Level: levelOf(rule), Rule: rule, Line: key.line, Message: message, Cases: cases, Example: example,
	}
}

// line finds the nearest line for a path: its own, or that of what it belongs to.
func (c *checker) line(at []string) int {
	for n := len(at); n > 0; n-- {
		if line := c.policy.Line(at[:n]...); line > 0 {
			return line
		}
	}
	return 0
}

func (c *checker) report() Report {
	r := Report{
		Version: c.policy.Version, Cases: len(c.questions), Answers: len(c.lives),
		States: c.states, Steps: c.steps, Rules: Rules(), Findings: []Finding{},
	}
	for _, f := range c.found {
		r.Findings = append(r.Findings, *f)
	}
	slices.SortFunc(r.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Message, b.Message))
	})
	return r
}
