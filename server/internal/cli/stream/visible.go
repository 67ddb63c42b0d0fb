package stream

import (
	"strings"
	"unicode"
)

// Steers reports whether a character is not seen but may change what a terminal shows.
func Steers(r rune) bool { return !unicode.IsGraphic(r) && r != '\n' && r != '\t' }

// Visible replaces the characters that steer a terminal, in a text of any number of lines.
func Visible(s string) string {
	return strings.Map(func(r rune) rune {
		if Steers(r) {
			return ' '
		}
		return r
	}, s)
}
