package redact

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// behind reports whether the value stands before the telling word: "123456 is your
// verification code", "tried X as the password", value "X" for field "password". It reads
// no further back than to least. The telling word ends at end.
func (p *phrase) behind(least, end int) bool {
	const longest, words = 96, 7
	least = max(least, p.word-longest)
	p.given, p.assigned, p.broken, p.comma, p.denied = false, false, false, false, false
	field, yours := strings.HasSuffix(p.text[:p.word], "--"), false // value 'X' for '--password'
	at := p.word
	if strings.HasSuffix(p.text[least:at], "' (") || strings.HasSuffix(p.text[least:at], `" (`) {
		return strings.HasPrefix(p.text[end:], ")") && p.valueBefore(least, at-len(" (")) // 'X' (password)
	}
	for range words {
		word, from := previousWord(p.text, least, at)
		switch {
		case word == "" && strings.HasSuffix(p.text[least:from], `":`) && strings.Contains(p.text[least:from], `value: "`):
			return p.valueBefore(least, from-1) // Invalid value: "X": data[token]
		case word == "" && yours && p.kind == ofCode:
			return p.closes(end) && p.valueBefore(least, from) // 123456 - your security code
		case isWords[word]:
			return p.closes(end) && p.valueBefore(least, from)
		case word == "match":
			m := negation.FindStringIndex(p.text[least:from])
			return len(m) > 0 && p.valueBefore(least, least+m[0]) // X does not match the code
		case word == "for" && field:
			return p.valueBefore(least, from)
		case fieldWords[word]:
			field = true
		case denials[word] || refusals[word] || verdicts[word]:
			p.denied = true
		case p.kind == ofCode && from < len(p.text) && 'A' <= p.text[from] && p.text[from] <= 'Z' && strings.HasSuffix(p.text[least:from], "your "):
			// 123456 is your Example login code
		case !determiners[word] && !codeQualifiers[word] && !keyQualifiers[word]:
			return false
		}
		yours = yours || word == "your"
		at = from
	}
	return false
}

// negation matches what stands before "match".
var negation = regexp.MustCompile(`["']? (?:(?:does|did|do)(?: not|n't)) $`)

// previousWord returns the word that ends before at, in lower case, and where it begins.
func previousWord(s string, least, at int) (string, int) {
	for at > least && strings.IndexByte(" \t+-_.\"'`([", s[at-1]) >= 0 {
		at--
	}
	from := at
	for from > least && (letter(s[from-1]) || s[from-1] >= utf8.RuneSelf) {
		from--
	}
	return strings.ToLower(s[from:at]), from
}

// closes reports whether the sentence ends after the telling word, or goes on with a word
// that says nothing of the value.
func (p *phrase) closes(end int) bool {
	rest := p.text[end:]
	if rest == "" || strings.IndexByte(".,;:!?)\n\r\"'&+", rest[0]) >= 0 {
		return true
	}
	for _, follows := range [...]string{" for ", " to ", " but ", " and ", " of "} {
		if strings.HasPrefix(rest, follows) {
			return true
		}
	}
	return false
}

// stops returns the bytes before which a value begins that ends at at: a quote if it is quoted, else
// blanks and signs.
func (p *phrase) stops(least, at int) string {
	const signs = " \t\r\n\"'`<>,;()[]{}|"
	switch closes := p.text[at]; {
	case closes == '+': // a form
		return signs + "&=+"
	case p.kind != ofPassword:
		return signs + "&"
	case isQuote(closes) && strings.IndexByte(p.text[least:at], closes) >= 0:
		return "\n" + string(closes)
	}
	return signs
}

// valueBefore reads the value that ends before at.
func (p *phrase) valueBefore(least, at int) bool {
	for at > least && strings.IndexByte(" \t+\"'`)", p.text[at-1]) >= 0 {
		at--
	}
	stops := p.stops(least, at)
	from := at
	for from > least && strings.IndexByte(stops, p.text[from-1]) < 0 {
		from--
	}
	if sign := strings.LastIndexAny(p.text[from:at], "=:"); p.kind == ofCode && sign >= 0 { // code=123456
		from += sign + 1
	}
	p.from, p.to = from, at
	v := p.text[from:at]
	switch {
	case v == "" || masked(v):
		return false
	case p.kind == ofCode && strings.HasPrefix(v, "G-"): // of Google
		p.from += 2
		return p.code(v[2:])
	case p.kind == ofCode || onceWords[p.before]:
		if p.code(v) {
			return true
		}
	}
	quoted := at < len(p.text) && isQuote(p.text[at]) && from > 0 && p.text[from-1] == p.text[at]
	if p.denied && p.kind == ofPassword && quoted && len(v) > 3 {
		return true // 'X' is not a valid password
	}
	return p.denied && p.refusedNumber(v) || !plainShape(v) && (p.secret(v) || p.denied && p.refusedValue(v))
}
