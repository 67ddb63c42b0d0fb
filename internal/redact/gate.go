package redact

import "strings"

// gate decides which rules are worth running on a text. It is an Aho-Corasick
// automaton over the literals of all rules, made deterministic: one table look-up
// for each byte, whatever the number of rules. Letters are read without case and
// every digit as 0, so that the shape of a number is a literal too.
type gate struct {
	symbol    [256]uint8           // what a byte is read as; 0 stands in no literal
	next      [][maxSymbols]uint16 // state and symbol → state, with ending if a literal ends there
	hits      []set                // state → rules of which a literal ends here
	counts    []count
	multiline set // rules that see the whole text instead of a line
	named     set // rules that find values by their names
}

// maxSymbols is the size of the alphabet that literals are written in.
const maxSymbols = 192

// ending marks a state in which a literal ends.
const ending = 1 << 15

// count lets rules through when a byte occurs often enough in a line.
type count struct {
	of    string
	least int
	rule  set
}

func newGate(rules []rule) *gate {
	g := &gate{next: make([][maxSymbols]uint16, 1), hits: make([]set, 1)}
	if len(rules) > maxRules {
		panic("redact: there are more rules than a set of rules has bits")
	}
	symbols := uint8(0)
	for i, rule := range rules {
		bit := single(i)
		for _, literal := range rule.gate {
			symbols = g.learn(literal, symbols)
			g.insert(literal, &bit)
		}
		if rule.least > 0 {
			g.counts = append(g.counts, count{of: rule.count, least: rule.least, rule: bit})
		}
		if rule.multiline {
			g.multiline.add(&bit)
		}
		if rule.key != nil && rule.exact == nil {
			g.named.add(&bit)
		}
	}
	g.link()
	return g
}

// learn gives a symbol to each byte of a literal that has none, and returns how
// many there are now.
func (g *gate) learn(literal string, symbols uint8) uint8 {
	for i := range len(literal) {
		if g.symbol[literal[i]] != 0 {
			continue
		}
		symbols++
		if symbols == maxSymbols {
			panic("redact: the literals of the rules have too many different characters")
		}
		for b := range 256 {
			if fold(byte(b)) == fold(literal[i]) {
				g.symbol[b] = symbols
			}
		}
	}
	return symbols
}

func fold(b byte) byte {
	switch {
	case 'A' <= b && b <= 'Z':
		return b + 'a' - 'A'
	case digit(b):
		return '0'
	}
	return b
}

// insert adds a literal to the trie, where 0 still means that there is no edge.
func (g *gate) insert(literal string, rule *set) {
	state := uint16(0)
	for i := range len(literal) {
		edge := &g.next[state][g.symbol[literal[i]]]
		if *edge == 0 {
			*edge = uint16(len(g.hits))
			g.next = append(g.next, [maxSymbols]uint16{})
			g.hits = append(g.hits, set{})
			state = uint16(len(g.hits) - 1)
			continue
		}
		state = *edge
	}
	g.hits[state].add(rule)
}

// link turns the trie into the automaton: breadth first, each missing edge is
// taken from the longest proper suffix that is a state, and so are its hits.
func (g *gate) link() {
	suffix := make([]uint16, len(g.hits))
	queue := []uint16{0}
	for len(queue) > 0 {
		state := queue[0]
		queue = queue[1:]
		g.hits[state].add(&g.hits[suffix[state]])
		for symbol := range g.next[state] {
			edge := &g.next[state][symbol]
			fallback := uint16(0)
			if state != 0 {
				fallback = g.next[suffix[state]][symbol]
			}
			if *edge == 0 {
				*edge = fallback
				continue
			}
			suffix[*edge] = fallback
			queue = append(queue, *edge)
		}
	}
	if len(g.hits) > ending {
		panic("redact: the literals of the rules are too many")
	}
	for i := range g.next {
		for symbol, to := range g.next[i] {
			if !g.hits[to].empty() {
				g.next[i][symbol] |= ending
			}
		}
	}
}

// step reads a byte. What it returns is a state, with ending if a literal ends there.
func (g *gate) step(state uint16, b byte) uint16 {
	return g.next[state&^ending][g.symbol[b]]
}

// ended returns the rules of which a literal ends in a state.
func (g *gate) ended(state uint16) *set { return &g.hits[state&^ending] }

// scan returns the set of rules that may match in a line.
func (g *gate) scan(line string) (hits set) {
	state := uint16(0)
	for i := range len(line) {
		if state = g.step(state, line[i]); state >= ending {
			hits.add(g.ended(state))
		}
	}
	for i := range g.counts {
		if c := &g.counts[i]; strings.Count(line, c.of) >= c.least {
			hits.add(&c.rule)
		}
	}
	return hits
}
