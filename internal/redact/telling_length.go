package redact

import "strings"

// valueLength returns the length of the value that s begins with: up to a blank, a quote,
// a bracket or a separator of fields, without the punctuation of the sentence.
func valueLength(s string) int {
	end := 0
	for end < len(s) && strings.IndexByte(" \t\r\n\"'`<>,;&()[]{}|", s[end]) < 0 {
		if s[end] == '\\' && end+1 < len(s) && strings.IndexByte(`nrt"'u\`, s[end+1]) >= 0 {
			break
		}
		end++
	}
	return len(strings.TrimRight(s[:end], ".!?:"))
}

// opensEntity reports whether an escape of HTML begins at i.
func opensEntity(s string, i int) bool {
	if s[i] != '&' {
		return false
	}
	_, width := entityAfter(s[i+1:])
	return width > 0
}

// signedLength extends a value to the next blank: a generated password may have commas,
// semicolons and angle brackets in it. It returns length if other fields seem to follow.
func signedLength(s string, length int) int {
	end := length
	for end < len(s) && strings.IndexByte(" \t\r\n", s[end]) < 0 && !opensEntity(s, end) {
		if strings.IndexByte("\"'`()[]{}=\\|", s[end]) >= 0 || end > 64 {
			return length
		}
		end++
	}
	return max(length, len(strings.TrimRight(s[:end], ".,;:!?>")))
}
