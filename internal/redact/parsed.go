package redact

import (
	"regexp"
	"strings"
)

// parsedRules finds what parsers, validators and databases repeat of their input.
func parsedRules() []rule {
	return []rule{
		{name: "url", of: "port", gate: []string{"invalid port", "port could not be cast"}, multiline: true, find: findPorts},
		{name: "told", of: "row", gate: []string{"row contains ("}, find: findRows},
		{name: "told", of: "instance", gate: []string{"on instance["}, multiline: true, find: findInstances},
		{name: "told", of: "rejected before", gate: []string{`value "`, "value '", `value: "`, `value \"`, `value: \"`, "attemptedvalue: ", "for variable "}, find: findRejectedBefore},
		{name: "told", of: "key size", gate: []string{"is of size", "too short", "must be at least", "is too weak"}, find: findShortKeys},
		{name: "azure", of: "account", gate: []string{"account.key."}, expr: `(?i)\baccount\.key\.[\w.-]{1,128}["']?[ \t]*[=:]?[ \t]*["']?([A-Za-z0-9+/]{40,}={0,2})`},
		{name: "password", of: "ldif", refuses: assigned, gate: []string{"pwd:: ", "password:: "}, expr: `(?i)(?:pwd|password):: ([A-Za-z0-9+/]{8,}={0,2})`},
		{name: "secret", of: "ansible", refuses: assigned, gate: []string{"$ANSIBLE_VAULT;"}, multiline: true, expr: `\$ANSIBLE_VAULT;[\d.]{1,8};\w{1,16}(?:;[\w.-]{1,64})?(?:\s|\\n)+([0-9a-f]{20,}(?:(?:\s|\\n)+[0-9]{4,})*)`},
	}
}

// badPort matches what the parser of an address takes for a port.
var badPort = regexp.MustCompile(`(?i)\b(?:invalid port:? \\*["']:?([^"'\\\s]{1,128})\\*["']|port could not be cast to integer value as \\*["']([^"'\\]{1,128})\\*["'])`)

// findPorts takes what is called a port and is the front half of a password, because a slash in the
// password ends the host: postgres://ada:X/Y@db.
func findPorts(s string, f finding) finding {
	const near = 1 << 10
	f.work += len(s)
	for at := 0; at < len(s); {
		m := badPort.FindStringSubmatchIndex(s[at:])
		if m == nil {
			break
		}
		from, to := at+max(m[2], m[4]), at+max(m[3], m[5])
		v, before, behind := s[from:to], s[max(at, from-near):from], s[to:min(len(s), to+near/8)]
		f.work += len(before) + len(behind) + to - from
		at += m[1]
		if !masked(v) && groupEnd(v, 0) != len(v) && (chosenWord(v) || scrambled(v) || frontHalf(before, v) || frontHalf(behind, v)) {
			f.add(from, to)
		}
	}
	return f
}

// frontHalf reports whether an address has v in front of a sign that ends its host, and an @ behind.
func frontHalf(s, v string) bool {
	for _, sign := range [...]string{"/", "?", "#"} {
		if _, behind, found := strings.Cut(s, ":"+v+sign); found {
			word, _, _ := strings.Cut(behind, " ")
			return strings.Contains(word, "@")
		}
	}
	return false
}

// findRows takes the values of a row that a database did not accept and that look like a secret. The
// names of their columns are not known. Numbers, dates, words and ids are left.
func findRows(s string, f finding) finding {
	const before = "row contains ("
	f.work += len(s)
	for at := 0; at < len(s); {
		begin := strings.Index(s[at:], before)
		if begin < 0 {
			break
		}
		begin += at + len(before)
		end := listEnd(s, begin-1)
		f.work += 2 * (end - begin)
		for _, item := range split(s, begin, end) {
			if v := unquoted(s, item); v.from < v.to && rowSecret(s[v.from:v.to]) {
				f.add(v.from, v.to)
			}
		}
		at = end
	}
	return f
}

// rowSecret reports whether a value of a row looks like a password, a key or a hash.
func rowSecret(v string) bool {
	return !strings.ContainsAny(v, " {[<@") && !uuidShape.MatchString(v) && !masked(v) && looksSecret(v) && (changes(v) > 1 || signed(v) || scrambled(v))
}

