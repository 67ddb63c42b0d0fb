package redact

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

const (
	// Go's JSON encoder writes angle brackets as escapes.
	less    = `(?:<|\\+u003[cC])`
	greater = `(?:>|\\+u003[eE])`

	// encodedQuote is a quote as URLs, HTML and JSON escape it.
	encodedQuote = `(?:%(?:25)*2[27]|&(?:quot|apos|#3[49]);|\\+u002[27])`

	// tail is what a name may have after it: a plural, a number, and words that say
	// that it is still the same.
	tail = `([sS]?)(?:[_.-]?\d{1,4})?(?i:[_.-]?(?:confirmation|confirm|value|pem|base(?:64)?|b64|hex|raw|plain|plaintext|prod|production|staging|live|old|new|current|secondary|_c))?`

	// The groups of afterName: the plural, the sign between a name and its value,
	// and the end of a tag.
	plural, sign, tag = 2, 4, 6
)

// pullSecret is what stands before Secrets in the name of the member that has the names of the Secrets
// with which Kubernetes reads images.
const pullSecret = "imagePull"

var (
	// afterName matches what may stand between a name and its value: name=,
	// "name": , user[name]=, name[]=, --name . afterTag also matches <name> and <name a="b">.
	// It reads further ahead, so it is for names that a tag begins with.
	afterName = regexp.MustCompile(afterNames(`(` + greater + `)`))
	afterTag  = regexp.MustCompile(afterNames(`((?:[ \t][^<>]{0,128})?` + greater + `)`))
	tagBegin  = regexp.MustCompile(less)
	cdata     = regexp.MustCompile(`^` + less + `!\[CDATA\[`)
	tailOnly  = regexp.MustCompile(`^` + tail + `$`)
)

// afterNames returns the expression of what may follow a name, with that of the end of a tag.
func afterNames(tagEnd string) string {
	return `^` + tail + `(?:(?:\\*["'` + "`" + `]|` + encodedQuote + `)?(?:\[\w{0,16}\]|\]|(?i:%5[bd])){0,8}\s*` +
		`(=` + greater + `|->|→|,|\(|:=|={1,2}|:|%(?:25)*3[aAdD])\s*|` + tagEnd + `|[ \t]+)`
}

// valueAfter returns where the value lies whose name stands from name to i, or an
// empty range if what follows is none.
func (k keyed) valueAfter(s string, name, i int, a *ahead) extent {
	if !k.stands(s, name) || strings.HasSuffix(s[:name], "1") && begins(s, name-1) && strings.HasPrefix(s[name:], "Password") {
		return extent{} // 1Password is a program
	}
	if strings.HasSuffix(s[:name], "['properties']['") || strings.HasSuffix(s[:name], pullSecret) {
		return extent{} // what follows is a schema, or the names of objects
	}
	flag, tagged := opened(s, i)
	after := afterName
	if tagged {
		after = afterTag
	}
	m := after.FindStringSubmatchIndex(s[i:])
	if m == nil {
		return extent{}
	}
	begin := i + m[1]
	begin += yamlTagWidth(s[begin:])
	a.read += m[1]
	switch {
	case m[sign] >= 0:
		between := s[i+m[sign] : i+m[1]]
		switch between[0] {
		case ',':
			return k.listedValue(s, name, i, begin, a)
		case '(':
			return k.called(s, name, begin, a)
		}
		if emptyField(s, name, i+m[sign], begin) {
			return extent{}
		}
		if between == ":" && resource(s[:name]) {
			return extent{}
		}
		return k.assigned(s, name, between, m[plural] < m[plural+1], k.extent(s, begin, a), a)
	case m[tag] >= 0 && tagged:
		v := enclosed(s, begin)
		a.read += max(0, v.to-begin)
		return v
	case m[tag] < 0 && (flag && !strings.HasPrefix(s[begin:], "-") && !states(s, extent{from: begin, to: wordEnd(s, begin)}) || k.quoted && begin < len(s) && isQuote(s[begin])):
		return k.extent(s, begin, a)
	}
	return extent{}
}

