package redact

import (
	"regexp"
	"strings"
)

var (
	// refusals are the verdicts that are about the value itself. A password that expired or failed
	// may be followed by a number of something else.
	refusals = wordSet("invalid incorrect wrong bad rejected revoked unknown unrecognized unrecognised compromised leaked mismatch match differ differs different " +
		"falsch falsches falsche ungültig ungültiges inválida inválido invalida incorrecta incorrecto incorreta incorreto errada incorrecte invalide errata sbagliata неверный неверен onjuist ongeldig")

	// denials stand between "is" and the telling word: X is not a valid API key.
	denials = wordSet("not no longer valid known right correct accepted recognized recognised matching working actual t kein keine gültiges gültiger richtiges")

	// isWords stand behind a value that comes before its telling word.
	isWords = wordSet("is as isn was wasn ist war")

	// verdictBehind matches what a program says of a value before it.
	verdictBehind = regexp.MustCompile(`(?i)^[!?]?\\?["'` + "`" + `)\]]*(?::| -|,)? (?:(?:is|was|has been|has|does|did|could)(?: not|n't)? |not )?(?:(?:an? |the )?(?:no longer |not )?(?:longer )?)?` +
		`(?:invalid|valid|wrong|incorrect|rejected|revoked|expired|unknown|found|be found|refused|denied|accepted|match|recogni[sz]ed|known|correct|exist|unauthori[sz]ed|compromised|leaked)\b`)

	// pluralMismatch matches what follows a telling word if two values are compared.
	pluralMismatch = regexp.MustCompile(`(?i)^s (?:(?:do|did|does)(?: not|n't) match|differ|mismatch|are (?:different|not equal|not the same))\b`)

	// comparison matches what stands between two values that are compared.
	comparison = regexp.MustCompile(`^\s*(?:!==?|===?|<>|≠|vs\.?|versus)\s+`)
)

// maxVerdict is how much is read behind a value to find a verdict.
const maxVerdict = 48

// refused reports whether the text says that the value is not accepted: before the telling word,
// between the word and the value, or behind the value.
func (p *phrase) refused() bool {
	return p.denied || verdicts[p.before] || refusals[p.before] || p.verdictFollows()
}

// verdictFollows reports whether a verdict stands behind the value.
func (p *phrase) verdictFollows() bool {
	return verdictBehind.MatchString(p.text[p.to:min(len(p.text), p.to+maxVerdict)])
}

// refusedValue judges a value that is not accepted. The verdict makes it a value, so it may look
// less like one: letters in both cases, or a word with a number behind it.
func (p *phrase) refusedValue(v string) bool {
	if p.comma || p.broken || p.kind != ofPassword && p.kind != ofToken && p.kind != ofKey {
		return false
	}
	switch {
	case scrambled(v):
		return p.given && p.assigned || p.refused()
	case p.kind == ofPassword || !numberedWord(v):
		return false
	case p.kind == ofKey:
		return p.refused()
	}
	return p.denied || p.verdictFollows() || signed(v) && changes(v) > 2 && p.refused()
}

// refusedNumber reports whether a value of digits is a password that is not accepted.
func (p *phrase) refusedNumber(v string) bool {
	return p.chosen() && !p.comma && !p.broken && p.number(v) && p.refused()
}

// numberedWord reports whether a text without separators has too many digits for the name of a
// thing (worker2), or a sign that names do not have.
func numberedWord(v string) bool {
	upper, lower, digits := mixture(v)
	if signed(v) {
		return len(v) >= 8 && looselyMade(v)
	}
	return len(v) >= 10 && upper+lower+digits == len(v) && lower > 0 && (upper > 0 && digits > 3 || digits > 5) && upper+lower > 2
}

// scrambled reports whether letters of both cases are mixed as chance does it, and not as camelCase
// does: more capitals, or fewer vowels.
func scrambled(v string) bool {
	const shortest = 8
	upper, lower, digits := mixture(v)
	if len(v) < shortest || upper+lower+digits != len(v) || upper < 2 || lower < 2 || !irregularCase(v) {
		return false
	}
	vowels := 0
	for i := range len(v) {
		if strings.IndexByte("aeiouy", v[i]|0x20) >= 0 {
			vowels++
		}
	}
	return upper*5 > len(v)*2 || vowels*10 < len(v)*3 || unpronounceable(v)
}

// comparedPlural reports whether the telling word is a plural whose values are compared:
// passwords do not match: X != Y.
func (p *phrase) comparedPlural() bool {
	return p.at < len(p.text) && p.text[p.at]|0x20 == 's' && pluralMismatch.MatchString(p.text[p.at:min(len(p.text), p.at+maxVerdict)])
}

// compared goes over a sign of comparison and reports whether there is one.
func (p *phrase) compared() bool {
	const longest = 16
	width := len(comparison.FindString(p.text[p.at:min(len(p.text), p.at+longest)]))
	p.at += width
	p.assigned = p.assigned || width > 0
	return width > 0
}

// length returns how long the value is that begins at p.from. A password may have an ampersand in
// it, except in a form.
func (p *phrase) length(s string) int {
	form := p.text[p.from-1] == '+'
	if end := strings.IndexByte(s[p.from:], '&'); form && end >= 0 {
		s = s[:p.from+end]
	}
	end := p.from + valueLength(s[p.from:])
	for p.kind == ofPassword && joins(s, end) {
		end += 1 + valueLength(s[end+1:])
	}
	return end - p.from
}

// joins reports whether an ampersand at i is part of a value: neither another field of a form nor
// an escape of HTML follows it.
func joins(s string, i int) bool {
	const longest = 32
	if i+1 >= len(s) || s[i] != '&' || !alphanumeric(s[i+1]) && strings.IndexByte("!#$^*~?@%", s[i+1]) < 0 || opensEntity(s, i) {
		return false
	}
	to := i + 1
	for to < min(len(s), i+longest) && (tokenByte(s[to]) || strings.IndexByte(".[]%", s[to]) >= 0) {
		to++
	}
	return to == len(s) || s[to] != '='
}
