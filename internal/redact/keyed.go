package redact

import (
	"regexp"
	"strings"
)

// family is a set of names whose values are secret, whatever they look like.
type family struct {
	name string
	keys []string // _ is any or no separator

	// bare matches a value without quotes, from its beginning.
	bare string

	// prose says which bare values after "name: " are values. A log says
	// "password: hunter2", a parser says "unexpected token: end".
	prose func(value string) bool

	// quoted says that a name may be followed by just a quoted value, as in
	// SQL's WITH PASSWORD 'hunter2'.
	quoted bool

	// apart says that a name must not continue another word, as in bypass.
	apart bool
}

// word matches a bare value: up to a blank, a separator of fields, a quote, or an
// escaped one of these.
const word = `(?:[^\s,;&"'<>` + "`" + `\\]|\\[^nrt"'])+`

func families() []family {
	return []family{
		{
			name: "authorization", keys: []string{"authorization", "x_auth"}, prose: opaqueOrPair,
			bare: `(?i:digest|hawk|oauth|aws4-hmac-sha256)[ \t].*|(?i:(?:bearer|basic|token|apikey|key|negotiate|ntlm|bot|dpop)[ \t]+)?` + word,
		},
		{
			name: "cookie", keys: []string{"cookie", "cookies"}, prose: opaqueOrPair,
			bare: word + `(?:;[ \t]?` + word + `)*;?`,
		},
		{
			name: "password", keys: []string{"password", "passwd", "passphrase", "passcode", "pwd"},
			bare: word, prose: func(string) bool { return true }, quoted: true,
		},
		{
			// PASS is also what a test says.
			name: "password", keys: []string{"pass"}, apart: true,
			bare: word, prose: func(string) bool { return false },
		},
		{
			name: "secret", bare: word, prose: opaqueOrPair,
			keys: []string{
				"secret", "token", "api_key", "access_key", "secret_key", "private_key", "signing_key",
				"encryption_key", "account_key", "auth_key", "credential", "credentials", "signature_key",
				"amz_signature", "sessid", "sessionid", "cvv", "ssn", "social_security_number",
			},
		},
	}
}

// opaqueOrPair accepts what a machine made, and headers: a scheme with its
// credential, a cookie with its value.
func opaqueOrPair(v string) bool { return opaque(v) || strings.ContainsAny(v, " =") }

// keyed finds the values of a family's names.
type keyed struct {
	family
	names *gate // where a name ends
	value *regexp.Regexp
}

// rule makes the family's rule.
func (f family) rule() rule {
	literals := f.literals()
	k := keyed{family: f, names: newGate([]rule{{gate: literals}}), value: regexp.MustCompile("^(?:" + f.bare + ")")}
	return rule{name: f.name, gate: literals, find: k.find, key: k.matches}
}

// literals returns the names with every separator.
func (f family) literals() []string {
	var literals []string
	for _, key := range f.keys {
		for _, separator := range []string{"", "_", "-", ".", " "} {
			literals = append(literals, strings.ReplaceAll(key, "_", separator))
		}
	}
	return literals
}

func (k keyed) find(s string, f finding) finding {
	f.work += len(s)
	state := uint16(0)
	for i := 0; i < len(s); i++ {
		state = k.names.step(state, s[i])
		if k.names.hits[state] == 0 {
			continue
		}
		name := i + 1 // where it ends
		from, to := k.valueAfter(s, name)
		if from == to {
			continue
		}
		if !harmless.MatchString(s[from:to]) && !workingDirectory(s[:from], s[from:to]) {
			f.add(from, to)
		}
		f.work += to - name
		i, state = to-1, 0
	}
	return f
}

// matches reports whether the values under a key of JSON are secret.
func (k keyed) matches(key string) bool {
	state := uint16(0)
	for i := range len(key) {
		state = k.names.step(state, key[i])
	}
	return k.names.hits[state] != 0 && k.stands(key, len(key))
}

// stands reports whether the name that ends at i may be a name there.
func (k keyed) stands(s string, i int) bool {
	before := i - len(k.keys[0]) - 1
	return !k.apart || before < 0 || !alphanumeric(s[before])
}

const (
	// Go's JSON encoder writes angle brackets as escapes.
	less    = `(?:<|\\+u003[cC])`
	greater = `(?:>|\\+u003[eE])`

	// The groups of afterName: the sign between a name and its value, and the end
	// of a tag.
	sign, tag = 2, 4
)

