package redact

import (
	"regexp"
	"strings"
)

// extent is where a value lies, without the quotes or brackets around it.
type extent struct {
	from, to int
	bare     bool // it has neither
	cut      int  // where it begins with them, if only the first maxJudged bytes were read
}

// ahead is what the search for one family's names has read beyond them.
type ahead struct {
	read    int // bytes of values, for the count of work
	refused int // where the last long value ends that prose refused
}

// longRefusal is the least length of a refused value whose end is remembered.
const longRefusal = 64

// extent returns where the value that begins at i lies.
func (k keyed) extent(s string, i int, a *ahead) extent {
	text := s
	if k.judge != nil {
		text = s[:min(len(s), i+maxJudged)]
	}
	v := unbraced(text, k.extentAt(text, i, a))
	if v.to == len(text) && len(text) < len(s) {
		v.cut = i
	}
	if !v.bare || v.to != a.refused {
		a.read += v.to - i
	}
	return v
}

// whole returns a value that is taken with what was cut off.
func (k keyed) whole(s string, v extent, a *ahead) extent {
	if v.cut > 0 {
		v = k.extentAt(s, v.cut, a)
		a.read += v.to - v.from
	}
	return v
}

func (k keyed) extentAt(s string, i int, a *ahead) extent {
	if v := k.printed(s, i); v.from < v.to {
		return v
	}
	if n := len(phpString.FindString(s[i:])); n > 0 && strings.HasPrefix(s[i+n:], `\`) {
		i += n // an escaped quote follows
	}
	i += max(len(wrapper.FindString(s[i:]))-1, len(valueTag.FindString(s[i:])))
	begin := i
	if p := len(quotePrefix.FindString(s[i:])); p > 0 {
		i += p - 1
	}
	if v, ok := quotedBy(s, i); ok {
		return v
	}
	escapes := 0
	for i < len(s) && s[i] == '\\' {
		escapes++
		i++
	}
	switch {
	case i < len(s) && isQuote(s[i]):
		end := quoteEnd(s, i, escapes)
		if escapes > 0 {
			return extent{from: i + 1, to: end}
		}
		if to := k.continues(s, end, a); to > end {
			return extent{from: i, to: to} // "x"hunter2 is one word, and so is 'it''s'
		}
		return extent{from: i + 1, to: end}
	case escapes == 0 && i < len(s) && (s[i] == '[' || s[i] == '{'):
		end := bracketEnd(s, i)
		if more := k.word(s[min(len(s), end+1):]); more > 0 {
			return extent{from: i, to: end + 1 + more} // [x]hunter2 is one word
		}
		return extent{from: i + 1, to: end}
	}
	if to := placeholderEnd(s, begin); to > begin {
		return extent{from: begin + 1, to: to}
	}
	if begin < a.refused {
		return extent{from: begin, to: a.refused, bare: true} // the rest of a value that has been read
	}
	return extent{from: begin, to: begin + k.word(s[begin:]), bare: true}
}

// printed returns the value that begins at i as a program prints or writes it: an argument of a call,
// the text of a heredoc, the bytes of a buffer of Node. Another value is an empty range.
func (k keyed) printed(s string, i int) extent {
	if v := wrapped(s, i); v.from < v.to {
		return v
	}
	if strings.HasPrefix(s[i:], "<<") {
		v := heredocExtent(s, i)
		return extent{from: v.from, to: v.to}
	}
	if k.name != "body" && strings.HasPrefix(s[i:], "<Buffer ") { // the bytes of a text, as Node prints them
		return within(s, i+len("<Buffer "), ">")
	}
	return extent{}
}

// quotedBy returns the value that opens at i with a quote of several bytes, or as a block of YAML, and
// whether there is one.
func quotedBy(s string, i int) (extent, bool) {
	if q := openingQuote.FindString(s[i:]); q != "" {
		return within(s, i+len(q), q), true
	}
	if doubledQuote.MatchString(s[i:]) {
		return within(s, i+2, s[i:i+2]), true
	}
	if m := blockScalar.FindString(s[i:]); m != "" {
		return extent{from: i + len(m), to: len(s)}, true
	}
	return extent{}, false
}

// unbraced returns what stands in braces if it does not look like the name of a variable:
// ${hunter2X9}. Another value is returned as it is.
func unbraced(s string, v extent) extent {
	const longest = 64
	if !strings.HasPrefix(s[v.from:v.to], "${") {
		return v
	}
	from := v.from + len("${")
	to := nameEnd(s, from)
	if to == len(s) || s[to] != '}' || to-from >= longest {
		return v
	}
	if _, lower, _ := mixture(s[from:to]); lower == 0 || changes(s[from:to]) < 2 || !chosenWord(s[from:to]) {
		return v
	}
	return extent{from: from, to: to}
}

// placeholderEnd returns where the value in angle brackets ends that begins at i, or 0. What looks
// like a name is a placeholder: <your-password>.
func placeholderEnd(s string, i int) int {
	const longest = 64
	if i >= len(s) || s[i] != '<' {
		return 0
	}
	to := i + 1
	for to < min(len(s), i+longest) && strings.IndexByte(" \t\n<>\"'", s[to]) < 0 {
		to++
	}
	if to == len(s) || s[to] != '>' || strings.HasPrefix(s[i+1:], "/") || !chosenWord(s[i+1:to]) {
		return 0
	}
	return to
}

// continues returns where a value ends whose first quotation closes at end: more
// quotations and a word may follow it without a blank.
func (k keyed) continues(s string, end int, a *ahead) int {
	to := end
	defer func() { a.read += to - end }()
	for at := end + 1; at < len(s); at = to {
		switch {
		case isQuote(s[at]):
			to = min(quoteEnd(s, at, 0)+1, len(s))
		case alphanumeric(s[at]):
			to = at + k.word(s[at:])
			return to
		default:
			return to
		}
	}
	return to
}

// word returns the length of the bare value that s begins with. A bracket at its
// end belongs to the text around.
func (k keyed) word(s string) int { return len(strings.TrimRight(k.value.FindString(s), ")]}")) }

var (
	// quotePrefix matches what Python, C# and shells write before a quote: b'…', $'…'.
	quotePrefix = regexp.MustCompile(`^[bBuUrRfFN$@]{1,2}["'` + "`" + `]`)

	// wrapper matches what PHP, Rust, Swift, Python and Go write before a quoted value:
	// string(12) "…", Some("…"), SecretStr('…'), []string{"…". valueTag matches the tags of YAML.
	wrapper  = regexp.MustCompile(`^(?:string\(\d+\)[ \t]*|[A-Z]\w{2,24}\(|(?:bytearray|bytes|memoryview|str)\(b?|\[\](?:string|interface \{\})\{|interface \{\}\()["']`)
	valueTag = regexp.MustCompile(`^!(?:vault|secret|encrypted|!str|!binary)[ \t]+`)

	// phpString matches the type and the length that PHP prints before a text.
	phpString = regexp.MustCompile(`^string\(\d{1,9}\)[ \t]*`)

	// openingQuote matches quotes that are closed by the same text: escaped ones and
	// three in a row. doubledQuote matches the two of CSV, in front of a word.
	openingQuote = regexp.MustCompile(`^(?:` + encodedQuote + `|"{3}|'{3})`)
	doubledQuote = regexp.MustCompile(`^(?:""|'')[^\s,;&"'<>()\[\]{}:\\]`)

	// blockScalar matches how a text of several lines begins in YAML.
	blockScalar = regexp.MustCompile(`^[|>][+-]?\d?[ \t]*\r?\n\s*`)
)

// within returns what lies between i and the closing quote, or the end of the line.
func within(s string, i int, quote string) extent {
	if n := strings.Index(s[i:], quote); n >= 0 {
		return extent{from: i, to: i + n}
	}
	return extent{from: i, to: len(s)}
}

func isQuote(b byte) bool { return b == '"' || b == '\'' || b == '`' }

// quoteEnd returns where the quotation that opens at i ends; at the end of the
// line if it was cut off. JSON inside JSON escapes its quotes once more at each
// level: the quote that closes has as many backslashes as the one that opened.
func quoteEnd(s string, i, escapes int) int {
	backslashes := 0
	for j := i + 1; j < len(s); j++ {
		switch {
		case s[j] == '\\':
			backslashes++
			continue
		case s[j] == s[i] && escapes == 0 && backslashes%2 == 0:
			return j
		case s[j] == s[i] && 0 < escapes && backslashes <= escapes:
			return j - backslashes
		}
		backslashes = 0
	}
	return len(s)
}

// bracketEnd returns where the bracket that opens at i is closed, or the end of
// the line.
func bracketEnd(s string, i int) int {
	depth, closer := 0, s[i]+2 // in ASCII, ] is [ + 2 and } is { + 2
	for j := i; j < len(s); j++ {
		switch s[j] {
		case s[i]:
			depth++
		case closer:
			depth--
		}
		if depth == 0 {
			return j
		}
	}
	return len(s)
}
