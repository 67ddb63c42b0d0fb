package chaos

import (
	"fmt"
	"slices"
	"strings"

	"github.com/recoup-dev/recoup"
)

// Violation is a promise that was not kept. About names everything that it
// concerns: entities, errors, tokens, keys.
type Violation struct {
	Rule  string
	Says  string
	About []string
}

func (v Violation) String() string { return v.Rule + ": " + v.Says }

// Check holds what is there in the end to what clients have seen. It is pure.
func Check(history []Operation, f *Final) []Violation {
	c := &checker{calls: group(history), history: history, final: f}
	for _, rule := range []func(*checker){
		checkReports, checkEvents, checkActs, checkPromotions, checkWork, checkLetters,
		checkTransitions, checkHolders, checkLeases,
		checkGate, checkGateOrder,
		checkFigures, checkOwners, checkTerms,
		checkNotices, checkMessages,
		checkBus,
	} {
		rule(c)
	}
	return c.found
}

// checker gathers what the rules find.
type checker struct {
	history []Operation
	calls   []call
	final   *Final
	found   []Violation
}

func (c *checker) violated(rule string, about []string, format string, args ...any) {
	about = slices.DeleteFunc(about, func(s string) bool { return s == "" || s == recoup.ID{}.String() })
	c.found = append(c.found, Violation{Rule: rule, Says: fmt.Sprintf(format, args...), About: about})
}

// call is all attempts of what one key asked for.
type call struct {
	Operation // the first attempt that was carried out, else the last
	all       []Operation
}

// group gathers the attempts of each call, in the order of their first.
func group(history []Operation) []call {
	type name struct {
		kind Kind
		key  string
		id   recoup.ID // a bulk act is one call for each error
	}
	places := map[name]int{}
	var list []call
	for _, op := range history {
		n := name{op.Kind, op.Key, recoup.ID{}}
		if op.Kind == Park || op.Kind == Unpark || op.Kind == Resolve {
			n.id = op.ID
		}
		i, known := places[n]
		if !known {
			i = len(list)
			places[n] = i
			list = append(list, call{Operation: op})
		}
		k := &list[i]
		k.all = append(k.all, op)
		if k.Outcome != OK {
			k.Operation = op
		}
	}
	return list
}

// begin is when a call was first sent.
func (k *call) begin() Operation { return k.all[0] }

// outcome is what is known after all attempts: carried out if one was, and refused if
// none can have been.
func (k *call) outcome() Outcome {
	if k.Outcome == OK {
		return OK
	}
	for _, op := range k.all {
		if op.Outcome == Unknown {
			return Unknown
		}
	}
	return Refused
}

// count judges how often something is there that a call asked for.
func (c *checker) count(k *call, n int) {
	about := []string{k.Key, k.Entity, k.ID.String()}
	switch outcome := k.outcome(); {
	case n > 1:
		c.violated("once", about, "%s %s is there %d times", k.Kind, k.Key, n)
	case n == 0 && outcome == OK:
		c.violated("acknowledged", about, "%s %s was acknowledged, and is not there", k.Kind, k.Key)
	case n == 1 && outcome == Refused:
		c.violated("refused", about, "%s %s was refused with %s, and is there", k.Kind, k.Key, k.Code)
	}
}

// oneAnswer wants all acknowledgements of a call to name the same.
func (c *checker) oneAnswer(k *call) {
	for _, op := range k.all {
		if op.Outcome == OK && op.ID != k.ID {
			c.violated("one answer", []string{k.Key, k.ID.String(), op.ID.String()}, "%s %s was answered with %s and with %s", k.Kind, k.Key, k.ID, op.ID)
		}
	}
}

// Excerpt prints all that is known of what a violation is about.
func Excerpt(v Violation, history []Operation, f *Final) string {
	var text strings.Builder
	fmt.Fprintln(&text, v)
	about := func(names ...string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return slices.Contains(v.About, name) })
	}
	for _, op := range history {
		if about(op.Key, op.Entity, op.ID.String(), op.Token.String()) {
			fmt.Fprintf(&text, "  call %d of %s at node %d, %s to %s: %s %s entity %q id %s token %s: %s %s\n", op.N, op.Client, op.Node,
				op.Begin.Format(clock), op.End.Format(clock), op.Kind, op.Key, op.Entity, op.ID, op.Token, op.Outcome, op.Code)
		}
	}
	for _, e := range f.Errors {
		if about(e.ID.String(), e.Entity, e.Correlation.String()) {
			fmt.Fprintf(&text, "  error %+v\n", e)
		}
	}
	for _, t := range f.History {
		if about(t.ErrorID.String(), t.Attempt.String(), t.Reason) {
			fmt.Fprintf(&text, "  history %d at %s of %s: %s by %s (%s), %s to %s, attempt %s of %s\n",
				t.Seq, t.At.Format(clock), t.ErrorID, t.Input, t.Actor, t.Reason, t.From, t.To, t.Attempt, t.Worker)
		}
	}
	for _, g := range f.Gate {
		if about(g.Entity, g.ErrorID.String()) {
			fmt.Fprintf(&text, "  gate %d of %s: %s blocks %v\n", g.Seq, g.Entity, g.ErrorID, g.Blocks)
		}
	}
	for _, p := range f.Promotions {
		if about(p.Entity, p.Phase) {
			fmt.Fprintf(&text, "  promotion %d of %s to %s\n", p.Seq, p.Entity, p.Phase)
		}
	}
	for _, n := range f.Notices {
		if about(n.ID.String(), n.ErrorID.String()) {
			fmt.Fprintf(&text, "  notice %+v\n", n)
		}
	}
	return text.String()
}

const clock = "15:04:05.000000"
