// Package redact keeps credentials and personal data out of what Recoup stores.
// Free text and decoded JSON are cleaned, identifiers are refused, and the
// details of an event are held to an allow-list. What it found is counted by
// rule and never kept.
//
// A secret is known by its form, its name, a word next to it or the place where it
// stands. A value that was taken is also taken where it occurs again in the text.
//
// Rules are data. One automaton reads a text once and says which rules are worth
// running on which line, so a clean text costs that one reading. It knows nothing
// of events, stores or policies.
package redact

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync"
)

const (
	opening = "[redacted:"
	closing = "]"

	// maxPasses bounds how often a text is cleaned anew because a replacement
	// brought two of its parts together. Two are the rule.
	maxPasses = 4

	// The names of replacements that no rule made.
	unstable    = "unstable"    // a text that still changed after maxPasses
	tooDeep     = "depth"       // a value nested deeper than maxDepth
	unsupported = "unsupported" // a value of a type that JSON does not decode to
)

// Redactor finds secrets by a fixed set of rules. It is immutable and safe for
// concurrent use.
type Redactor struct {
	rules       []rule
	gate        *gate
	known       map[string]bool // names that a replacement may carry
	exact       map[string]int  // rules that take a value under exactly this name
	longestName int
}

var defaultRedactor = sync.OnceValue(func() *Redactor { return newRedactor(defaultRules()) })

// Default returns the redactor with Recoup's rules. It is built on first use.
func Default() *Redactor { return defaultRedactor() }

func newRedactor(rules []rule) *Redactor {
	r := &Redactor{rules: rules, gate: newGate(rules), known: map[string]bool{unstable: true, tooDeep: true, unsupported: true}, exact: map[string]int{}}
	for i, rule := range rules {
		r.known[rule.name] = true
		for _, name := range rule.exact {
			r.exact[name] = i
		}
	}
	for name := range r.known {
		r.longestName = max(r.longestName, len(name))
	}
	return r
}

// Rule is a rule as documentation shows it.
type Rule struct {
	Name       string
	Expression string // "" for a rule that is no regular expression
}

// Rules lists the rules in their order: where several find the same text, the
// first names it.
func (r *Redactor) Rules() []Rule {
	list := make([]Rule, len(r.rules))
	for i, rule := range r.rules {
		list[i] = Rule{Name: rule.name, Expression: rule.expr}
	}
	return list
}

// Replacement returns what stands in a cleaned text in place of what a rule found.
func Replacement(rule string) string { return opening + rule + closing }

// String returns s with each secret replaced by the name of the rule that found
// it, and how often each rule did. A clean text comes back as it is, without an
// allocation, and so does a text that was cleaned before.
func (r *Redactor) String(s string) (string, Evidence) {
	var evidence Evidence
	for pass := 0; ; pass++ {
		spans := r.spans(s)
		switch {
		case len(spans) == 0:
			return s, evidence
		case pass == maxPasses:
			// Losing the text is better than keeping what may still be in it.
			evidence.add(unstable, 1)
			return Replacement(unstable), evidence
		}
		s = r.replace(s, spans, &evidence)
	}
}

// SecretError says that an identifier looks like a secret. It names the rule and
// holds nothing of the identifier.
type SecretError struct{ Rule string }

func (e *SecretError) Error() string {
	return fmt.Sprintf("the identifier looks like a secret or personal data (rule %s)", e.Rule)
}

// Identifier returns a [*SecretError] if s matches a rule. Identifiers are refused
// rather than cleaned, because a redacted identifier would identify nothing.
//
// It is more lenient than [Redactor.String] where names of things look like data:
// the address of a machine is a normal identifier, and a colon after a name such as
// token is part of a path (/v1/token:refresh), so only name=value is refused.
func (r *Redactor) Identifier(s string) error {
	found := r.find(s).spans
	var passes []span
	for _, sp := range found {
		if sp.lenient && !r.rules[sp.rule].guess {
			passes = append(passes, sp)
		}
	}
	passes = merge(passes)
	spans := merge(slices.DeleteFunc(found, func(sp span) bool {
		return sp.lenient || r.rules[sp.rule].yields && overlaps(passes, sp) || r.replaced(s, sp)
	}))
	if len(spans) > 0 {
		return &SecretError{Rule: r.rules[spans[0].rule].name}
	}
	return nil
}

