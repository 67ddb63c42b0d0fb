package redact

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// maxConnectors is how many words may stand between a telling word and its value.
const maxConnectors = 8

// read goes over the connectors and reports whether a value follows them.
func (p *phrase) read() bool {
	for range maxConnectors {
		if !p.gap() {
			return false
		}
		if numbered(p.text[p.at:]) { // Unseal Key 1: …
			p.at = groupEnd(p.text, p.at)
			continue
		}
		word, role, to := p.connector()
		switch role {
		case 0:
			return p.value() || p.contrast()
		case names:
			p.at = to
			if p.object() {
				return true
			}
			if !p.owner() {
				return false
			}
		default:
			p.given, p.linked, p.denied = p.given || role == gives, true, p.denied || refusals[word]
			if valueWords[word] {
				p.valued, p.comma, p.broken = true, false, false
			}
			p.at = to
		}
	}
	return false
}

// connector reads the next word. It returns the word's role, which is 0 if it is no connector,
// and where it ends.
func (p *phrase) connector() (word string, role, to int) {
	to = wordEnd(p.text, p.at)
	word = strings.ToLower(p.text[p.at:min(to, p.at+maxConnector)])
	whole := to == len(p.text) || strings.IndexByte(" \t\r\n:=,+\"'(`\\<&|)", p.text[to]) >= 0
	role = connectors[word]
	switch user := p.user(); {
	case p.kind == ofSession && sessionWords[word]:
		role, p.id = links, true
	case role == 0 && user > 0:
		p.id = true
		return word, gives, user
	}
	if !whole || to-p.at > maxConnector {
		role = 0
	}
	return word, role, to
}

// wordEnd returns where the word of letters ends that begins at i.
func wordEnd(s string, i int) int {
	for i < len(s) && (letter(s[i]) || s[i] >= utf8.RuneSelf) {
		i++
	}
	return i
}

// numbered reports whether a text begins with the number of one key of several.
func numbered(s string) bool {
	end := groupEnd(s[:min(len(s), 3)], 0)
	return end > 0 && end < 3 && end < len(s) && (s[end] == ' ' || s[end] == ':')
}

// gap goes over what stands between two words, and reports whether it is a gap. A full
// stop ends the phrase.
func (p *phrase) gap() bool {
	lines, blank := 0, false
	for p.at < len(p.text) {
		switch b := p.text[p.at]; {
		case b == ' ' || b == '\t' || b == '\r' || b == '+' && p.text[p.at-1] != ' ': // the blank of a form
			blank = true
		case b == '\n':
			if lines++; lines > 2 {
				return false
			}
			blank = true
			p.broken = p.broken || !p.assigned
		case b == ':' || b == '=' || b == '>' || b == '|':
			p.assigned, blank = true, blank || b == '|' || b == '>' && isQuote(p.text[p.at-1])
		case isQuote(b) || strings.IndexByte("([<{", b) >= 0:
			p.assigned, blank = p.assigned || isQuote(b), blank || p.after("value=")
		case p.skipped(b, lines):
		case signWidth(p.text[p.at:]) > 0:
			p.at += signWidth(p.text[p.at:]) - 1
			p.assigned = true
		case p.mark(b):
			blank = blank || b != '*' && b != '.'
		default:
			return blank || p.linked && p.assigned
		}
		p.at++
	}
	return false
}

