package redact

import (
	"regexp"
	"strings"
)

// rejectedRule finds the values that validators print with the name of their field, where more
// than a few words stand between the two.
func rejectedRule() rule {
	return rule{name: "told", of: "rejected", gate: []string{"input_value=", "rejected value [", `value: "`, "value: '", "properties under ", "property: "}, multiline: true, find: findRejected}
}

// rejected matches the name of a field up to its value, as pydantic and Spring write them.
var rejected = regexp.MustCompile(`(?i)(?:\b([\w.\[\]-]{2,64})\r?\n[ \t]+[^\n]{1,240}\binput_value=|\bon field '([\w.\[\]-]{2,64})': rejected value |` +
	`\b(?:under|field|property|setting|option) ['"]([\w.\[\]-]{2,64})['"][^\n"']{0,80}\bvalue: |\bproperty: ([\w.\[\]-]{2,64})\s{1,16}value: )`)

func findRejected(s string, f finding) finding {
	f.work += len(s)
	for at := 0; at < len(s); {
		m := rejected.FindStringSubmatchIndex(s[at:])
		if m == nil {
			break
		}
		name := ""
		for g := 2; g < len(m); g += 2 {
			if m[g] >= 0 {
				name = s[at+m[g] : at+m[g+1]]
			}
		}
		at += m[1]
		if !secretColumnName(strings.ReplaceAll(name, "-", "_")) {
			continue
		}
		if v := rejectedValue(s, at); v.from < v.to && !masked(s[v.from:v.to]) && !strings.HasPrefix(s[v.from:], opening) {
			f.add(v.from, v.to)
			f.work += v.to - v.from
			at = v.to
		}
	}
	return f
}

// rejectedValue returns the value that begins at i: a quotation, what stands in brackets, or a
// word.
func rejectedValue(s string, i int) extent {
	line, _, _ := strings.Cut(s[i:min(len(s), i+maxList)], "\n")
	text := s[:i+len(line)]
	switch {
	case line == "":
		return extent{}
	case isQuote(line[0]):
		return extent{from: i + 1, to: quoteEnd(text, i, 0)}
	case line[0] == '{': // all of the input: its members have names
		return extent{}
	case line[0] == '[':
		if end := strings.Index(line, "]; codes"); end >= 0 {
			return extent{from: i + 1, to: i + end}
		}
		return extent{from: i + 1, to: bracketEnd(text, i)}
	}
	end := strings.IndexAny(line, ", ]")
	if end < 0 {
		end = len(line)
	}
	return extent{from: i, to: i + end}
}