// overlaps reports whether a span overlaps one of several, which are in order and do not overlap
// each other.
func overlaps(spans []span, sp span) bool {
	i := sort.Search(len(spans), func(i int) bool { return spans[i].to > sp.from })
	return i < len(spans) && spans[i].from < sp.to
}

// span is a piece of text that a rule, given by its index, wants replaced.
type span struct {
	from, to, rule int
	lenient        bool // an identifier may look like this
}

// spans returns what is to be replaced in s, in order and without overlaps.
func (r *Redactor) spans(s string) []span {
	spans := merge(slices.DeleteFunc(r.find(s).spans, func(sp span) bool { return r.replaced(s, sp) }))
	if len(spans) == 0 {
		return spans
	}
	return merge(r.repeated(s, spans))
}

// find looks at a text as it is and behind one layer of disguise.
func (r *Redactor) find(s string) finding { return r.covered(s, r.lines(s)) }

// lines runs the rules. They see one line at a time, so that a word in a long stack
// trace costs its line and not the trace; only rules that say so see the whole
// text, and rules with names see the lines on which a value continues.
func (r *Redactor) lines(s string) finding {
	var found finding
	var whole set
	continued := 0 // up to where rules with names have looked
	for from := 0; from < len(s); {
		to := len(s)
		if at := strings.IndexByte(s[from:], '\n'); at >= 0 {
			to = from + at
		}
		line := s[from:to]
		hits := r.gate.scan(line)
		if !hits.empty() {
			multi, named := hits.and(r.gate.multiline), hits.and(r.gate.named)
			whole.add(&multi)
			found = found.run(r.rules, hits.without(r.gate.multiline).without(r.gate.named), line, from)
			if !named.empty() && from >= continued {
				if continued = continuedTo(s, from, to); continued > to {
					more := r.gate.scan(s[to:continued]).and(r.gate.named)
					named.add(&more)
				}
				found = found.run(r.rules, named, s[from:continued], from)
			}
		}
		from = to + 1
	}
	return found.run(r.rules, whole, s, 0)
}

// merge sorts spans and unites those that overlap. The rule that stands first in
// the table gives its name: the table goes from the specific to the general.
func merge(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int { return a.from - b.from })
	merged := spans[:0]
	for _, sp := range spans {
		if n := len(merged); n > 0 && sp.from < merged[n-1].to {
			last := &merged[n-1]
			last.to, last.rule = max(last.to, sp.to), min(last.rule, sp.rule)
			continue
		}
		merged = append(merged, sp)
	}
	return merged
}

func (r *Redactor) replace(s string, spans []span, evidence *Evidence) string {
	var b strings.Builder
	b.Grow(len(s) + len(spans)*(len(opening)+r.longestName))
	at := 0
	for _, sp := range spans {
		name := r.rules[sp.rule].name
		b.WriteString(s[at:sp.from])
		b.WriteString(opening)
		b.WriteString(name)
		b.WriteString(closing)
		evidence.add(name, 1)
		at = sp.to
	}
	b.WriteString(s[at:])
	return b.String()
}

// replaced reports whether a span lies within a replacement of an earlier
// cleaning. Only known names count, so nothing can hide behind a made-up one.
func (r *Redactor) replaced(s string, sp span) bool {
	first := max(0, sp.from-len(opening)-r.longestName)
	last := min(len(s), sp.from+len(opening))
	at := strings.LastIndex(s[first:last], opening)
	if at < 0 {
		return false
	}
	rest := s[first+at+len(opening):]
	name, _, closed := strings.Cut(rest[:min(len(rest), r.longestName+len(closing))], closing)
	return closed && r.known[name] && sp.to <= first+at+len(opening)+len(name)+len(closing)
}
