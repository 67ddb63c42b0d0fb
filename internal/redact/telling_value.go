package redact

import (
	"regexp"
	"strings"
)

// maxFormValue is how much of a value is judged after the blank of a form. Such a blank does not
// end a value, so the text after each of many telling words can be one value up to its end.
const maxFormValue = 256

// value reports whether what stands at the end of the phrase is a secret.
func (p *phrase) value() bool {
	p.from = p.at
	text := p.text
	if p.text[p.from-1] == '+' {
		text = p.text[:min(len(p.text), p.from+maxFormValue)]
	}
	if end := appPasswordEnd(p.text, p.from); p.kind == ofPassword && end > 0 {
		p.to, p.at = end, end
		return true
	}
	p.to = p.from + p.length(text)
	p.at = p.to
	if m := uuidShape.FindStringIndex(p.text[p.from:min(p.to, p.from+uuidLength)]); m != nil && ends(p.text, p.from+uuidLength) {
		p.to = p.from + uuidLength
	}
	if p.valued && p.kind == ofPassword && isQuote(p.text[p.from-1]) { // Invalid value: "X"
		return p.quotedValue()
	}
	if p.given && p.assigned && p.kind == ofPassword && !isQuote(p.text[p.from-1]) {
		p.to = p.from + signedLength(p.text[p.from:], p.to-p.from)
		p.at = p.to
	}
	v := p.text[p.from:p.to]
	if form := strings.IndexByte(v, '+'); form > 0 && p.text[p.from-1] == '+' { // the blank of a form
		cut := *p
		cut.to, cut.at = p.from+form, p.from+form
		if cut.accepts(v[:form]) {
			*p = cut
			return true
		}
		if strings.IndexByte(v, '%') >= 0 || wordEnd(v, 0) == form {
			return false // the sentence goes on
		}
	}
	if !p.accepts(v) {
		return false
	}
	if len(text) < len(p.text) { // all of it is taken
		p.to = max(p.to, p.from+p.length(p.text))
		p.at = p.to
	}
	return true
}