// instance matches the end of what Python's jsonschema says of a value.
var instance = regexp.MustCompile(`On instance((?:\[[^\]\n]{1,64}\]){1,8}):\s{1,80}(['"])`)

// findInstances takes the value that a schema does not accept, also where it stands before.
func findInstances(s string, f finding) finding {
	const near = 2 << 10
	f.work += len(s)
	done := 0
	for at := 0; at < len(s); {
		m := instance.FindStringSubmatchIndex(s[at:])
		if m == nil {
			break
		}
		path := s[at+m[2] : at+m[3]]
		quote := at + m[4]
		end := quoteEnd(s[:min(len(s), quote+near)], quote, 0)
		value := s[quote+1 : end]
		at = max(at+m[1], end)
		name := secretWord(strings.Trim(path[strings.LastIndexByte(path, '[')+1:], `]'"`))
		if name == "" || !secretUnder(name, value) {
			continue
		}
		f.add(quote+1, end)
		before := s[max(done, quote-near):quote]
		f.work += len(before) + end - quote
		if first := strings.Index(before, s[quote:min(len(s), end+1)]); first >= 0 {
			from := quote - len(before) + first + 1
			f.add(from, from+len(value))
		}
		done = end
	}
	return f
}

// rejectedBefore matches a value with the name of its field behind it; rejectedBehind and ofVariable
// match a value with the name before, as FluentValidation and Terraform write them.
var (
	rejectedBefore = regexp.MustCompile(`(?i)\bvalue:? \\*["']([^"'\\\n]{1,256})\\*["'](?: \(type \w{1,32}\))?(?::| at path| for path| in field| for field| for property| for key| for parameter| of property| of field| of parameter| of key| of option| of setting) \\*["'` + "`" + `]?([\w.\[\]/-]{2,64})`)
	rejectedBehind = regexp.MustCompile(`(?i)-- ([\w.\[\]]{2,64}): [^\n]{0,240}?\bAttemptedValue: (\S{1,128})`)
	ofVariable     = regexp.MustCompile(`\bfor variable \\*"([\w.-]{2,64})\\*"[^\n"]{0,80}: \\*"([^"\\\n]{1,256})`)
)

func findRejectedBefore(s string, f finding) finding {
	f.work += len(s)
	for at := 0; at < len(s); {
		m := rejectedBefore.FindStringSubmatchIndex(s[at:])
		if m == nil {
			break
		}
		f = addNamed(s, at+m[4], at+m[5], at+m[2], at+m[3], f)
		at += m[1]
	}
	f = findBehind(s, rejectedBehind, f)
	return findBehind(s, ofVariable, f)
}

// findBehind takes the values that an expression matches with the names before them.
func findBehind(s string, re *regexp.Regexp, f finding) finding {
	for at := 0; at < len(s); {
		m := re.FindStringSubmatchIndex(s[at:])
		if m == nil {
			break
		}
		f = addNamed(s, at+m[2], at+m[3], at+m[4], at+m[5], f)
		at += m[1]
	}
	return f
}

// addNamed adds the value s[from:to] if it is a secret under the name s[name:end].
func addNamed(s string, name, end, from, to int, f finding) finding {
	if word := secretWord(s[name:end]); word != "" && secretUnder(word, s[from:to]) {
		f.add(from, to)
	}
	return f
}

// shortKey matches a key in quotes that is too short for its algorithm.
var shortKey = regexp.MustCompile(`(?i)\b(?:key|secret|secret_key)s? (?:\\*"([^"\\\n]{4,256})\\*"|'([^'\n]{4,256})'),? (?:is of size|(?:is |was )?(?:too short|too weak)|must be at least)`)

// findShortKeys takes keys that are too short.
func findShortKeys(s string, f finding) finding {
	f.work += len(s)
	for at := 0; at < len(s); {
		m := shortKey.FindStringSubmatchIndex(s[at:])
		if m == nil {
			break
		}
		from, to := at+max(m[2], m[4]), at+max(m[3], m[5])
		if v := s[from:to]; !masked(v) && !plainShape(v) && !identifierWord(v) && (looselyMade(v) || looksSecret(v) || signed(v)) {
			f.add(from, to)
		}
		at += m[1]
	}
	return f
}
