package redact

import (
	"regexp"
	"strings"
)

// echoedRule finds the values that databases and structs print next to the name of their column or
// variable.
func echoedRule() rule {
	return rule{name: "told", of: "echoed", gate: []string{"for key ", "for column ", "column '", `column "`, "column `", "{name:"}, find: findEchoed}
}

var (
	// duplicateEntry matches a value before its key; columnEcho and envVar match one behind its name.
	duplicateEntry = regexp.MustCompile(`(?i)\b(?:entry|value):? ['"]([^'"\n]{1,256})['"] for (?:key|column) ['"` + "`" + `]?([\w.$-]{2,128})`)
	columnEcho     = regexp.MustCompile(`(?i)\bcolumn ['"` + "`" + `]([\w.-]{2,64})['"` + "`" + `][^\n'":]{0,60}(?::|, value:?|\. truncated value:) ['"]([^'"\n]{1,256})['"]`)
	envVar         = regexp.MustCompile(`\{Name:([\w.-]{2,64}),Value:([^,}\n]{1,256})[,}]`)

	// indexSuffix matches what the name of an index has behind that of its column.
	indexSuffix = regexp.MustCompile(`(?i)_(?:unique|uniq|uindex|idx|index|uk|key)$`)
)

func findEchoed(s string, f finding) finding {
	f.work += len(s)
	for at := 0; at < len(s); {
		m := duplicateEntry.FindStringSubmatchIndex(s[at:])
		if m == nil {
			break
		}
		from, to := at+m[2], at+m[3]
		name := strings.TrimRight(s[at+m[4]:at+m[5]], ".-$")
		name = name[strings.LastIndexByte(name, '.')+1:]
		if !secretColumnName(name) {
			name = indexSuffix.ReplaceAllString(name, "")
		}
		if secretColumnName(name) && echoedSecret(s[from:to]) {
			f.add(from, to)
		}
		f.work += m[1]
		at += m[1]
	}
	f = findLikely(s, columnEcho, f)
	return findBehind(s, envVar, f)
}

// findLikely takes the values that an expression matches with their names, if they look like secrets.
func findLikely(s string, re *regexp.Regexp, f finding) finding {
	for at := 0; at < len(s); {
		m := re.FindStringSubmatchIndex(s[at:])
		if m == nil {
			break
		}
		if name, from, to := s[at+m[2]:at+m[3]], at+m[4], at+m[5]; secretColumnName(name[strings.LastIndexByte(name, '.')+1:]) && echoedSecret(s[from:to]) {
			f.add(from, to)
		}
		f.work += m[1]
		at += m[1]
	}
	return f
}

// echoedSecret reports whether the value of a secret column looks like one.
func echoedSecret(v string) bool {
	return !masked(v) && looksSecret(v)
}