// quotedValue takes the value up to the closing quote, or to the end of the line.
func (p *phrase) quotedValue() bool {
	p.to = len(p.text)
	if end := strings.IndexAny(p.text[p.from:], p.text[p.from-1:p.from]+"\n"); end >= 0 {
		p.to = p.from + end
	}
	p.to = p.from + len(strings.TrimRight(p.text[p.from:p.to], `\`))
	p.at = p.to
	return p.from < p.to && !masked(p.text[p.from:p.to]) && !tellingOnly[strings.ToLower(p.text[p.from:min(p.to, p.from+maxConnector)])]
}

// accepts reports whether the value v, which lies from p.from to p.to, is a secret.
func (p *phrase) accepts(v string) bool {
	if v == "" || fieldName(p.text, p.from, p.to) || p.to < len(p.text) && p.text[p.to] == '(' || masked(v) || p.resource(v) {
		return false
	}
	if (p.kind == ofCode || p.kind == ofPassword && onceWords[p.before]) && p.code(v) {
		return true
	}
	if strings.HasPrefix(p.name, "secret") && len(p.name) > len("secret") && uuidShape.MatchString(v) {
		return true // the id of a secret in Vault is one
	}
	return p.refusedNumber(v) || !plainShape(v) && (p.secret(v) || p.refusedValue(v))
}

// secret judges a value by the telling word before it: what counts as a password need not
// look like a key.
func (p *phrase) secret(v string) bool {
	switch {
	case p.comma:
		return len(v) >= 16 && machineMade(v, 2*shortHex) || p.listed(v)
	case p.kind == ofCode:
		return p.name == "passcode" && chosenWord(v)
	case p.before == "license" && licenseGroups.MatchString(v):
		return true
	case p.kind == ofLicense || groupedKey(v) && (p.kind == ofKey || p.kind == ofToken):
		return groupedKey(v)
	case p.kind == ofSession:
		return p.session(v)
	case p.name == "pass" && p.afterUser():
		return !p.broken && chosenWord(v)
	case p.name == "pass":
		return !p.broken && chosenWord(v) && (signed(v) && changes(v) > 0 || changes(v) > 2)
	case p.chosen() && !p.broken:
		head, _, _ := strings.Cut(v, "/")
		return chosenWord(v) || p.given && chosenWord(head) || appPassword.MatchString(v)
	}
	return p.made(v)
}

// session judges the id of a session. Without the word id, only a long one counts.
func (p *phrase) session(v string) bool {
	named := p.id || p.name != "session" && p.name != "cookie"
	return machineMade(v, shortHex) && (named || len(v) >= 20 && machineMade(v, 2*shortHex))
}

// made judges a value that a machine has made.
func (p *phrase) made(v string) bool {
	switch {
	case p.kind == ofSeed:
		return base32Seed(v) || mixedCase(v) && machineMade(v, shortHex) || oneTime[p.before] && machineMade(v, shortHex)
	case p.kind == ofKey && signedBy[p.before] && hexOnly(v) && (len(v) == 16 || len(v) == 40):
		return false // the fingerprint of a public key
	case p.kind == ofKey && !keyQualifiers[p.before]:
		return machineMade(v, longHex) && mixedCase(v) && (verdicts[p.before] || !pathOfKey(v)) || p.cipher && cipherKey(v)
	case p.given && p.assigned && !p.broken:
		return len(v) >= 6 && looselyMade(v)
	case p.kind == ofKey:
		return machineMade(v, longHex) || oneTime[p.before] && base32Seed(v)
	}
	return machineMade(v, shortHex) || oneTime[p.before] && base32Seed(v) || isQuote(p.text[p.from-1]) && signed(v) && looselyMade(v)
}

// pathOfKey reports whether a key is that of a cache or a store, which begins with a word
// or is the name of a file: uploads/X, session:X, X.jpg.
func pathOfKey(v string) bool {
	head := wordEnd(v, 0)
	return head < len(v) && strings.IndexByte("/:.-_", v[head]) >= 0 || strings.IndexByte(v, '.') >= 0
}

// signedBy stand before keys that have fingerprints.
var signedBy = wordSet("rsa dsa ec ed ecdsa eddsa gpg pgp")

// listed reports whether a password and its value v are all that a line has from the word on, with
// a semicolon between them.
func (p *phrase) listed(v string) bool {
	rest, _, _ := strings.Cut(p.text[p.to:], "\n")
	return p.kind == ofPassword && p.text[p.word+len(p.name):p.from] == "; " && strings.TrimSpace(rest) == "" && chosenWord(v) && changes(v) > 1
}

// cipherKey reports whether a text is a key of a cipher in base 16. The fingerprints of public
// keys have 16 or 40 digits.
func cipherKey(v string) bool {
	return hexOnly(v) && machineMade(v, 2*shortHex) && len(v) != 40
}

// tellingOnly are words that are no values, although they stand in the place of one: expected
// "password", actual "passphrase".
var tellingOnly = func() map[string]bool {
	words := map[string]bool{"string": true, "number": true}
	for word := range tellingWords() {
		words[word] = true
	}
	return words
}()

// signed reports whether a text has a sign in it that identifiers do not have.
func signed(v string) bool { return strings.ContainsAny(v, "!#$^*~?@%") }

// fieldName reports whether a text is another field, a tag of YAML or a type: user="ada",
// session=X, !vault, *http.Request.
func fieldName(s string, from, to int) bool {
	switch s[from] {
	case '!':
		return wordEnd(s, from+1) == to
	case '*': // a pointer or an emphasis: *io.PipeWriter, *key*
		return strings.Trim(strings.ToLower(s[from:to]), "abcdefghijklmnopqrstuvwxyz._*") == ""
	}
	sign := wordEnd(s, from)
	if name := nameEnd(s, from); sign < name && s[sign] == '_' && identifierWord(s[from:name]) {
		sign = name // client_id=web
	}
	return sign < to && s[sign] == '=' && (sign < to-1 && s[sign+1] != '=' || to < len(s) && (isQuote(s[to]) || opensList(s[to]) || signWidth(s[to:]) > 0))
}

// chosen reports whether people choose the secrets that the telling word stands for.
func (p *phrase) chosen() bool {
	return p.kind == ofPassword || p.kind == ofPair && p.id || p.name == "secret" && p.afterUser() || (p.kind == ofKey || p.kind == ofToken) && sharedWords[p.before]
}

// afterUser reports whether a user stands before the telling word: username ada secret X.
func (p *phrase) afterUser() bool {
	const longest = 48
	words := strings.Fields(p.text[max(0, p.word-longest):p.word])
	if len(words) < 2 {
		return false
	}
	word := strings.ToLower(words[len(words)-2])
	return word == "user" || word == "username" || word == "login"
}

var (
	// appPassword matches the passwords that mail providers make for programs.
	appPassword = regexp.MustCompile(`^[a-z]{4}(?:-[a-z]{4}){3}$`)

	// licenseGroups matches keys of licenses that need not have digits.
	licenseGroups = regexp.MustCompile(`^(?:[A-Z0-9]{4}(?:-[A-Z0-9]{4}){3,7}|[A-Z0-9]{5}(?:-[A-Z0-9]{5}){3,7})$`)

	// groups matches codes and keys that are written in groups.
	groups = regexp.MustCompile(`^(?:[A-Z][A-Z0-9]?-)?[A-Z0-9]{3,8}(?:-[A-Z0-9]{3,8})+$`)

	// hexGroups matches the codes that sign in when the second factor is lost.
	hexGroups = regexp.MustCompile(`^[0-9a-f]{4,5}-[0-9a-f]{4,5}$`)
)

// groupedKey reports whether a text is a license key: three groups and more.
func groupedKey(v string) bool {
	upper, _, digits := mixture(v)
	return strings.Count(v, "-") > 1 && groups.MatchString(v) && upper > 2 && digits > 1
}

// code reports whether a value is a code: four to eight digits and no count of something,
// or letters and digits.
func (p *phrase) code(v string) bool {
	upper, lower, digits := mixture(v)
	switch {
	case p.comma || p.broken:
		return false
	case digits == len(v):
		least := 4
		if p.before == "security" && p.assigned {
			least = 3
		}
		return least <= digits && digits <= 8 && pinNumber(p.text, p.from, p.to) && !p.counted()
	case groups.MatchString(v) || hexGroups.MatchString(v) && digits > 1:
		return digits > 0 && p.name != "pin" && p.name != "otp"
	case upper+lower+digits == len(v) && len(v) >= 8 && (upper == 0 || lower == 0):
		return digits > 0 && changes(v) > 1 && strings.HasPrefix(p.name, "code")
	}
	if p.before == "authorization" && p.assigned && len(v) >= 6 && upper > 0 && lower > 0 && digits > 0 && upper+lower+digits == len(v) {
		return true
	}
	return !plainShape(v) && machineMade(v, shortHex)
}

// number reports whether a password is one of digits only, and no count of attempts.
func (p *phrase) number(v string) bool {
	return len(v) >= 6 && len(v) <= 16 && groupEnd(v, 0) == len(v) && !p.counted()
}

// counted reports whether the value is a number of something: 1000 times, has 3000 lines.
func (p *phrase) counted() bool {
	if strings.HasSuffix(p.text[:p.from], "has ") {
		return true
	}
	next := strings.TrimLeft(p.text[p.to:], " ")
	for _, noun := range [...]string{"times", "attempts", "tries", "retries", "char", "digits", "sec", "minutes", "hours", "bytes", "ms", "of ", "lines", "rows", "records", "users", "requests", "days", "weeks"} {
		if strings.HasPrefix(next, noun) {
			return true
		}
	}
	return false
}

// resource reports whether a value is the name of an object of Kubernetes:
// secret "db-creds-7f9c8d6b5" not found.
func (p *phrase) resource(v string) bool {
	if p.kind != ofToken && p.kind != ofPair || strings.ToLower(v) != v || strings.IndexByte(v, '-') < 0 || uuidShape.MatchString(v) {
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
