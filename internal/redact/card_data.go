package redact

import (
	"regexp"
	"strings"
)

// cardDataRules finds what a payment terminal and a form send with the number of a card.
func cardDataRules() []rule {
	return []rule{
		{
			name: "card", of: "code", gate: []string{"security code", "security value", "verification value", "card code"},
			expr: `(?i)\b(?:(?:card )?security (?:code|value|number)|(?:card )?verification value|card code)(?: is| was)?[ \t:=#("']{1,3}(\d{3,4})\b`, check: pinNumber,
		},
		{
			// The number and the second track as tags of EMV: tag, length, value.
			name: "card", of: "emv", gate: []string{"0a00000000", "0a0a000000", "000000000000d000", "0000000000000d000", "0000000000000000d000"},
			expr: `(?i)5a(?:08([2-6]\d{15})|07([2-6]\d{13})|0a([2-6]\d{15,18}f{0,4}))|57(?:1[0-3]|0[9a-f])([2-6]\d{12,18}d\d{7,20}f?)`, check: taggedCard,
		},
	}
}

// taggedCard wants the number of a card at the beginning of the value of a tag.
func taggedCard(s string, from, to int) bool {
	return cardNumber(s[from:groupEnd(s[:to], from)])
}

// beyondCard matches what a track has behind the number of the card, and an expiry date with a
// security code.
var beyondCard = regexp.MustCompile(`^(?:(?:[=D]|%3[dD])\d{7,}[^\s?"'<>&,;]*|(?:\^|%5[eE])[^^\n"?%]{2,30}(?:\^|%5[eE])\d{7,}[^\s?"'<>&,;]*|` +
	`[ |:;,/]{1,2}(?:0[1-9]|1[0-2])[/|:;, -]?(?:20)?\d\d[ |:;,/]{1,2}\d{3,4}\b)`)

// dataEnd returns where the data ends that follows the number of a card up to i, or i.
func dataEnd(s string, i int) int {
	if i == len(s) || strings.IndexByte("=D^% |:;,/", s[i]) < 0 {
		return i
	}
	return i + len(beyondCard.FindString(s[i:]))
}

// listSeparators separate the groups of a card where a program took it for a list or an address. They
// also separate numbers of four digits that are no card.
const listSeparators = ":,|"

// listedCard reports whether the four groups between from and to, with a byte between them, are a card
// and no part of a longer list, and no numbers in order.
func listedCard(s string, from, to int) bool {
	const length = 4*4 + 3
	b := s[from+4]
	if to-from != length || from > 0 && s[from-1] == b || to+1 < len(s) && s[to] == b && alphanumeric(s[to+1]) {
		return false
	}
	rising, falling := true, true
	for i := from; i+5 < to; i += 5 {
		rising = rising && s[i:i+4] < s[i+5:i+9]
		falling = falling && s[i:i+4] > s[i+5:i+9]
	}
	return !rising && !falling
}

// halvesEnd returns where the card ends that is written as two halves of eight digits, or 0.
func halvesEnd(s string, i, group int) int {
	const half = 8
	end := group + 1 + half
	if group-i != half || end > len(s) || s[group] != '-' || groupEnd(s, group+1) != end || !ends(s, end) || !cardNumber(s[i:group]+s[group+1:end]) {
		return 0
	}
	return end
}
