package redact

import (
	"math/bits"
	"slices"
	"strings"
)

// telling finds the secret that stands right after a word for one, without an equals
// sign: "Incorrect API key provided: X", "invalid token X", "wrong password X for ada".
//
// A phrase is a telling word with the word before it, connectors such as "provided",
// "is" or "for user ada", and a value. The value is taken if it looks made by a machine
// or chosen as a password. Identifiers, numbers, dates and words are left alone.
type telling struct {
	names *gate // where a telling word ends; the bit of its hit is the length of the word
	kinds map[string]secretKind
}

// secretKind is what a telling word stands for. It decides what counts as a value.
type secretKind int

const (
	ofToken    secretKind = iota // a token, a secret, a credential
	ofKey                        // a key: only with a word before it that makes it a credential
	ofPassword                   // chosen by a person
	ofSeed                       // of one-time passwords
)

func tellingWords() map[string]secretKind {
	words := map[string]secretKind{"token": ofToken, "secret": ofToken, "secret id": ofToken, "secret_id": ofToken, "credential": ofToken, "credentials": ofToken, "key": ofKey, "seed": ofSeed}
	for _, word := range toldWords() {
		if _, known := words[word]; !known && word != " pin" && word != "api key" && word != "passkey" {
			words[word] = ofPassword
		}
	}
	return words
}

// tellingRule is the last of the table: a rule that knows more gives its name.
func tellingRule() rule {
	t := telling{kinds: tellingWords()}
	var literals []string
	longest := 0
	for word := range t.kinds {
		literals, longest = append(literals, word), max(longest, len(word))
	}
	slices.Sort(literals)
	byLength := make([]rule, longest+1)
	for _, word := range literals {
		byLength[len(word)].gate = append(byLength[len(word)].gate, word)
	}
	t.names = newGate(byLength)
	return rule{name: "told", of: "telling word", gate: literals, multiline: true, find: t.find, yields: true}
}

func (t *telling) find(s string, f finding) finding {
	f.work += len(s)
	state := uint16(0)
	for i := 0; i < len(s); i++ {
		if state = t.names.step(state, s[i]); state < ending {
			continue
		}
		end := i + 1
		begin := end + 1 - bits.Len64(t.names.ended(state)[0])
		p := phrase{text: s, word: begin, kind: t.kinds[strings.ToLower(s[begin:end])], at: end}
		found := p.begins() && p.read()
		f.work += p.at - end
		if found {
			f.add(p.from, p.to)
			i, state = p.to-1, 0
		}
	}
	return f
}

// phrase is read from a telling word on.
type phrase struct {
	text     string
	word     int // where the telling word begins
	kind     secretKind
	at       int    // what has been read
	before   string // the word before the telling word, in lower case
	given    bool   // the text says that a value was given: "provided", "is"
	assigned bool   // a colon or an equals sign stands before the value
	broken   bool   // a line ends between the word and the value, without such a sign
	from, to int    // where the value lies
}

// maxConnectors is how many words may stand between a telling word and its value.
const maxConnectors = 6

// begins reports whether the telling word is one here: it is a word of its own, or the
// end of one that is known (apikey, access_token).
func (p *phrase) begins() bool {
	if p.at < len(p.text) && (alphanumeric(p.text[p.at]) || strings.IndexByte("_-./", p.text[p.at]) >= 0) {
		return false // tokenizer, key_id, token-bucket, secret.go
	}
	p.before = wordBefore(p.text, p.word)
	glued := p.word > 0 && alphanumeric(p.text[p.word-1])
	switch p.kind {
	case ofKey:
		return keyQualifiers[p.before] || !glued && verdicts[p.before]
	case ofToken:
		return !parserWords[p.before] && (!glued || keyQualifiers[p.before])
	}
	return !glued || keyQualifiers[p.before]
}

// wordBefore returns the word that ends before i, in lower case. One separator
// may stand between, or a colon with a blank.
func wordBefore(s string, i int) string {
	const longest = 16
	if i > 0 && strings.IndexByte(" \t\n_-.+", s[i-1]) >= 0 {
		i--
	}
	if i > 0 && s[i-1] == ':' {
		i--
	}
	from := i
	for from > 0 && i-from <= longest && letter(s[from-1]) {
		from--
		if 'A' <= s[from] && s[from] <= 'Z' && from > 0 && 'a' <= s[from-1] && s[from-1] <= 'z' {
			break // the hump of userPassword
		}
	}
	return strings.ToLower(s[from:i])
}

func letter(b byte) bool { return 'a' <= b|0x20 && b|0x20 <= 'z' }

// read goes over the connectors and reports whether a value follows them.
func (p *phrase) read() bool {
	for range maxConnectors {
		if !p.gap() {
			return false
		}
		from, to := p.at, p.at
		for to < len(p.text) && letter(p.text[to]) {
			to++
		}
		if numbered(p.text[from:]) { // Unseal Key 1: …
			p.at = groupEnd(p.text, from)
			continue
		}
		word := strings.ToLower(p.text[from:min(to, from+maxConnector)])
		whole := to == len(p.text) || strings.IndexByte(" \t\r\n:=,+\"'(`\\<&|", p.text[to]) >= 0
		switch role := connectors[word]; {
		case !whole || role == 0 || to-from > maxConnector:
			return p.value()
		case role == names:
			p.at = to
			if !p.owner() {
				return false
			}
		default:
			p.given = p.given || role == gives
			p.at = to
		}
	}
	return false
}

