package redact

import (
	"regexp"
	"strings"
)

var (
	// tagNames are what stands before the name of a value in XML.
	tagNames = newLiteralGate("<name>", "<key>", "<parameterkey>", "<parametername>", " name=", " key=")

	// taggedRest matches what stands between a name and its value: <name>X</name> <value>,
	// <field name="X"><value>.
	taggedRest = regexp.MustCompile(`(?i)^(?:\s{0,40}</\w{1,32}>|\\*["'][^<>]{0,80}>)\s{0,80}(?:<(?:description|type|final|source)>[^<]{0,240}</\w{1,32}>\s{0,80})?` +
		`<(?:value|string|data|parametervalue)(?:\s[^<>]{0,80})?>\s{0,80}(?:<string>)?`)

	// taggedBefore matches a value whose name follows it.
	taggedBefore = regexp.MustCompile(`(?i)<(?:value|parametervalue)>([^<>]{1,256})</\w{1,32}>\s{0,40}$`)
)

// findTagged takes the values of XML whose names stand in a tag of their own.
func findTagged(s string, f finding) finding {
	const before, behind = 384, 1 << 10
	f.work += len(s)
	done := 0
	for at := 0; at < len(s); {
		from, to := tagNames.next(s, at)
		if from < 0 {
			break
		}
		at = to
		name := taggedText(s, to)
		word := secretWord(s[name.from:name.to])
		if word == "" {
			continue
		}
		rest := s[name.to:min(len(s), name.to+behind)]
		if m := taggedRest.FindStringIndex(rest); m != nil {
			v := taggedExtent(s, name.to+m[1])
			f.work += v.to - name.to
			if v.from < v.to && secretUnder(word, s[v.from:v.to]) {
				f.add(v.from, v.to)
			}
			at = name.to + m[1]
		}
		least := max(done, from-before)
		f.work += from - least
		if m := taggedBefore.FindStringSubmatchIndex(s[least:from]); len(m) > 0 && secretUnder(word, s[least+m[2]:least+m[3]]) {
			f.add(least+m[2], least+m[3])
		}
		done = at
	}
	return f
}

// taggedText returns the name that begins at i, behind blanks and a quote.
func taggedText(s string, i int) extent {
	const longest = 128
	for i < len(s) && strings.IndexByte(" \t\r\n\\\"'", s[i]) >= 0 {
		i++
	}
	to := i
	for to < min(len(s), i+longest) && strings.IndexByte(" \t\r\n<>\\\"'", s[to]) < 0 {
		to++
	}
	return extent{from: i, to: to}
}

// taggedExtent returns the text of a tag that begins at i, up to the tag's end.
func taggedExtent(s string, i int) extent {
	const longest = 4 << 10
	rest := s[i:min(len(s), i+longest)]
	if strings.HasPrefix(rest, "<![CDATA[") {
		return within(s[:i+len(rest)], i+len("<![CDATA["), "]]")
	}
	end := strings.IndexByte(rest, '<')
	if end < 0 {
		return extent{}
	}
	return trimmed(s, i, i+end)
}
