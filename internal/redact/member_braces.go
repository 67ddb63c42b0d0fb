package redact

import "strings"

// memberReader reads the objects of a text in one pass.
type memberReader struct {
	text  string
	at    int
	stack []holder // the first is the line
	deep  int      // brackets beyond maxObjects
	role  role     // of the member whose value follows
	end   int      // of the line
	finding
}

// maxObjects is how deep objects may be nested.
const maxObjects = 48

func findMembers(s string, f finding) finding {
	f.work += len(s)
	r := memberReader{text: s, stack: make([]holder, 1, 8), finding: f}
	for r.at < len(s) {
		r.next()
	}
	for len(r.stack) > 1 {
		r.pop()
	}
	r.line()
	return r.finding
}

// next reads a sign, a quotation or a word.
func (r *memberReader) next() {
	switch b := r.text[r.at]; {
	case isQuote(b):
		r.quoted()
		return
	case b == '{' || b == '[' || b == '(' && r.role != 0:
		r.push(b)
	case b == '}' || b == ']' || b == ')':
		r.close(b)
	case b == ',' || b == ';':
		if !r.listing() {
			r.role = 0
		}
	case b == '\n':
		if len(r.stack) == 1 {
			r.line()
		}
	case alphanumeric(b) || b == '_':
		r.word()
		return
	case r.role != 0 && strings.IndexByte(" \t\r\\(", b) < 0:
		r.bare()
		return
	}
	r.at++
}

// listing reports whether the values of a list are read.
func (r *memberReader) listing() bool {
	opens := r.stack[len(r.stack)-1].opens
	return opens == '[' || opens == '('
}

// line ends the members of a line that stand in no brackets.
func (r *memberReader) line() {
	if h := &r.stack[0]; h.name != "" && len(h.held) > 0 {
		r.finding = h.close(r.text, r.finding)
	}
	r.stack[0], r.role = holder{}, 0
}

// push opens an object or a list. A list has the role of the member that it is.
func (r *memberReader) push(b byte) {
	if len(r.stack) == maxObjects {
		r.deep++
		return
	}
	r.stack = append(r.stack, holder{role: r.role, opens: b})
	if b == '{' {
		r.role = 0
	}
}

// close closes what the bracket b closes.
func (r *memberReader) close(b byte) {
	if r.deep > 0 && b != ')' {
		r.deep--
		return
	}
	opens := r.stack[len(r.stack)-1].opens
	if b == ')' && opens == '(' || b != ')' && opens == b-2 { // in ASCII, ] is [ + 2 and } is { + 2
		r.pop()
	}
}

// pop ends the last object. Its data are secrets if the object around it is a Secret.
func (r *memberReader) pop() {
	last := len(r.stack) - 1
	h := r.stack[last]
	r.stack, r.role = r.stack[:last], 0
	if h.opens == '{' {
		r.finding = h.closeAll(r.text, h.close(r.text, r.finding))
	}
	if parent := &r.stack[last-1]; h.role == holdsAll && len(parent.data) < maxHeld {
		parent.data = append(parent.data, h.data...)
	}
}

// quoted reads a quotation: the name of a member, or a value.
func (r *memberReader) quoted() {
	if r.at >= r.end {
		r.end = lineEnd(r.text, r.at-1)
	}
	limit := min(r.end, r.at+maxList)
	v, end := quotation(r.text, 0, r.at, limit)
	if end == r.at || v.from < v.to && opensList(r.text[v.from]) { // objects may be quoted
		r.at++
		return
	}
	r.at = end + 1
	if r.role == 0 || !r.listing() {
		if width := signAfter(r.text, r.at); width > 0 {
			r.role = roleOf(r.text[v.from:v.to])
			r.at += width
			return
		}
	}
	r.value(v)
}

// word reads a word: the name of a member, or a value.
func (r *memberReader) word() {
	from := r.at
	to := from
	for to < len(r.text) && (alphanumeric(r.text[to]) || r.text[to] == '_' || r.text[to] == '-') {
		to++
	}
	width := signAfter(r.text, to)
	if width > 0 && (r.stack[len(r.stack)-1].opens != 0 || r.text[to] == '=') && (r.role == 0 || !r.listing()) {
		r.role = roleOf(r.text[from:to])
		r.at = to + width
		return
	}
	if r.role != 0 {
		r.bare()
		return
	}
	r.at = to
}

// bare reads a value without quotes.
func (r *memberReader) bare() {
	from := r.at
	for r.at < len(r.text) && strings.IndexByte(" \t\r\n,;{}[]()<>\"'`", r.text[r.at]) < 0 {
		r.at++
	}
	if r.at == from {
		r.at++
		return
	}
	r.value(extent{from: from, to: r.at, bare: true})
}

// value adds a value to the object that it belongs to. Of a list that names something, the last value
// is the name.
func (r *memberReader) value(v extent) {
	last := len(r.stack) - 1
	if v.bare && unquotedCode(r.text[v.from:v.to]) {
		r.role = 0
		return
	}
	if r.listing() && last > 0 {
		if r.role == namesValue || r.role == pathOfName {
			r.stack[last-1].name = "" // the last one counts
		}
		r.stack[last-1].member(r.role, r.text, v)
		return
	}
	r.stack[last].member(r.role, r.text, v)
	r.role = 0
}

// unquotedCode reports whether a value without quotes is a name of the program, not a text.
func unquotedCode(v string) bool { return v == "null" || v == "None" || v == "undefined" || v == "nil" }

// signAfter returns the length of the sign that assigns a value to the name before i, or 0.
func signAfter(s string, i int) int {
	const blanks = 24
	at := i
	for at < min(len(s), i+blanks) && (s[at] == ' ' || s[at] == '\t') {
		at++
	}
	switch rest := s[at:]; {
	case strings.HasPrefix(rest, "=>"), strings.HasPrefix(rest, ":="):
		return at + 2 - i
	case strings.HasPrefix(rest, "==") || strings.HasPrefix(rest, "::") || strings.HasPrefix(rest, "://"):
		return 0
	case strings.HasPrefix(rest, "=") || strings.HasPrefix(rest, ":"):
		return at + 1 - i
	}
	return 0
}
