package proof

import (
	"fmt"
	"strconv"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/policy"
)

// climb is how far the errors of one table and severity get up the ladder.
type climb struct {
	table    string
	severity recoup.Severity
	cases    int
	rungs    [recoup.MaxTier + 1]bool
	expiry   *node // how the first of them ends; nil: none is ever parked
	ttl      time.Duration
}

// place is where errors live, and how long.
type place struct {
	table string
	ttl   time.Duration
}

// checkRungs finds the rungs that the clock never reaches because the TTL ends
// an error first. Only a repeat of the failure, which starts a new TTL, could
// get an error there.
func (c *checker) checkRungs() {
	climbs := c.climbs()
	for i, rung := range c.policy.Ladder {
		if i == 0 {
			continue // whatever is parked stands here
		}
		missed := newGroups[place, *climb]()
		for _, cl := range climbs {
			if cl.expiry != nil && !cl.rungs[rung.Tier] {
				missed.add(place{cl.table, cl.ttl}, cl)
			}
		}
		c.reportRung(rung, i, missed)
	}
}

// climbs sums the lives up by table and severity, in the order of the questions.
func (c *checker) climbs() []*climb {
	type key struct {
		table    string
		severity recoup.Severity
	}
	known := map[key]*climb{}
	var list []*climb
	for i, q := range c.questions {
		l := c.lifeOf[i]
		k := key{l.answer.table, q.Severity}
		cl := known[k]
		if cl == nil {
			cl = &climb{table: k.table, severity: k.severity}
			known[k] = cl
			list = append(list, cl)
		}
		if l.expiry == nil {
			continue
		}
		cl.cases++
		if cl.expiry == nil || l.expiry.depth < cl.expiry.depth {
			cl.expiry, cl.ttl = l.expiry, l.answer.ttl
		}
		for tier, reached := range l.rungs {
			cl.rungs[tier] = cl.rungs[tier] || reached
		}
	}
	return list
}

// reportRung puts tables in which the same severities miss a rung into one
// finding.
func (c *checker) reportRung(rung policy.Rung, index int, missed *groups[place, *climb]) {
	alike := newGroups[string, []*climb]()
	for _, here := range missed.keys {
		list := missed.of[here]
		alike.add(fmt.Sprintf("%s that expire after %s", severities(list), policy.FormatDuration(here.ttl)), list)
	}
	for _, who := range alike.keys {
		var tables []string
		cases := 0
		for _, list := range alike.of[who] {
			tables = append(tables, list[0].table)
			for _, cl := range list {
				cases += cl.cases
			}
		}
		c.refute(unreachableRung, []string{"escalation", "ladder", strconv.Itoa(index), "after"},
			fmt.Sprintf("tier %d begins %s after parking and is never reached by %s, in %s",
				rung.Tier, policy.FormatDuration(rung.After), who, enumerate(tables)),
			cases, alike.of[who][0][0].expiry.trace())
	}
}

func severities(list []*climb) string {
	if len(list) > len(recoup.Severities()) {
		return "errors"
	}
	names := make([]string, len(list))
	for i, cl := range list {
		if names[i] = string(cl.severity); cl.severity == recoup.SeverityNone {
			names[i] = "neutral"
		}
	}
	return enumerate(names) + " errors"
}

// groups is a map of lists that remembers the order of its keys.
type groups[K comparable, V any] struct {
	keys []K
	of   map[K][]V
}

func newGroups[K comparable, V any]() *groups[K, V] { return &groups[K, V]{of: map[K][]V{}} }

func (g *groups[K, V]) add(k K, v V) {
	if _, known := g.of[k]; !known {
		g.keys = append(g.keys, k)
	}
	g.of[k] = append(g.of[k], v)
}
