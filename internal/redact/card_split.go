package redact

import (
	"regexp"
	"strings"
)

// splitCardRule finds the number of a card that a line break splits.
func splitCardRule() rule {
	return rule{name: "card", of: "split", gate: []string{"0000 0000", "0000-0000", "00000000", "0000 "}, multiline: true, find: findSplitCards}
}

var (
	// splitBefore matches the front of a number at the end of a line: in groups, or in one piece behind
	// a word for a card. splitBehind matches the rest, at the beginning of the next line.
	splitBefore = regexp.MustCompile(`(?:(?i:card|pan|number)[ :=#"']{1,3}(\d{8})|(?:^|[^\d -] ?)((?:\d{4}[ -]){0,2}\d{4}))[ -]?\r?$`)
	splitBehind = regexp.MustCompile(`^[ \t>#|*]{0,8}(\d{4}(?:[ -]?\d{4}){0,2})(?:[^\w-]|$)`)
)

func findSplitCards(s string, f finding) finding {
	const near, digits = 40, 16
	f.work += len(s)
	for at := 0; at < len(s); {
		n := strings.IndexByte(s[at:], '\n')
		if n < 0 {
			break
		}
		begin, line := max(at, at+n-near), at+n
		at += n + 1
		trimmed := strings.TrimRight(s[begin:line], " -\r")
		if trimmed == "" || !digit(trimmed[len(trimmed)-1]) {
			continue
		}
		behind := splitBehind.FindStringSubmatchIndex(s[at:min(len(s), at+near)])
		before := splitBefore.FindStringSubmatchIndex(s[begin:line])
		f.work += 2 * near
		if before == nil || behind == nil {
			continue
		}
		front, rest := s[begin+max(before[2], before[4]):line], s[at+behind[2]:at+behind[3]]
		number := onlyDigits.Replace(front + rest)
		if whole := before[2] >= 0 || strings.ContainsAny(strings.TrimSpace(front)+rest, " -"); whole && len(number) == digits && cardNumber(number) {
			f.add(line-len(front), at+behind[3])
		}
	}
	return f
}

// onlyDigits removes what stands between groups of digits.
var onlyDigits = strings.NewReplacer(" ", "", "-", "", "\r", "")