// numbered reports whether a text begins with the number of one key of several.
func numbered(s string) bool {
	end := groupEnd(s[:min(len(s), 3)], 0)
	return end > 0 && end < 3 && end < len(s) && (s[end] == ' ' || s[end] == ':')
}

// gap goes over what stands between two words, and reports whether it is a gap. A full
// stop or a comma ends the phrase.
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
			p.assigned = true
		case isQuote(b) || strings.IndexByte("([<{", b) >= 0:
			p.assigned = p.assigned || isQuote(b)
		case lines > 0 && strings.IndexByte("#*/", b) >= 0: // how a comment goes on
		case b == '\\' && p.at+1 < len(p.text) && (isQuote(p.text[p.at+1]) || p.text[p.at+1] == '\\'):
		case b == '&' && encodedQuoteWidth(p.text[p.at:]) > 0:
			p.at += encodedQuoteWidth(p.text[p.at:]) - 1
			p.assigned = true
		case b == '-' && p.at+1 < len(p.text) && strings.IndexByte(" >", p.text[p.at+1]) >= 0:
		default:
			return blank
		}
		p.at++
	}
	return false
}

// encodedQuoteWidth returns how long the quote is that HTML escapes at the beginning of s, or 0.
func encodedQuoteWidth(s string) int {
	for _, quote := range [...]string{"&quot;", "&apos;", "&#34;", "&#39;"} {
		if strings.HasPrefix(s, quote) {
			return len(quote)
		}
	}
	return 0
}

// owner goes over whom a secret belongs to: "for user ada", "for 'app'@'localhost'". A
// colon or a verb must follow, because "wrong password for ada 3 times" names none.
func (p *phrase) owner() bool {
	const longest = 80
	for range 2 {
		for p.at < len(p.text) && p.text[p.at] == ' ' {
			p.at++
		}
		from := p.at
		for p.at < len(p.text) && p.at-from <= longest && strings.IndexByte(" \t\r\n:=,;", p.text[p.at]) < 0 {
			p.at++
		}
		if !ownerKinds[strings.ToLower(p.text[from:p.at])] {
			break
		}
	}
	rest := p.text[p.at:]
	for _, sign := range [...]string{":", "=", " :", " =", " is ", " was "} {
		if strings.HasPrefix(rest, sign) {
			p.given = true
			return true
		}
	}
	return false
}

// value reports whether what stands at the end of the phrase is a secret.
func (p *phrase) value() bool {
	p.from = p.at
	p.to = p.from + valueLength(p.text[p.from:])
	p.at = p.to
	if m := uuidShape.FindStringIndex(p.text[p.from:min(p.to, p.from+uuidLength)]); m != nil && ends(p.text, p.from+uuidLength) {
		p.to = p.from + uuidLength
	}
	v := p.text[p.from:p.to]
	if v == "" || p.to < len(p.text) && p.text[p.to] == '(' || masked(v) || plainShape(v) || p.resource(v) {
		return false
	}
	return p.secret(v)
}

// secret judges a value by the telling word before it: what counts as a password need not
// look like a key.
func (p *phrase) secret(v string) bool {
	switch {
	case p.kind == ofPassword && !p.broken:
		head, _, _ := strings.Cut(v, "/")
		return chosenWord(v) || p.given && chosenWord(head) || p.before != "" && verdicts[p.before] && p.number(v)
	case p.kind == ofSeed:
		return base32Seed(v) || oneTime[p.before] && machineMade(v, shortHex)
	case p.kind == ofKey && !keyQualifiers[p.before]:
		return machineMade(v, longHex) && mixedCase(v)
	case p.given && p.assigned && !p.broken:
		return len(v) >= 6 && looselyMade(v)
	case p.kind == ofKey:
		return machineMade(v, longHex) || oneTime[p.before] && base32Seed(v)
	}
	return machineMade(v, shortHex) || oneTime[p.before] && base32Seed(v)
}

// number reports whether a password is one of digits only, and no count of attempts.
func (p *phrase) number(v string) bool {
	if len(v) < 6 || len(v) > 16 || groupEnd(v, 0) < len(v) {
		return false
	}
	next := strings.TrimLeft(p.text[p.to:], " ")
	return next == "" || !strings.HasPrefix(next, "times") && !strings.HasPrefix(next, "attempts") && !strings.HasPrefix(next, "char")
}

// resource reports whether a value is the name of an object of Kubernetes:
// secret "db-creds-7f9c8d6b5" not found.
func (p *phrase) resource(v string) bool {
	if p.kind != ofToken || strings.ToLower(v) != v || strings.IndexByte(v, '-') < 0 || uuidShape.MatchString(v) {
		return false
	}
	rest := strings.TrimLeft(p.text[p.to:], "\"'`\\ ")
	for _, follows := range [...]string{"not found", "in namespace", "already exists", "does not exist", "of type", "is forbidden", "was not found", "in the namespace"} {
		if strings.HasPrefix(rest, follows) {
			return true
		}
	}
	return false
}

// valueLength returns the length of the value that s begins with: up to a blank, a quote,
// a bracket or a separator of fields, without the punctuation of the sentence.
func valueLength(s string) int {
	end := 0
	for end < len(s) && strings.IndexByte(" \t\r\n\"'`<>,;&()[]{}|", s[end]) < 0 {
		if s[end] == '\\' && end+1 < len(s) && strings.IndexByte(`nrt"'u\`, s[end+1]) >= 0 {
			break
		}
		end++
	}
	return len(strings.TrimRight(s[:end], ".!?:"))
}
