package chaos

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Measured is what clients felt of a kind of fault.
type Measured struct {
	Kind   Kind
	N      int
	Silent []time.Duration // of each, the longest time without a write that was carried out
	Gate   []time.Duration // how long answers of the gate took meanwhile
	Leader []time.Duration // of each that ended a term, how long nobody led
}

// aftermath is for how long after its end a fault is blamed.
const aftermath = 3 * time.Second

// Measure says what clients felt of the faults of a run.
func Measure(history []Operation, terms []TermEntry) []Measured {
	var writes []time.Time
	for _, op := range history {
		if op.Outcome == OK && !op.isFault() && op.Kind != Gate {
			writes = append(writes, op.End)
		}
	}
	slices.SortFunc(writes, time.Time.Compare)
	found := map[Kind]*Measured{}
	var order []*Measured
	for _, f := range history {
		if !f.isFault() {
			continue
		}
		m := found[f.Kind]
		if m == nil {
			m = &Measured{Kind: f.Kind}
			found[f.Kind] = m
			order = append(order, m)
		}
		m.N++
		until := f.End.Add(aftermath)
		m.Silent = append(m.Silent, silence(writes, f.Begin, until))
		for _, op := range history {
			if op.Kind == Gate && op.Outcome == OK && op.Begin.After(f.Begin) && op.Begin.Before(until) {
				m.Gate = append(m.Gate, op.End.Sub(op.Begin))
			}
		}
		leading := slices.Contains([]FaultKind{KillLeader, PauseLeader, AbortDatabase, DatabaseAway, Failover, JumpForward}, FaultKind(f.Kind))
		if gap, ok := leaderless(terms, f.Begin, until.Add(10*time.Second)); ok && leading {
			m.Leader = append(m.Leader, gap)
		}
	}
	out := make([]Measured, len(order))
	for i, m := range order {
		out[i] = *m
	}
	return out
}

// Merge adds what was felt in one run to what was felt in others.
func Merge(all, more []Measured) []Measured {
	for _, m := range more {
		i := slices.IndexFunc(all, func(a Measured) bool { return a.Kind == m.Kind })
		if i < 0 {
			all = append(all, Measured{Kind: m.Kind})
			i = len(all) - 1
		}
		a := &all[i]
		a.N += m.N
		a.Silent, a.Gate, a.Leader = append(a.Silent, m.Silent...), append(a.Gate, m.Gate...), append(a.Leader, m.Leader...)
	}
	return all
}

// silence is the longest time between two writes, or the edges.
func silence(writes []time.Time, from, to time.Time) (longest time.Duration) {
	last := from
	i, _ := slices.BinarySearchFunc(writes, from, time.Time.Compare)
	for ; i < len(writes) && writes[i].Before(to); i++ {
		longest = max(longest, writes[i].Sub(last))
		last = writes[i]
	}
	return longest
}

// leaderless is how long it took from a fault to the next term, if one began.
func leaderless(terms []TermEntry, from, to time.Time) (time.Duration, bool) {
	var before int64
	for _, t := range terms {
		switch {
		case t.At.Before(from):
			before = t.Number
		case t.At.After(to):
			return 0, false
		case t.What == TermBegins && t.Number > before:
			return t.At.Sub(from), true
		}
	}
	return 0, false
}

func (m *Measured) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%-22s × %-4d no write for %s (worst %s)", m.Kind, m.N, quantile(m.Silent, 0.5), quantile(m.Silent, 1))
	fmt.Fprintf(&text, ", gate p50 %s p99 %s of %d", quantile(m.Gate, 0.5), quantile(m.Gate, 0.99), len(m.Gate))
	if len(m.Leader) > 0 {
		fmt.Fprintf(&text, ", next leader after %s (worst %s) of %d", quantile(m.Leader, 0.5), quantile(m.Leader, 1), len(m.Leader))
	}
	return text.String()
}

func quantile(list []time.Duration, q float64) time.Duration {
	if len(list) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(list))
	return sorted[int(q*float64(len(sorted)-1))].Round(time.Millisecond)
}

// Summary counts operations by kind, outcome and code.
func Summary(history []Operation) string {
	counts := tally(history, func(o *Operation) string {
		return strings.TrimSpace(fmt.Sprintf("%s %s %.60s", o.Kind, o.Outcome, o.Code))
	})
	names := make([]string, 0, len(counts))
	for name := range counts {
		names = append(names, name)
	}
	slices.Sort(names)
	var text strings.Builder
	for _, name := range names {
		fmt.Fprintf(&text, "%6d %s\n", counts[name], name)
	}
	return text.String()
}
