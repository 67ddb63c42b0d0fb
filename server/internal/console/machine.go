package console

import (
	"strings"

	"github.com/recoup-dev/recoup"
)

// node is a state of the machine as it is drawn, with the ways that lead out of it.
type node struct {
	Badge
	X, Y int
	Lit  bool // it is here
	Been bool // it was there
	Ways []way
}

// way is an arrow.
type way struct {
	Path string
	Gone bool // it went there
}

// lower is a word within a sentence.
func lower(word string) string { return strings.ToLower(word) }

// capital is a word as it begins a sentence or a button.
func capital(word string) string { return strings.ToUpper(word[:1]) + word[1:] }

// machine draws the states, with the present one lit and the way there marked.
func machine(history []recoup.Transition, now recoup.State) []node {
	been := map[recoup.State]bool{}
	gone := map[[2]recoup.State]bool{}
	for i := range history {
		from, to := history[i].Before.State, history[i].After.State
		if to == "" || from == to {
			continue
		}
		been[to] = true
		gone[[2]recoup.State{from, to}] = true
	}
	var list []node
	for _, s := range drawing() {
		n := node{Badge: stateBadge(s.state), X: s.x, Y: s.y, Lit: s.state == now, Been: been[s.state]}
		for _, w := range s.ways {
			if w.gone = gone[[2]recoup.State{s.state, w.to}]; w.usual || w.gone {
				n.Ways = append(n.Ways, way{w.path, w.gone})
			}
		}
		list = append(list, n)
	}
	return list
}

// drawn is where a state stands, 116 wide and 34 high, and the arrows to others.
type drawn struct {
	state recoup.State
	x, y  int
	ways  []arrow
}

// arrow leads to a state. One that is not usual is drawn only where an error has gone it.
type arrow struct {
	to          recoup.State
	path        string
	usual, gone bool
}

// The heads of arrows.
const (
	right = "m-6-4 6 4-6 4"
	left  = "m6-4-6 4 6 4"
	down  = "m-4-6 4 6 4-6"
	up    = "m-4 6 4-6 4 6"
)

func drawing() []drawn {
	const usual = true
	return []drawn{
		{recoup.Active, 20, 24, []arrow{
			{to: recoup.RetryPending, path: "M136 41H188" + right, usual: usual},
			{to: recoup.Parked, path: "M78 24V8H438V22" + down},
			{to: recoup.Archived, path: "M78 58V142H756V135" + up},
			{to: recoup.Resolved, path: "M78 58V126H378" + right},
		}},
		{recoup.RetryPending, 190, 24, []arrow{
			{to: recoup.Parked, path: "M306 41H378" + right, usual: usual},
			{to: recoup.Resolved, path: "M248 58V116H378" + right, usual: usual},
			{to: recoup.Archived, path: "M220 58V142H756V135" + up},
		}},
		{recoup.Parked, 380, 24, []arrow{
			{to: recoup.RetryPending, path: "M400 58C380 84 300 84 280 60m0 6 0-6 6 1", usual: usual},
			{to: recoup.Escalated, path: "M496 41H588" + right, usual: usual},
			{to: recoup.Resolved, path: "M438 58V97" + down, usual: usual},
			{to: recoup.Archived, path: "M470 58V78H740V97" + down},
		}},
		{recoup.Escalated, 590, 24, []arrow{
			{to: recoup.RetryPending, path: "M648 24V8H248V22" + down},
			{to: recoup.Resolved, path: "M620 58V110H498" + left},
			{to: recoup.Archived, path: "M706 41H756V97" + down, usual: usual},
		}},
		{recoup.Resolved, 380, 99, []arrow{{to: recoup.Archived, path: "M496 120H696" + right, usual: usual}}},
		{recoup.Archived, 698, 99, nil},
	}
}
