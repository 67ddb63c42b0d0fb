package redact

import (
	"regexp"
	"strings"
)

// parsedValueRules finds values that a parser repeats where the name of the secret stands elsewhere in
// its message.
func parsedValueRules() []rule {
	return []rule{
		{name: "told", of: "parsed", gate: []string{`parsing "`, `parsing \"`, "parsing '", "converting '", `converting "`, "value: '", "value: `", "value was: ", `value: "`, "invalid value ", "could not convert ", "cannot convert ", "unable to parse ", "unmarshal ", "decoding ", "incompatible type", "expected type", `got "`, "got '"}, find: findParsed},
		{
			name: "told", of: "header value", gate: []string{"header value", "format of value", "correct length or format", "variable is not set", "has no value"},
			expr: `(?i)(?:(?:invalid|illegal|bad) (?:character in )?header value:? \\*["']|format of value ["']|not the correct length or format: ["'` + "`" + `]|\bThe \\*["']|--set data: key ["'])([^\s"'` + "`" + `\\]{6,512})`, check: repeatedValue,
		},
		{
			name: "password", of: "cut", refuses: assigned, gate: cutNames(),
			expr: `(?:\.\.\.|…)\|?\\*["']?(?:` + strings.Join(cutParts, "|") + `)\\*["']\s*:\s*\\*["']([^"'` + "`" + `\\\n]+)`, check: notMaskedAt,
		},
		{
			name: "protocol", of: "arguments", gate: []string{"args beginning with"},
			expr: "(?i)(?:(?:command|for) ['\"`]AUTH['\"`](?: command)?,? with args beginning with: (?:['\"`][^'\"`\\n]{1,64}['\"`],? )?|args beginning with: [^\\n]{0,64}['\"`]AUTH['\"`],? ['\"`][^'\"`\\n]{1,64}['\"`],? )['\"`]([^'\"`\\n]+)", check: notMaskedAt,
		},
		{name: "password", of: "form data", refuses: assigned, gate: []string{"form-data; name="}, multiline: true, find: findFormData},
	}
}

var (
	// parsedValue matches a value that a parser did not accept.
	parsedValue = regexp.MustCompile(`(?i)\b(?:pars(?:e|ed|ing)|conver(?:t|ting)|value|got|received|unmarshal|decod(?:e|ing)|coerce|cast)\b[^"'` + "`" + `\n]{0,60}?(?:\\*"([^"\\\n]{1,256})\\*"|'([^'\n]{1,256})'|` + "`([^`\\n]{1,256})`)")

	// valueFor matches a value with the name of its setting behind it, and suppliedTo one with the path
	// of its member, as Kafka and io-ts write them.
	valueFor   = regexp.MustCompile(`(?i)\binvalid value (?:"([^"\n]{1,256})"|([^\s"']{1,256})) for (?:the )?(?:configuration|config|option|key|property|parameter|setting|field|environment variable|variable) ["']?([\w.-]{2,64})`)
	suppliedTo = regexp.MustCompile(`\bInvalid value "([^"\n]{1,256})" supplied to [^\n]{0,240}?/([\w-]{2,64}): `)
)

// findParsed takes the values under the names of secrets.
func findParsed(s string, f finding) finding {
	const near = 200
	f.work += 3 * len(s)
	name, named, done := "", 0, 0 // the last name of a secret, where it was found, what has been read
	for at := 0; at < len(s); {
		m := parsedValue.FindStringSubmatchIndex(s[at:])
		if m == nil {
			break
		}
		from, to := at+max(m[2], m[4], m[6]), at+max(m[3], m[5], m[7])
		if next := fieldNamed(s[max(done, from-near) : from-1]); next != "" {
			name, named = next, from
		}
		f.work += min(near, from-done)
		at, done = to, to
		if v := s[from:to]; fieldNamed("'"+v) == v {
			name, named = v, to
			continue // parse error on field "Password": the value follows
		}
		if typeWords[strings.ToLower(s[from:min(to, from+maxConnector)])] {
			continue // the value follows
		}
		if name != "" && from-named <= near && secretUnder(name, s[from:to]) {
			f.add(from, to)
		}
		name = ""
	}
	for _, m := range valueFor.FindAllStringSubmatchIndex(s, -1) {
		f = addNamed(s, m[6], m[7], max(m[2], m[4]), max(m[3], m[5]), f)
	}
	for _, m := range suppliedTo.FindAllStringSubmatchIndex(s, -1) {
		f = addNamed(s, m[4], m[5], m[2], m[3], f)
	}
	return f
}

