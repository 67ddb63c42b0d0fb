package redact

import (
	"slices"
	"strings"
)

const (
	shortestRepeated = 8  // a shorter value may be a word of the text
	mostRepeated     = 32 // each value costs a reading of the text
)

// selfEvident are the rules that know a value wherever it stands, and those that take a text.
var selfEvident = wordSet("ipv4 ipv6 email phone card iban ssn person body pem jwt")

// repeated returns the spans with those of the same values elsewhere in the text: a parser that
// rejects a value prints it again without its name. The spans are in order and do not overlap.
func (r *Redactor) repeated(s string, spans []span) []span {
	seen := make([]string, 0, mostRepeated)
	for _, sp := range spans[:len(spans):len(spans)] {
		if selfEvident[r.rules[sp.rule].name] {
			continue
		}
		v := s[sp.from:sp.to]
		if colon := strings.IndexByte(v, ':'); r.rules[sp.rule].name == "url" && colon >= 0 {
			v = v[colon+1:] // the password behind the user
		}
		v = strings.Trim(v, " .:,;!?()[]{}\"'`\\") // what may belong to the sentence
		if len(v) < shortestRepeated || slices.Contains(seen, v) {
			continue
		}
		if seen = append(seen, v); len(seen) > mostRepeated {
			break
		}
		for at := 0; ; {
			n := strings.Index(s[at:], v)
			if n < 0 {
				break
			}
			from, to := at+n, at+n+len(v)
			if again := (span{from: from, to: to, rule: sp.rule}); standsAlone(s, from, to) && !r.replaced(s, again) {
				spans = append(spans, again)
			}
			at = to
		}
	}
	return spans
}

// standsAlone reports whether a value is not part of a longer word. What is made of letters only may
// be a word of the text or a name, so quotes must be around it, and no sign behind it that makes it the
// name of something.
func standsAlone(s string, from, to int) bool {
	v := s[from:to]
	if plainWords(v) {
		quoted := from > 0 && to < len(s) && isQuote(s[from-1]) && isQuote(s[to])
		return quoted && (to+1 == len(s) || strings.IndexByte(":]=", s[to+1]) < 0) && secretWord(v) == ""
	}
	return begins(s, from) && ends(s, to) || !alphanumeric(v[0]) || !alphanumeric(v[len(v)-1]) || scrambled(v)
}

// plainWords reports whether a value has only letters, and signs that stand between the words of a
// name or of a line of source.
func plainWords(v string) bool {
	for i := range len(v) {
		if !letter(v[i]) && strings.IndexByte("_-. ,:;()[]{}<>/&\"'", v[i]) < 0 {
			return false
		}
	}
	return !scrambled(v)
}
