package redact

import (
	"encoding/json"
	"regexp"
	"strings"
)

var (
	// noSecret matches values that are no secrets: nothing, masks, punctuation, and
	// the parameters of SQL, formats and templates.
	noSecret = regexp.MustCompile(`(?i)^(?:<?nil>?|null|none|true|false|yes|no|undefined|empty|required|optional|mandatory|missing|unset|blank|invalid|expired|mismatch|too_(?:short|long|weak|common)|[<(\[]?(?:redacted|filtered|hidden|masked|removed|scrubbed|protected|sensitive value|sensitive)[>)\]]?|(?:(?:bearer|basic|token|digest|apikey|key|bot) )?(?:\w{1,16}\()?\*+\)?|[^A-Za-z0-9]{1,3}|` +
		`\$\d{1,3}|%[+#]?[svqdx]|%!\w\((?:<?nil>?\)?)?|%\(\w*(?:\)s?)?|\w{1,24}\((?:\?|\$\d{1,3}|%s)|(?:(?:bearer|basic|token) )?\$?\{+ *[\w.]*(?: *\| *[a-z]\w{0,15})*(?: *\}+)?|\$\{\[redacted:(?:password|secret)\]?\}?)$`)

	// parameter matches a named parameter of SQL, which stands apart: password = :name.
	parameter = regexp.MustCompile(`^[:@](?:[A-Za-z_]+|p?\d{1,3})$`)

	// digitsOnly matches counts: tokens=512, tokens: [1, 2].
	digitsOnly = regexp.MustCompile(`^[\d\s,.]*$`)
)

func (e extent) harmless(s string) bool {
	before, value := s[:e.from], s[e.from:e.to]
	named := e.bare && strings.HasSuffix(before, "= ") && parameter.MatchString(value)
	return named || noSecret.MatchString(value) || workingDirectory(before, value) || assemblyToken(before, value) || e.reference(s)
}

// publicKeyToken matches the hash in the name of a .NET assembly.
var publicKeyToken = regexp.MustCompile(`^[0-9a-fA-F]{16}$`)

// assemblyToken tells the public part of the name of a .NET assembly, which stands in its stack traces,
// from a token.
func assemblyToken(before, value string) bool {
	const name = "publickeytoken"
	before = strings.TrimRight(before, "\"'= ")
	return publicKeyToken.MatchString(value) && len(before) >= len(name) && strings.EqualFold(before[len(before)-len(name):], name)
}

// verdict reports whether a value in quotes or brackets is what a validator says of it.
func (e extent) verdict(s string) bool {
	value := s[e.from:e.to]
	return !e.bare && (verdictOf(value) || verdictsIn(value))
}

var (
	// verdictBegins and verdictSays match how a validator begins a sentence about a value, and what it
	// says of it.
	verdictBegins = regexp.MustCompile(`(?i)^(?:this|path|is|are|must|string|enter|please|the|ensure|value|invalid|password|pin|token|can.?t|cannot|should|required|field|may|your|has|have|needs|too|not|does|minimum|expected|missing|it|make sure)\b`)
	verdictSays   = regexp.MustCompile(`(?i)\b(?:(?:is|are|was|were|be) (?:required|invalid|missing|empty|blank|not|too|entirely|already|incorrect|expired|wrong|at least|null)|must (?:be|have|contain|match|not|include)|should (?:be|have|contain|not)|can.?t be|cannot be|may not|too (?:short|long|common|weak|similar|simple)|at (?:least|most) \d+|(?:enter|not|provide) a valid|not match|field required|is required|minimum (?:is|length)|missing)\b`)

	// verdictWord matches the verdict of a validator in one word.
	verdictWord = regexp.MustCompile(`(?i)^(?:required|optional|mandatory|missing|unset|blank|invalid|expired|mismatch|(?:too|invalid|missing|not)_[a-z_]{2,24})$`)

	// schemaLimits matches members that only say how long a value may be.
	schemaLimits = regexp.MustCompile(`^\{?\s*(?:\\?"(?:min[Ll]ength|max[Ll]ength|minimum|maximum|required|nullable|writeOnly|deprecated)\\?"\s*:\s*(?:\d{1,9}|true|false)\s*,?\s*)+\}?$`)

	// schemaType and schemaMore match the members of the description of a value; schemaValue matches a
	// member that has one.
	schemaType  = regexp.MustCompile(`"type\\?"\s*:\s*\\?"(?:string|integer|number|boolean|object|array)\\?"`)
	schemaMore  = regexp.MustCompile(`"(?:min[Ll]ength|max[Ll]ength|description|format|pattern|title|required|writeOnly)\\?"`)
	schemaValue = regexp.MustCompile(`"(?:default|examples?|value|const|enum)\\?"`)
)

// maxVerdictText is how long what a validator says of a value is at most.
const maxVerdictText = 1 << 10

// verdictOf reports whether a value is not the secret but what a validator says of it: "is too short
// (minimum is 12 characters)".
func verdictOf(v string) bool {
	if len(v) > maxVerdictText || strings.Count(v, " ") < 1 || !verdictBegins.MatchString(v) || !verdictSays.MatchString(v) {
		return false
	}
	for word := range strings.FieldsSeq(v) {
		if word = strings.Trim(word, ".,;:!?()\"'`"); word != "" && word != "character(s" && !plainShape(word) && (chosenWord(word) || scrambled(word)) {
			return false
		}
	}
	return true
}

// verdictsIn reports whether what stands in brackets is what a validator says, or the description of
// a value: {"_errors": ["Required"]}, {"type": "string", "minLength": 12}.
func verdictsIn(v string) bool {
	if len(v) > maxVerdictText || strings.IndexByte(v, '"') < 0 {
		return false
	}
	v = strings.ReplaceAll(v, `\"`, `"`)
	if schemaLimits.MatchString(v) || schemaType.MatchString(v) && schemaMore.MatchString(v) && !schemaValue.MatchString(v) {
		return true
	}
	parts, verdicts := strings.Split(v, `"`), 0
	for i := 1; i+1 < len(parts); i += 2 {
		switch {
		case strings.HasPrefix(strings.TrimLeft(parts[i+1], " "), ":"):
		case !verdictOf(parts[i]) && !verdictWord.MatchString(parts[i]):
			return false
		default:
			verdicts++
		}
	}
	return verdicts > 0
}

// verdictValue reports whether a value of JSON is what a validator says.
func verdictValue(v any) bool {
	switch typed := v.(type) {
	case string:
		return verdictOf(typed)
	case []any:
		for _, item := range typed {
			if !verdictValue(item) {
				return false
			}
		}
		return len(typed) > 0
	case map[string]any:
		for key, item := range typed {
			if !verdictValue(item) && !schemaLimit(key, item) {
				return false
			}
		}
		return len(typed) > 0
	}
	return false
}

// limitKeys are the members of schemaLimits.
var limitKeys = wordSet("minLength maxLength minlength maxlength minimum maximum required nullable writeOnly deprecated")

// schemaLimit reports whether a member of an object only says how long a value may be.
func schemaLimit(key string, item any) bool {
	switch item.(type) {
	case bool, float64, json.Number:
		return limitKeys[key]
	}
	return false
}