// typeWords stand where a parser says which type it wants.
var typeWords = wordSet("string number integer int bool boolean float object array null undefined nil none true false date uuid")

// fieldNamed returns the name of a secret field in what a parser says before a value, or "". A word of
// the sentence is no field: "unexpected token" has none.
func fieldNamed(before string) string {
	for at := len(before); at > 0; {
		to := at
		for to > 0 && !fieldByte(before[to-1]) {
			to--
		}
		from := to
		for from > 0 && fieldByte(before[from-1]) {
			from--
		}
		if from == to {
			return ""
		}
		at = from
		word := strings.TrimLeft(before[from:to], "-")
		previous, _ := previousWord(before, max(0, from-16), from)
		marked := fieldWords[previous] || from > 0 && isQuote(before[from-1]) || strings.ContainsAny(word, "_.-") || strings.ToUpper(word) == word || strings.HasPrefix(before[to:], " must ") || strings.HasPrefix(before[to:], " should ")
		if marked && wordEnd(word, 0) > 0 && secretWord(word) != "" && secretUnder(word, likelySecret) {
			return word
		}
	}
	return ""
}

// likelySecret is a value that each name of a secret takes.
const likelySecret = "x9Kd72Lq0Zt4Bv8Rw3"

func fieldByte(b byte) bool { return alphanumeric(b) || strings.IndexByte("_.-", b) >= 0 }

// repeatedValue accepts a value that a machine made. The name of a variable is none.
func repeatedValue(s string, from, to int) bool {
	v := s[from:to]
	if strings.HasSuffix(s[:from-1], `The `) || strings.HasSuffix(s[:from-2], `The `) {
		return strings.Contains(s[to:min(len(s), to+32)], " variable is not set") && strings.ToUpper(v) != v && (scrambled(v) || changes(v) > 1)
	}
	if strings.HasSuffix(s[:from-1], "data: key ") {
		return scrambled(v) || chosenWord(v) && changes(v) > 1
	}
	return len(v) >= 16 && !plainShape(v) && machineMade(v, 2*shortHex)
}

// cutParts are the ends of names, as a parser shows them that cuts what it quotes.
var cutParts = strings.Fields("password assword ssword sword word passwd asswd sswd passphrase ssphrase secret ecret cret token oken ken api_key pi_key i_key apiKey piKey iKey _key")

func cutNames() (gate []string) {
	for _, part := range cutParts {
		for _, dots := range [...]string{"...", "...|", "…", "…|"} {
			gate = append(gate, dots+part, dots+`"`+part, dots+`\"`+part)
		}
	}
	return gate
}

// formData matches the head of a part of a form up to its value.
var formData = regexp.MustCompile(`form-data; name=\\*"([\w.\[\]-]{2,64})\\*"(?:\r?\n[^\n]{1,200}){0,4}(?:\r?\n){2,4}([^\r\n]{1,512})`)

func findFormData(s string, f finding) finding {
	f.work += len(s)
	for at := 0; at < len(s); {
		m := formData.FindStringSubmatchIndex(s[at:])
		if m == nil {
			break
		}
		if !strings.HasPrefix(s[at+m[4]:], "--") { // the boundary, if there is no value
			f = addNamed(s, at+m[2], at+m[3], at+m[4], at+m[5], f)
		}
		at += m[1]
	}
	return f
}
