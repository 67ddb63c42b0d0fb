package redact

import (
	"math/bits"
	"regexp"
	"slices"
	"strings"
)

// telling finds the secret that stands next to a word for one, without an equals sign:
// "Incorrect API key provided: X", "invalid token X", "X is your verification code".
//
// A phrase is a telling word with the word before it, connectors such as "provided", "is"
// or "for user ada", and a value. The value is taken if it looks made by a machine, chosen
// as a password, or like a code, depending on the telling word. Identifiers, numbers, dates
// and words are left alone.
type telling struct {
	names *gate // where a telling word ends; the bit of its hit is the length of the word
	kinds map[string]secretKind
}

// tellingRule is the last of the table: a more specific rule gives its name.
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
	state, done := uint16(0), 0
	for i := 0; i < len(s); i++ {
		if state = t.names.step(state, s[i]); state < ending {
			continue
		}
		end := i + 1
		begin := end + 1 - bits.Len64(t.names.ended(state)[0])
		word := strings.ToLower(s[begin:end])
		p := phrase{text: s, word: begin, name: word, kind: t.kinds[word], at: end}
		if !p.begins() {
			continue
		}
		found := p.read()
		f.work += p.at - end
		if !found && p.behind(done, end) {
			f.add(p.from, p.to)
			f.work += end - p.from
			done = end
			continue
		}
		for ; found; found = p.next() {
			f.add(p.from, p.to)
			f.work += p.at - p.from
			i, state, done = p.to-1, 0, p.to
		}
	}
	return f
}

// phrase is read from a telling word on.
type phrase struct {
	text     string
	word     int    // where the telling word begins
	name     string // the telling word in lower case
	kind     secretKind
	at       int    // what has been read
	before   string // the word before the telling word, in lower case
	given    bool   // the text says that a value was given: "provided", "is"
	assigned bool   // a colon or an equals sign stands before the value
	broken   bool   // a line ends between the word and the value, without such a sign
	comma    bool   // a comma stands between them: only a value that is clearly one is taken
	id       bool   // the word continues with "id", as session id does, or with a user
	linked   bool   // a connector has been read
	valued   bool   // a word that announces a value has been read: "Invalid value:"
	cipher   bool   // the sentence is about signing or encryption
	denied   bool   // a verdict has been read
	from, to int    // where the value lies
}

// begins reports whether the telling word is one here: it is a word of its own, or the
// end of one that is known (apikey, access_token).
func (p *phrase) begins() bool {
	if p.comparedPlural() {
		p.at++
	}
	if continues(p.text[p.at:]) {
		return false // tokenizer, key_id, token-bucket, secret.go
	}
	if strings.HasSuffix(p.text[:p.word], opening) || p.name == "pass" && strings.HasSuffix(p.text[:p.word], "=") {
		return false // the name of a rule in a replacement, dkim=pass
	}
	p.before = wordBefore(p.text, p.word)
	glued := p.word > 0 && alphanumeric(p.text[p.word-1])
	switch p.kind {
	case ofKey:
		p.cipher = !glued && p.afterCipher()
		return keyQualifiers[p.before] || !glued && (verdicts[p.before] || !ordinaryKeys[p.before]) || p.cipher
	case ofToken:
		return !parserWords[p.before] && (!glued || keyQualifiers[p.before])
	case ofCode:
		return codeQualifiers[p.before] || !glued && (!strings.HasPrefix(p.name, "code") || p.yours())
	case ofSession, ofPair, ofLicense:
		return !glued
	}
	return !glued || keyQualifiers[p.before]
}

// continues reports whether a word goes on in the text behind it.
func continues(rest string) bool {
	if rest == "" {
		return false
	}
	return alphanumeric(rest[0]) || strings.IndexByte("_-/", rest[0]) >= 0 || rest[0] == '.' && len(rest) > 1 && rest[1] != '.' && rest[1] != ' '
}

// cipherWords are about signing and encryption.
var cipherWords = regexp.MustCompile(`(?i)\b(?:sign(?:ed|ing)?|(?:en|de)crypt(?:ed|ing|ion)?|hmac|psk|aes|cipher|chacha20)\b`)

// afterCipher reports whether the words before a key are about signing or encryption, and the word
// right before it does not make the key a name or a public one.
func (p *phrase) afterCipher() bool {
	const longest = 48
	before := p.text[max(0, p.word-longest):p.word]
	before = before[strings.LastIndexByte(before, '\n')+1:]
	return !ordinaryKeys[p.before] && cipherWords.MatchString(before)
}

// yours reports whether one word stands between "your" and the telling word: your Example
// code.
func (p *phrase) yours() bool {
	_, from := previousWord(p.text, max(0, p.word-32), p.word)
	your, _ := previousWord(p.text, max(0, p.word-32), from)
	return your == "your" && !ordinaryCodes[p.before]
}

// ordinaryCodes are the words before a code that everybody may know.
var ordinaryCodes = wordSet("order error zip postal post country area product status exit response reference tracking booking language currency color source bar qr promo discount coupon")

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
