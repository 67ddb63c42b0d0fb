package lifecycle

import (
	"fmt"
	"slices"
	"strings"

	"github.com/recoup-dev/recoup"
)

// Diagram draws the transition table as a Mermaid state diagram. Inputs that
// leave the state as it is are left out; the table has them.
func Diagram() string {
	var b strings.Builder
	b.WriteString("stateDiagram-v2\n")
	for _, edge := range edges() {
		fmt.Fprintf(&b, "    %s --> %s: %s\n", edge.from, edge.to, strings.Join(edge.inputs, ", "))
	}
	fmt.Fprintf(&b, "    %s --> [*]\n", recoup.Archived)
	return b.String()
}

type edge struct {
	from, to recoup.State
	inputs   []string
}

// edges collects, state by state, which inputs lead from one state to another.
func edges() []edge {
	var list []edge
	for _, from := range append([]recoup.State{none}, recoup.States()...) {
		for _, to := range recoup.States() {
			e := edge{from: from, to: to}
			for _, t := range transitions {
				if from != to && slices.Contains(t.From, from) && slices.Contains(t.To, to) && moves(t, from, to) {
					e.inputs = append(e.inputs, string(t.Input))
				}
			}
			if from == none {
				e.from = "[*]"
			}
			if len(e.inputs) > 0 {
				list = append(list, e)
			}
		}
	}
	return list
}

// moves reports whether t can lead from one of its states to another. Assigning,
// reviewing, reminding and the way into a replay and back never do; a replay that
// fails takes nothing down the ladder; a report replaces an error rather than moving
// it; a rebase leaves with people what they have, unless it takes it off the park.
func moves(t Transition, from, to recoup.State) bool {
	switch t.Input {
	case Assigning, Reviewing, Reminding, Replaying, Returning:
		return false
	case FailingAgain:
		return to == recoup.Escalated
	case Reported:
		return from == none
	case Rebasing:
		held := from == recoup.Parked || from == recoup.Escalated
		return to != recoup.Escalated && (!held || to == recoup.Active)
	}
	return true
}

// Table prints the transition table in Markdown.
func Table() string {
	var b strings.Builder
	b.WriteString("| input | from | to | when |\n| --- | --- | --- | --- |\n")
	for _, t := range transitions {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", t.Input, names(t.From), names(t.To), t.Note)
	}
	return b.String()
}

func names(states []recoup.State) string {
	list := make([]string, len(states))
	for i, s := range states {
		list[i] = string(s)
		if s == none {
			list[i] = "(none)"
		}
	}
	return strings.Join(list, ", ")
}
