package chaos

import (
	"cmp"
	"slices"

	"github.com/recoup-dev/recoup"
)

// checkGate walks each entity's gate by the numbers that were drawn under its lock:
// no promotion stands where an error blocks, no error begins to block twice without
// having ceased to, and in the end those block that say so.
func checkGate(c *checker) {
	type passage struct {
		GateEntry
		promotion string
	}
	entities := map[string][]passage{}
	for _, g := range c.final.Gate {
		entities[g.Entity] = append(entities[g.Entity], passage{GateEntry: g})
	}
	for _, p := range c.final.Promotions {
		entities[p.Entity] = append(entities[p.Entity], passage{GateEntry{Seq: p.Seq, Entity: p.Entity}, p.Phase})
	}
	blocking := map[string]map[recoup.ID]bool{}
	for entity, list := range entities {
		slices.SortFunc(list, func(a, b passage) int { return cmp.Compare(a.Seq, b.Seq) })
		open := map[recoup.ID]bool{}
		blocking[entity] = open
		for i, p := range list {
			about := []string{entity, p.ErrorID.String(), p.promotion}
			switch {
			case i > 0 && p.Seq == list[i-1].Seq:
				c.violated("gate", about, "two things happened to %s as number %d", entity, p.Seq)
			case p.promotion != "" && len(open) > 0:
				for id := range open {
					about = append(about, id.String())
				}
				c.violated("gate", about, "%s was promoted to %s as number %d, past %d errors that block it", entity, p.promotion, p.Seq, len(open))
			case p.promotion != "":
			case p.Blocks == open[p.ErrorID]:
				c.violated("gate", about, "as number %d %s blocks %s: %v, as it did before", p.Seq, p.ErrorID, entity, p.Blocks)
			case p.Blocks:
				open[p.ErrorID] = true
			default:
				delete(open, p.ErrorID)
			}
		}
	}
	for _, e := range c.final.Errors {
		if e.Blocking != blocking[e.Entity][e.ID] {
			c.violated("gate", []string{e.ID.String(), e.Entity}, "%s blocks %s: %v, and the gate's log says %v", e.ID, e.Entity, e.Blocking, blocking[e.Entity][e.ID])
		}
	}
}

// checkGateOrder wants the gate's numbers to agree with time: what was acknowledged
// before something else was asked for has the smaller number.
func checkGateOrder(c *checker) {
	begins := map[recoup.ID]int64{} // the first number under which an error blocks
	for _, g := range c.final.Gate {
		if first := begins[g.ErrorID]; g.Blocks && (first == 0 || g.Seq < first) {
			begins[g.ErrorID] = g.Seq
		}
	}
	reports := map[string][]*call{}
	for i := range c.calls {
		if k := &c.calls[i]; k.Kind == Report && k.outcome() == OK && begins[k.ID] > 0 {
			reports[k.Entity] = append(reports[k.Entity], k)
		}
	}
	for i := range c.calls {
		p := &c.calls[i]
		if p.Kind != Promote || p.outcome() != OK {
			continue
		}
		for _, r := range reports[p.Entity] {
			about := []string{p.Key, r.Key, p.Entity}
			switch seq := begins[r.ID]; {
			case r.End.Before(p.begin().Begin) && seq > p.Seq:
				c.violated("gate order", about, "%s blocked %s as number %d before its promotion was asked for, which has number %d", r.ID, p.Entity, seq, p.Seq)
			case p.End.Before(r.begin().Begin) && seq < p.Seq:
				c.violated("gate order", about, "%s was promoted as number %d before %s was reported, which blocks as number %d", p.Entity, p.Seq, r.ID, seq)
			}
		}
	}
}
