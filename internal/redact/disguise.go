package redact

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// view is a text with one layer of disguise taken off, and where each of its bytes
// stood before.
type view struct {
	text string
	at   []int32 // one more than there are bytes: the last is the end
}

// original returns where a part of the view stands in the text it was made of.
func (v *view) original(from, to int) (int, int) {
	if from == to {
		return int(v.at[from]), int(v.at[from])
	}
	return int(v.at[from]), int(v.at[to])
}

// plainText reports whether a text cannot be disguised: it has neither an escape nor a
// character beyond ASCII. It is what every clean text pays.
func plainText(s string) bool {
	return ascii(s) && strings.IndexByte(s, '%') < 0 && strings.IndexByte(s, '\\') < 0 && strings.IndexByte(s, escape) < 0 && !hasEntity(s)
}

// hasEntity reports whether a text has an escape of HTML.
func hasEntity(s string) bool {
	for {
		at := strings.IndexByte(s, '&')
		if at < 0 {
			return false
		}
		s = s[at+1:]
		if _, width := entityAfter(s); width > 0 {
			return true
		}
	}
}

// ascii looks at eight bytes at a time.
func ascii(s string) bool {
	for ; len(s) >= 8; s = s[8:] {
		first := uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24
		second := uint32(s[4]) | uint32(s[5])<<8 | uint32(s[6])<<16 | uint32(s[7])<<24
		if (first|second)&0x80808080 != 0 {
			return false
		}
	}
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// decodeLayer takes escapes off (%40, \u0040, \x40, &#64;, &commat;, \n, \/), writes full-width,
// mathematical and look-alike letters as those that they look like, and leaves out
// what cannot be seen, also the colours of terminals. It reports false if there is none of it.
func decodeLayer(s string) (v view, changed bool) {
	if plainText(s) {
		return v, false
	}
	first := -1
	for i := 0; i < len(s); {
		_, kept, width := uncovered(s[i:])
		if !kept || width != 1 && s[i] < utf8.RuneSelf || width > 1 && s[i] >= utf8.RuneSelf && look(s[i:]) {
			first = i
			break
		}
		i += width
	}
	if first < 0 {
		return v, false
	}
	var b strings.Builder
	b.Grow(len(s))
	b.WriteString(s[:first])
	v.at = make([]int32, 0, len(s)+1)
	for i := range first {
		v.at = append(v.at, int32(i))
	}
	for i := first; i < len(s); {
		r, kept, width := uncovered(s[i:])
		if n := b.Len(); kept && r >= 0 {
			b.WriteRune(r)
			for range b.Len() - n {
				v.at = append(v.at, int32(i))
			}
		} else if kept { // not valid UTF-8
			b.WriteByte(s[i])
			v.at = append(v.at, int32(i))
		}
		i += width
	}
	v.text, v.at = b.String(), append(v.at, int32(len(s)))
	return v, true
}

// look reports whether s begins with a character that stands for another.
func look(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	plain, kept := lookalike(r)
	return !kept || plain != r
}

// uncovered reads what s begins with: the character that it stands for, whether it
// is seen at all, and how many bytes it takes. The character is negative for a byte
// that is not UTF-8.
func uncovered(s string) (r rune, kept bool, width int) {
	switch b := s[0]; {
	case b == '%':
		return percent(s)
	case b == '\\':
		return backslash(s)
	case b == '&':
		return entity(s)
	case b == escape:
		return 0, controlSequence(s[1:]) == 0, 1 + controlSequence(s[1:])
	case b < utf8.RuneSelf:
		return rune(b), true, 1
	}
	r, width = utf8.DecodeRuneInString(s)
	if r == utf8.RuneError && width == 1 {
		return -1, true, 1
	}
	r, kept = lookalike(r)
	return r, kept, width
}

// escape begins the control sequences of terminals.
const escape = 0x1b

// controlSequence returns how long the rest of a control sequence is that s begins with, or 0:
// [36m sets a colour.
func controlSequence(s string) int {
	const longest = 32
	if s == "" || s[0] != '[' {
		return 0
	}
	for i := 1; i < min(len(s), longest); i++ {
		switch b := s[i]; {
		case 0x40 <= b && b <= 0x7e:
			return i + 1
		case b < 0x20 || b > 0x3f:
			return 0
		}
	}
	return 0
}

// percent reads %40, and %2540 as if it had been written once.
func percent(s string) (rune, bool, int) {
	i := 1
	for strings.HasPrefix(s[i:], "25") && i+3 < len(s) && hexDigit(s[i+2]) >= 0 && hexDigit(s[i+3]) >= 0 {
		i += 2
	}
	if n, ok := hexNumber(s[i:], 2); ok && n < utf8.RuneSelf {
		return escaped(s, n, i+2)
	} else if ok {
		return percentUTF8(s, i)
	}
	return '%', true, 1
}

// percentUTF8 reads a character of several bytes, each with its percent sign.
func percentUTF8(s string, i int) (rune, bool, int) {
	var raw [utf8.UTFMax]byte
	for k := range raw {
		n, ok := hexNumber(s[i:], 2)
		if !ok {
			break
		}
		raw[k] = byte(n)
		i += 2
		if r, size := utf8.DecodeRune(raw[:k+1]); size == k+1 && r != utf8.RuneError {
			r, kept := lookalike(r)
			return r, kept, i
		}
		if i >= len(s) || s[i] != '%' {
			break
		}
		i++
	}
	return '%', true, 1
}

// backslash reads the escapes of JSON and of Go, also those in JSON within JSON. A longer
// run of backslashes is no escape: each of them would read the rest of the run.
func backslash(s string) (rune, bool, int) {
	const longest = 64
	i := 1
	for i < len(s) && i < longest && s[i] == '\\' {
		i++
	}
	if i == len(s) || i == longest {
		return '\\', true, 1
	}
	digits := map[byte]int{'u': 4, 'x': 2, 'U': 8}[s[i]]
	if n, ok := hexNumber(s[i+1:], digits); ok && digits > 0 {
		end := i + 1 + digits
		if width := controlSequence(s[end:]); n == escape && width > 0 {
			return 0, false, end + width
		}
		return escaped(s, n, end)
	}
	switch s[i] {
	case 'n', 'r':
		return '\n', true, i + 1
	case 't':
		return '\t', true, i + 1
	case '/':
		return '/', true, i + 1
	}
	return '\\', true, 1
}

// entity reads &#64;, &#x40; and &commat;, and &amp;lt; as if it had been written once.
func entity(s string) (rune, bool, int) { return escaped(s, '&', 1) }

// escaped returns the character r, whose escape has the first bytes of s up to width. An ampersand
// begins another escape if the rest of one follows: %26lt; and \u0026lt; stand for <.
func escaped(s string, r rune, width int) (rune, bool, int) {
	for r == '&' {
		n, more := entityAfter(s[width:])
		if more == 0 {
			break
		}
		r, width = n, width+more
	}
	r, kept := lookalike(r)
	return r, kept, width
}

// entityAfter reads the rest of an escape of HTML after its ampersand. It returns the character and
// the length of the rest, which is 0 if there is no escape.
func entityAfter(s string) (rune, int) {
	const longest = 12
	end := strings.IndexByte(s[:min(len(s), longest)], ';')
	if end < 2 {
		return 0, 0
	}
	if s[0] != '#' {
		if r, ok := entities[s[:end]]; ok {
			return r, end + 1
		}
		return 0, 0
	}
	digits, base := s[1:end], 10
	if digits[0]|0x20 == 'x' {
		digits, base = digits[1:], 16
	}
	n, err := strconv.ParseUint(digits, base, 31)
	if err != nil {
		return 0, 0
	}
	return rune(n), end + 1
}

// entities has the characters of ASCII that HTML has a name for, and the blank that does not break.
var entities = map[string]rune{
	"lt": '<', "gt": '>', "amp": '&', "quot": '"', "LT": '<', "GT": '>', "AMP": '&', "QUOT": '"', "apos": '\'', "nbsp": ' ', "Tab": '\t', "NewLine": '\n',
	"equals": '=', "colon": ':', "semi": ';', "comma": ',', "period": '.', "excl": '!', "quest": '?', "num": '#', "dollar": '$', "percnt": '%', "commat": '@',
	"lpar": '(', "rpar": ')', "lsqb": '[', "lbrack": '[', "rsqb": ']', "rbrack": ']', "lcub": '{', "lbrace": '{', "rcub": '}', "rbrace": '}',
	"ast": '*', "plus": '+', "sol": '/', "bsol": '\\', "Hat": '^', "lowbar": '_', "grave": '`', "verbar": '|', "vert": '|',
}

func hexDigit(b byte) int {
	switch {
	case digit(b):
		return int(b - '0')
	case 'a' <= b|0x20 && b|0x20 <= 'f':
		return int((b|0x20)-'a') + 10
	}
	return -1
}

// hexNumber reads so many digits in base 16.
func hexNumber(s string, digits int) (n rune, ok bool) {
	if len(s) < digits {
		return 0, false
	}
	for i := range digits {
		d := hexDigit(s[i])
		if d < 0 {
			return 0, false
		}
		n = n<<4 | rune(d)
	}
	return n, true
}