var (
	// afterName matches what may stand between a name and its value: name=,
	// "name": , user[name]=, <name>, --name .
	afterName = regexp.MustCompile(`^(?:(?:\\*["'` + "`" + `])?\]?\s{0,4}(=` + greater + `|:=|={1,2}|:)\s{0,4}|(` + greater + `)|[ \t]{1,4})`)
	tagBegin  = regexp.MustCompile(less)
)

// valueAfter returns where the value lies whose name ends at i, or an empty range
// if what follows is none.
func (k keyed) valueAfter(s string, i int) (from, to int) {
	m := afterName.FindStringSubmatchIndex(s[i:])
	if m == nil || !k.stands(s, i) {
		return i, i
	}
	begin := i + m[1]
	flag, tagged := opened(s, i)
	switch {
	case m[sign] >= 0:
		from, to, bare := k.extent(s, begin)
		prose := bare && s[i+m[sign]:i+m[sign+1]] == ":" && m[sign+1] < m[1]
		if !prose || k.prose(s[from:to]) {
			return from, to
		}
	case m[tag] >= 0 && tagged:
		if end := tagBegin.FindStringIndex(s[begin:]); len(end) == 2 && strings.HasPrefix(s[begin+end[1]:], "/") {
			return begin, begin + end[0]
		}
	case m[tag] < 0 && (flag && !strings.HasPrefix(s[begin:], "-") || k.quoted && begin < len(s) && isQuote(s[begin])):
		from, to, _ := k.extent(s, begin)
		return from, to
	}
	return begin, begin
}

// opened reports whether the name that ends at i is a flag (--db-password) or the
// name of a tag (<db:password>).
func opened(s string, i int) (flag, tagged bool) {
	const longest = 64
	from := i
	for from > max(0, i-longest) && (alphanumeric(s[from-1]) || strings.IndexByte("_-.:", s[from-1]) >= 0) {
		from--
	}
	tagged = from > 0 && (s[from-1] == '<' || s[from-1] == '\\' && strings.HasPrefix(strings.ToLower(s[from:i]), "u003c"))
	return strings.Contains(s[from:i], "--"), tagged
}

// extent returns where the value that begins at i lies, without the quotes or
// brackets around it, and whether it had none.
func (k keyed) extent(s string, i int) (from, to int, bare bool) {
	begin := i
	if i+1 < len(s) && strings.IndexByte("bBuU", s[i]) >= 0 && isQuote(s[i+1]) {
		i++ // Python's b'…'
	}
	escapes := 0
	for i < len(s) && s[i] == '\\' {
		escapes++
		i++
	}
	switch {
	case i < len(s) && isQuote(s[i]):
		return i + 1, quoteEnd(s, i, escapes), false
	case escapes == 0 && i < len(s) && (s[i] == '[' || s[i] == '{'):
		return i + 1, bracketEnd(s, i), false
	}
	value := strings.TrimRight(k.value.FindString(s[begin:]), ")]}")
	return begin, begin + len(value), true
}

func isQuote(b byte) bool { return b == '"' || b == '\'' || b == '`' }

// quoteEnd returns where the quotation that opens at i ends; at the end of the
// line if it was cut off. JSON inside JSON escapes its quotes once more at each
// level: the quote that closes has as many backslashes as the one that opened.
func quoteEnd(s string, i, escapes int) int {
	backslashes := 0
	for j := i + 1; j < len(s); j++ {
		switch {
		case s[j] == '\\':
			backslashes++
			continue
		case s[j] == s[i] && escapes == 0 && backslashes%2 == 0:
			return j
		case s[j] == s[i] && 0 < escapes && backslashes <= escapes:
			return j - backslashes
		}
		backslashes = 0
	}
	return len(s)
}

// bracketEnd returns where the bracket that opens at i is closed, or the end of
// the line.
func bracketEnd(s string, i int) int {
	depth, closer := 0, s[i]+2 // in ASCII, ] is [ + 2 and } is { + 2
	for j := i; j < len(s); j++ {
		switch s[j] {
		case s[i]:
			depth++
		case closer:
			depth--
		}
		if depth == 0 {
			return j
		}
	}
	return len(s)
}

// harmless matches values that are no secrets: nothing, masks, punctuation, and
// the parameters of SQL, formats and templates.
var harmless = regexp.MustCompile(`(?i)^(?:<?nil>?|null|none|true|false|undefined|empty|\*+|[^A-Za-z0-9]{1,3}|` +
	`\$\d{1,3}|[:@][a-z_]+|%[+#]?[svqdx]|\$?\{+ *[\w.]*(?: *\}+)?)$`)

// workingDirectory tells the shell's PWD=/srv from a password.
func workingDirectory(before, value string) bool {
	return strings.HasSuffix(before, "PWD=") && strings.HasPrefix(value, "/")
}
