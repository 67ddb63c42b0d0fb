package redacttest

import (
	"slices"
	"strings"
)

// traceLength is how many characters of a secret say that it has leaked.
const traceLength = 12

// shortestTrace is the least that is looked for: less is anywhere.
const shortestTrace = 8

// Traces lists what must not be found of a sample: every twelve characters of its
// secret in a row, plain and in its disguise; all of a shorter one, with what stood
// before it if it is very short. Characters that JSON would write otherwise are not
// in them, except where a disguise brings them along: that is there as it is, and
// as JSON writes it.
func (s Sample) Traces() []string {
	if s.plain == nil {
		return s.windows()
	}
	traces := s.plain.windows()
	switch s.disguise {
	case "base64", "base64url": // is taken whole
		return append(traces, Sample{Text: s.Text, Secret: s.Text}.windows()...)
	case "hex":
		for i := 0; i+2*traceLength <= len(s.Text); i++ {
			traces = append(traces, s.Text[i:i+2*traceLength])
		}
		return traces
	}
	hide := Disguises()[s.disguise]
	escape := strings.NewReplacer(`\`, `\\`, "&", `\u0026`)
	for _, plain := range slices.Clone(traces) {
		if hidden := hide(plain); hidden != plain {
			traces = append(traces, hidden)
			if written := escape.Replace(hidden); written != hidden {
				traces = append(traces, written)
			}
		}
	}
	return traces
}

// windows returns every traceLength characters in a row of each part of the
// secret, or the longest part if none is that long.
func (s Sample) windows() []string {
	parts := strings.FieldsFunc(s.Secret, func(r rune) bool { return strings.ContainsRune("\"\\\n\r<>&", r) })
	var list []string
	for _, part := range parts {
		runes := []rune(part)
		for i := 0; i+traceLength <= len(runes); i++ {
			list = append(list, string(runes[i:i+traceLength]))
		}
	}
	if list != nil {
		return list
	}
	longest := slices.MaxFunc(parts, func(a, b string) int { return len(a) - len(b) })
	if from := strings.LastIndex(s.Text, longest); len(longest) < shortestTrace {
		longest = s.Text[max(0, from-shortestTrace):from] + longest
	}
	return []string{longest}
}
