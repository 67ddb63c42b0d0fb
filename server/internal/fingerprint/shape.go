package fingerprint

import "strings"

// quoted replaces what stands in quotes by <text>. An apostrophe opens a quotation only
// where no word goes on with it.
func quoted(s string) string {
	if !strings.ContainsAny(s, "\"`'") {
		return s
	}
	return apostrophes(pairs(s))
}

// pairs replaces what stands in double quotes and in backticks.
func pairs(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		if c := s[i]; c == '"' || c == '`' {
			if end := strings.IndexByte(s[i+1:], c); end >= 0 {
				b.WriteString("<text>")
				i += end + 2
				continue
			}
		}
		b.WriteByte(s[i])
		i++
	}
	return b.String()
}

// apostrophes replaces what stands in single quotes.
func apostrophes(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	used := -1 // the last byte that has opened a quotation, or been part of one
	for i := 0; i < len(s); {
		if s[i] == '\'' && (i == 0 || i-1 > used && strings.IndexByte(" \t\n\f\r(=:,[", s[i-1]) >= 0) {
			if end := strings.IndexByte(s[i+1:], '\''); end >= 0 {
				b.WriteString("<text>")
				i += end + 2
				used = i - 1
				continue
			}
		}
		b.WriteByte(s[i])
		i++
	}
	return b.String()
}

// shape replaces ids, hexadecimal and decimal numbers, and runs of white space.
func shape(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case space(c):
			for i < len(s) && space(s[i]) {
				i++
			}
			b.WriteByte(' ')
		case wordly(c):
			i = word(&b, s, i)
		default:
			b.WriteByte(c)
			i++
		}
	}
	return b.String()
}

// word replaces what begins with a word at i, and returns where it ends.
func word(b *strings.Builder, s string, i int) int {
	end := i
	digits, letters, others := 0, 0, 0
	for ; end < len(s) && wordly(s[end]); end++ {
		switch c := s[end]; {
		case digit(c):
			digits++
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			letters++
		default:
			others++
		}
	}
	switch w := s[i:end]; {
	case isUUID(s, i):
		b.WriteString("<id>")
		return i + uuidLength
	case isULID(w):
		b.WriteString("<id>")
	case len(w) > 2 && w[0] == '0' && w[1]|0x20 == 'x' && others == 1, others == 0 && digits > 0 && letters > 0:
		b.WriteString("<hex>")
	default:
		return plain(b, s, i, end)
	}
	return end
}

// plain writes a word with its numbers replaced. A number may go on behind the word, as
// a time of day does, unless another kind of word begins there.
func plain(b *strings.Builder, s string, i, end int) int {
	for i < end {
		if !digit(s[i]) {
			b.WriteByte(s[i])
			i++
			continue
		}
		b.WriteString("<n>")
		for i < len(s) {
			switch {
			case digit(s[i]):
				i++
				continue
			case i+1 < len(s) && digit(s[i+1]) && strings.IndexByte(".,:/_-", s[i]) >= 0 && (s[i] == '_' || decimal(s, i+1)):
				i += 2
				continue
			}
			break
		}
	}
	return max(i, end)
}

// decimal reports whether the word at i is left as it is but for its numbers.
func decimal(s string, i int) bool {
	end, others, letters := i, 0, 0
	for ; end < len(s) && wordly(s[end]); end++ {
		switch c := s[end]; {
		case digit(c):
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			letters++
		default:
			others++
		}
	}
	w := s[i:end]
	return !isUUID(s, i) && !isULID(w) && (others > 0 || letters == 0) && (others != 1 || len(w) < 3 || w[0] != '0' || w[1]|0x20 != 'x')
}

const uuidLength = 36

// isUUID reports whether a UUID stands at i, where a word begins.
func isUUID(s string, i int) bool {
	if len(s) < i+uuidLength || len(s) > i+uuidLength && wordly(s[i+uuidLength]) {
		return false
	}
	for k := range uuidLength {
		c := s[i+k]
		if k == 8 || k == 13 || k == 18 || k == 23 {
			if c != '-' {
				return false
			}
		} else if !digit(c) && (c|0x20 < 'a' || c|0x20 > 'f') {
			return false
		}
	}
	return true
}

// isULID reports whether a word is a ULID, which is written in upper case.
func isULID(w string) bool {
	if len(w) != 26 || w[0] < '0' || w[0] > '7' {
		return false
	}
	for k := 1; k < len(w); k++ {
		if c := w[k]; !digit(c) && (c < 'A' || c > 'Z' || c == 'I' || c == 'L' || c == 'O' || c == 'U') {
			return false
		}
	}
	return true
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

func space(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' && c != '\v' }

func wordly(c byte) bool { return digit(c) || c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' }