// skipped reports whether a byte says nothing: what continues a comment, escapes a quote or
// draws an arrow.
func (p *phrase) skipped(b byte, lines int) bool {
	switch b {
	case '#', '*', '/':
		return lines > 0
	case '\\':
		return p.after(`"`, "'", "`", `\`)
	case '-':
		return p.after(" ", ">")
	}
	return false
}

// mark reports whether a mark of punctuation may stand between a telling word and its value.
func (p *phrase) mark(b byte) bool {
	last := p.text[p.at-1]
	switch {
	case b == ',' || b == ';' || b == '?':
		listed := isQuote(last) || p.word > 0 && p.text[p.word-1] == '('
		p.comma = p.comma || !listed || !p.after(` "`, " '", `"`, "'")
		return p.after(" ", `"`, "'")
	case (b == ')' || b == ']') && p.after("=", ":", " =", " :", " ->"):
		return true
	case b == ')': // secret (value) X
		p.comma = p.comma || !p.valued
		return p.linked && p.after(" ", ":")
	case b == '.': // Password ....: X, (password . "X")
		return p.after("..") || last == '.' || last == ' ' && p.after(` "`)
	case b == '*':
		return p.after("*") || last == '*'
	}
	return b == '/' && p.kind == ofPair && p.after(" ")
}

// after reports whether one of several texts follows the byte that is read.
func (p *phrase) after(texts ...string) bool {
	for _, text := range texts {
		if strings.HasPrefix(p.text[p.at+1:], text) {
			return true
		}
	}
	return false
}

// signWidth returns how long the sign is that s begins with, or 0: a quote that HTML escapes, or
// an arrow.
func signWidth(s string) int {
	if s[0] != '&' && s[0] < utf8.RuneSelf {
		return 0
	}
	for _, quote := range [...]string{"&quot;", "&apos;", "&#34;", "&#39;", "→", "⇒", "➜", "—", "–"} {
		if strings.HasPrefix(s, quote) {
			return len(quote)
		}
	}
	return 0
}

// object reports whether the secret itself follows "for": validation error for X.
func (p *phrase) object() bool {
	if p.kind != ofToken && p.kind != ofKey || p.at+1 >= len(p.text) || !alphanumeric(p.text[p.at+1]) {
		return false
	}
	ahead := *p
	ahead.at, ahead.comma = p.at+1, true
	if !ahead.value() || !mixedCase(p.text[ahead.from:ahead.to]) {
		return false
	}
	*p = ahead
	return true
}

// owner goes over the owner of a secret: "for user ada", "for 'app'@'localhost'", "for the
// elastic built-in user". A colon or a verb must follow, because "wrong password for ada 3
// times" has no value.
func (p *phrase) owner() bool {
	const longest, words = 120, 10
	limit := min(len(p.text), p.at+longest)
	for n := 0; p.at < limit; {
		from := p.at
		for p.at < limit && (strings.IndexByte(" \t\r\n:=,;+", p.text[p.at]) < 0 || p.text[p.at] == ':' && !p.after(" ", "\n", "\r", `"`, "'") && p.at+1 < len(p.text)) {
			p.at++
		}
		if p.at > from {
			n++
		}
		if n > 1 && verbs[strings.ToLower(p.text[from:min(p.at, from+maxConnector)])] {
			p.at, p.given = from-1, true
			return true
		}
		if n > words || p.at == limit {
			return false
		}
		switch b := p.text[p.at]; {
		case b == ' ' || b == '\t' || b == '+':
			p.at++
		case n > 0 && (b == '=' || b == ':'):
			p.given, p.linked = true, true
			return true
		default:
			return false
		}
	}
	return false
}

// user returns where the user of a pair ends that is read next, or 0: ada / X, ada:X,
// ("ada", "X"), [ada, X].
func (p *phrase) user() int {
	if p.kind != ofPair {
		return 0
	}
	to := max(tokenEnd(p.text, p.at), distinguishedEnd(p.text, p.at))
	for _, sign := range [...]string{" / ", ":", `", "`, "', '"} {
		if to > p.at && strings.HasPrefix(p.text[to:], sign) {
			return to
		}
	}
	if last := p.text[p.at-1]; to > p.at && (last == '[' || last == '(') && strings.HasPrefix(p.text[to:], ", ") {
		return to + 1
	}
	return 0
}

// distinguished matches the name of an account in LDAP: cn=app,dc=example,dc=org.
var distinguished = regexp.MustCompile(`(?i)^(?:cn|uid|ou|dc|o)=[^\s,:/"']{1,64}(?:, ?(?:cn|uid|ou|dc|o|c|l)=[^\s,:/"']{1,64}){0,8}`)

// distinguishedEnd returns where the name of an account in LDAP ends that begins at i, or 0.
func distinguishedEnd(s string, i int) int {
	if n := len(distinguished.FindString(s[i:])); n > 0 {
		return i + n
	}
	return 0
}

// contrast goes on after a value that is none, where the text says what was there instead:
// "expected password hunter, got X".
func (p *phrase) contrast() bool {
	if p.comma {
		return false
	}
	rest := strings.TrimLeft(p.text[p.to:], "\"'`")
	for _, link := range [...]string{", got", ", received", ", but was", " but was", ", entered", ", have", ", actual"} {
		if strings.HasPrefix(rest, link+" ") {
			p.at, p.given = len(p.text)-len(rest)+len(link), true
			return p.gap() && p.value()
		}
	}
	return false
}

// next reports whether another value follows the one that was found: "expected X, got Y",
// "changed from X to Y", "codes: X, Y, Z".
func (p *phrase) next() bool {
	p.at = p.to
	for p.at < len(p.text) && (isQuote(p.text[p.at]) || strings.IndexByte(`)]\,`, p.text[p.at]) >= 0) {
		p.at++
	}
	p.broken, p.comma, p.assigned, p.linked = false, false, false, true
	begin := p.at
	compared := p.compared()
	for n := range maxNext + 1 {
		if !p.gap() {
			return false
		}
		to := wordEnd(p.text, p.at)
		word := strings.ToLower(p.text[p.at:min(to, p.at+maxConnector)])
		switch role := connectors[word]; {
		case role == links || role == gives:
			p.broken = p.broken && !valueWords[word]
			p.at = to
		case n == 0 && p.kind != ofCode && !compared || p.broken || p.comma:
			return false // a value alone is another field
		default:
			return p.value() && p.from > begin
		}
	}
	return false
}

// maxNext is how many words may stand between two values.
const maxNext = 4