// yamlTagWidth returns the length of the tag of YAML that a text begins with, if a plain value follows
// it: password: !unsafe X. References such as !Ref are no such tags.
func yamlTagWidth(s string) int {
	if !strings.HasPrefix(s, "!") {
		return 0
	}
	for _, tag := range [...]string{"!!str ", "!!binary ", "!unsafe "} {
		if strings.HasPrefix(s, tag) {
			return len(tag)
		}
	}
	return 0
}

// assigned returns the value v of a name if the sign between them assigns it, else an empty range.
func (k keyed) assigned(s string, name int, between string, several bool, v extent, a *ahead) extent {
	if pointed := between[0] == '-' || between[0] >= utf8.RuneSelf; pointed {
		return k.pointed(s, v)
	}
	prose := v.bare && between[0] == ':' && len(between) > 1 && between != ":="
	counted := k.judge == nil && several && digitsOnly.MatchString(s[v.from:v.to])
	elsewhere := v.bare && strings.Contains(between, "\n") && !alone(s, v) || (prose || s[v.from:v.to] == "value") && states(s, v)
	if counted || elsewhere {
		return extent{}
	}
	if !prose {
		return v
	}
	if k.judge != nil && v.from < v.to && fieldName(s, v.from, v.to) {
		return extent{} // key: private_key=X
	}
	if k.apart && compound(s, name) || k.fieldOfFile(s, name, v) || v.to != a.refused && k.prose(s[v.from:v.to]) {
		return k.joined(s, v, a)
	}
	if v.to-v.from > longRefusal {
		a.refused = v.to
	}
	return extent{}
}

// pointed returns the value v if an arrow or a comma stands between it and its name, and it looks
// made: ["authorization", "X"], authorization -> X. The rule of telling words has the other names.
func (k keyed) pointed(s string, v extent) extent {
	if value := s[v.from:min(v.to, v.from+maxJudged)]; k.name != "authorization" && k.name != "cookie" || value == "" || plainShape(value) || !opaque(value) || !looselyMade(value) && !scrambled(value) {
		return extent{}
	}
	return v
}

// joined returns a bare value with what an ampersand joins to it. A password in a sentence may have
// one in it.
func (k keyed) joined(s string, v extent, a *ahead) extent {
	for k.name == "password" && joins(s, v.to) {
		more := 1 + k.word(s[v.to+1:])
		v.to += more
		a.read += more
	}
	return v
}

// statements begin what a program says of a value: "password: Invalid value". The value may
// follow, and the rule of telling words finds it.
var statements = wordSet("invalid value expected got received must should cannot rejected required missing is was not has contains string new it path converting parsing parse")

// states reports whether a bare value is the first word of a statement.
func states(s string, v extent) bool {
	const longest = 10
	return v.to-v.from <= longest && strings.HasPrefix(s[v.to:], " ") && statements[strings.ToLower(s[v.from:v.to])]
}

// resource reports whether a text ends within the name of a resource of AWS, where
// secret: stands before a name.
func resource(before string) bool {
	const longest = 256
	before = before[max(0, len(before)-longest):]
	word := before[strings.LastIndexAny(before, " \t\"'=,")+1:]
	return strings.HasPrefix(word, "arn:") && strings.HasSuffix(word, ":")
}

// enclosed returns what stands in a tag that has been opened before i: text up to
// the tag's end, or quoted as XML does it.
func enclosed(s string, i int) extent {
	if m := cdata.FindStringIndex(s[i:]); m != nil {
		return within(s, i+m[1], "]]")
	}
	if strings.HasPrefix(s[i:], "<Value>") { // of a file that sets up Windows
		i += len("<Value>")
	}
	if end := tagBegin.FindStringIndex(s[i:]); len(end) == 2 && strings.HasPrefix(s[i+end[1]:], "/") {
		return extent{from: i, to: i + end[0]}
	}
	return extent{}
}

// alone reports whether a value on a line of its own looks like one: a single word
// with a digit in it, or with letters of both cases as chance mixes them. What else follows a colon there is a stack or a list.
func alone(s string, v extent) bool {
	rest, _, _ := strings.Cut(s[v.to:], "\n")
	return strings.TrimSpace(rest) == "" && (strings.ContainsAny(s[v.from:v.to], "0123456789") || scrambled(s[v.from:v.to])) && !strings.ContainsAny(s[v.from:v.to], "/:(")
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
