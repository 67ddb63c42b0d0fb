package redact

import (
	"regexp"
	"strings"
)

var (
	// setters begin the names of functions that take a secret: setPassword("X"), withApiKey("X").
	setters = regexp.MustCompile(`(?i)^(?:set|with|update|change)`)

	// getters begin the names of functions that take the name of a secret.
	getters = regexp.MustCompile(`(?i)^(?:get|find|load|read|is|has|require|fetch|lookup|missing|by|generate|create|new|delete|remove|revoke|list|export|import|on|handle|render|parse)`)

	// pairSetters are the functions that take a name and a value: setProperty("password", "X").
	pairSetters = regexp.MustCompile(`(?i)(?:\b(?:set|put|define|append|header|config|option|const)|(?:set|put|add|bind|with)[a-z]*(?:property|env|header|item|parameter|param|value|attribute|option|config|string|secret|variable|field|key)s?|putenv)\($`)
)

// identifierBegin returns where the identifier begins that ends at i.
func identifierBegin(s string, i int) int {
	const longest = 64
	from := i
	for from > max(0, i-longest) && (alphanumeric(s[from-1]) || s[from-1] == '_') {
		from--
	}
	return from
}

// called returns the only argument of a function whose name ends with that of a secret, or an empty
// range. It begins at begin.
func (k keyed) called(s string, name, begin int, a *ahead) extent {
	if begin >= len(s) || !isQuote(s[begin]) && !quotePrefix.MatchString(s[begin:]) {
		return extent{}
	}
	v := k.extent(s, begin, a)
	value := s[v.from:min(v.to, v.from+maxJudged)]
	if v.bare || value == "" || verdictOf(value) {
		return extent{}
	}
	from := identifierBegin(s, name)
	prefix := s[from:name]
	switch {
	case setters.MatchString(prefix) && onlyArgument(s, v.to) && (looksSecret(value) || strings.IndexByte(value, ' ') < 0):
		return v
	case getters.MatchString(prefix) || !looksSecret(value):
		return extent{}
	}
	return v
}

// onlyArgument reports whether a bracket closes behind the quotation that ends at i.
func onlyArgument(s string, i int) bool {
	rest := strings.TrimLeft(s[i:min(len(s), i+8)], "\\\"'` ")
	if flag := strings.TrimPrefix(rest, ", "); flag != rest {
		rest = strings.TrimLeft(flag, "0123456789truefals") // setenv("A", "X", 1)
	}
	return rest == "" || rest[0] == ')'
}

// listedValue returns the value behind a name and a comma, or an empty range: the pair of a property
// list of Erlang, the two arguments of a setter, a header and its value in a list.
func (k keyed) listedValue(s string, name, end, begin int, a *ahead) extent {
	if begin >= len(s) {
		return extent{}
	}
	from := identifierBegin(s, name)
	before := s[max(0, from-2):from]
	if strings.HasSuffix(before, "{") || before == "{:" || before == "{'" {
		if binary := strings.HasPrefix(s[begin:], `<<"`); binary || isQuote(s[begin]) {
			if binary {
				begin += len("<<")
			}
			return k.extent(s, begin, a)
		}
	}
	if !isQuote(s[end]) {
		return extent{}
	}
	quote := quotedBegin(s, name)
	if strings.HasSuffix(s[:quote], "from (") && digit(s[begin]) {
		return k.extent(s, begin, a) // of a header that is no text: from ('X-Api-Key', 48210977)
	}
	if !isQuote(s[begin]) {
		return extent{}
	}
	v := k.extent(s, begin, a)
	value := s[v.from:min(v.to, v.from+maxJudged)]
	const longest = 40
	if pairSetters.MatchString(s[max(0, quote-longest):quote]) && (looksSecret(value) || onlyArgument(s, v.to) && strings.IndexByte(value, ' ') < 0) {
		return v
	}
	if header := strings.EqualFold(s[quote+1:min(quote+3, len(s))], "x-"); header && value != "" && !plainShape(value) && machineMade(value, shortHex) {
		return v
	}
	return k.pointed(s, v)
}

// quotedBegin returns where the quote stands before the name that has the byte at i.
func quotedBegin(s string, i int) int {
	const longest = 64
	for from := i; from > max(0, i-longest); from-- {
		if b := s[from-1]; isQuote(b) {
			return from - 1
		} else if !alphanumeric(b) && strings.IndexByte("_-.:", b) < 0 {
			break
		}
	}
	return i
}

var (
	// nextField matches another field where a value should stand: password= host=db.
	nextField = regexp.MustCompile(`^[A-Za-z_][\w.-]{0,40}=[^=\s]`)

	// nextMember matches another member of a struct as Go prints it: {Password: TLS:true}.
	nextMember = regexp.MustCompile(`^[A-Z]\w{0,40}:[^\s:/]`)
)

// emptyField reports whether the name that begins at name has no value. What stands between the sign
// and the next word is blank, and the next word is the name of another field.
func emptyField(s string, name, sign, begin int) bool {
	const longest = 256
	between := s[sign:begin]
	switch {
	case strings.TrimLeft(between, " ") == "" || strings.ContainsAny(between, "\n\t"):
		return false
	case strings.HasPrefix(between, "= ") && s[sign-1] != ' ':
		return nextField.MatchString(s[begin:min(len(s), begin+longest)])
	case between == ": ":
		line := s[max(0, name-longest):name]
		open := strings.LastIndexAny(line, "{[")
		return open >= 0 && strings.IndexByte(line[open:], '}') < 0 && nextMember.MatchString(s[begin:min(len(s), begin+longest)])
	}
	return false
}
