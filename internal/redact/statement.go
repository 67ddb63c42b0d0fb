package redact

import (
	"strconv"
	"strings"
)

const (
	// maxStatement is how much of a statement is read.
	maxStatement = 4 << 10

	// maxTail is how much is read behind a placeholder to find another one.
	maxTail = 1 << 10

	// maxSlots is how many placeholders of a statement are read.
	maxSlots = 128
)

var (
	// statementVerbs begin a statement, or what was not cut off of it.
	statementVerbs = newLiteralGate("select", "insert", "update", "delete", "merge into", "replace into", "where", "exec ", "call ")

	// clauseWords end what a column is compared with or set to.
	clauseWords = wordSet("and or where limit offset order group having returning set on join from union when then else end")

	// comparisons stand between a column and its value.
	comparisons = wordSet("like ilike in is any similar regexp rlike")

	// newStatements begin another statement, if a placeholder has been read.
	newStatements = wordSet("select insert update delete merge")

	// beforeVerbs make a verb part of the statement: ON CONFLICT DO UPDATE.
	beforeVerbs = wordSet("do key for union all on before after as")

	// argumentWords end a statement, because its arguments follow.
	argumentWords = wordSet("param params parameter parameters paramvalues arg args argument arguments bind binds binding bindings vars detail")
)

// statementReader reads a statement word by word. It does not need to understand all of it: a
// column before an equals sign, and the columns and rows of INSERT, are enough.
type statementReader struct {
	statement
	text      string
	at        int
	depth     int      // of brackets
	word      string   // the last word, in lower case
	subject   string   // the column whose value is read
	outer     int      // the depth at which the subject stands
	columns   []string // of INSERT
	inserting bool     // the columns may follow
	listing   bool     // the columns are being read
	rows      bool     // VALUES has been read
	row       int      // the depth of the row that is read, or 0
	column    int      // how many values of the row have been read
}

// nextStatement reads the next statement from at on, and returns where it stopped. It stops at at
// if there is none.
func nextStatement(s string, at int) (statement, int) {
	from, to := statementVerbs.next(s, at)
	for from >= 0 && !(begins(s, from) && (ends(s, to) || s[to-1] == ' ')) {
		from, to = statementVerbs.next(s, to)
	}
	if from < 0 {
		return statement{}, at
	}
	r := statementReader{statement: statement{from: from}, text: s, at: from}
	limit := min(len(s), from+maxStatement)
	for r.at < limit && r.next() {
	}
	return r.statement, max(r.at, to)
}

// next reads a word or a sign, and reports whether the statement goes on.
func (r *statementReader) next() bool {
	b := r.text[r.at]
	if width := placeholderWidth(r.text, r.at); width > 0 {
		r.placeholder(width)
		return true
	}
	switch {
	case letter(b) || b == '_' || b >= 0x80:
		return r.readWord()
	case b == '\\' && r.at+1 < len(r.text) && strings.IndexByte("nrt", r.text[r.at+1]) >= 0:
		r.at++ // an escaped line break
	case b == '(':
		r.open()
	case b == ')':
		r.close()
	case b == ',':
		r.comma()
	case b == '=':
		r.subject, r.outer = r.word, r.depth
	case r.slots != nil && (b == ';' && r.depth == 0 || b == '\n' && strings.HasPrefix(r.text[r.at+1:], "\n") || r.at > r.to+maxTail):
		return false
	}
	r.at++
	return true
}

func (r *statementReader) readWord() bool {
	from := r.at
	for r.at < len(r.text) && (alphanumeric(r.text[r.at]) || r.text[r.at] == '_' || r.text[r.at] >= 0x80) {
		r.at++
	}
	const longest = 64
	word := strings.ToLower(r.text[from:min(r.at, from+longest)])
	switch {
	case newStatements[word] && from > r.from && !beforeVerbs[r.word]:
		if len(r.slots) > 0 && (r.depth == 0 || word != "select") {
			r.at = from
			return false
		}
		if len(r.slots) == 0 && word != "select" {
			*r = statementReader{statement: statement{from: from}, text: r.text, at: r.at}
		}
	case argumentWords[word] && len(r.slots) > 0 && r.row == 0:
		r.at = from
		return false
	case word == "into":
		r.inserting = r.columns == nil
	case word == "values" || word == "value":
		r.rows, r.subject = true, ""
	case clauseWords[word]:
		r.subject, r.rows = "", r.rows && r.row > 0
	case comparisons[word]:
		if r.subject == "" {
			r.subject, r.outer = r.word, r.depth
		}
	}
	r.word = word
	return true
}

func (r *statementReader) open() {
	r.depth++
	switch {
	case r.inserting && r.depth == 1:
		r.inserting, r.listing = false, true
	case r.rows && r.row == 0:
		r.row, r.column = r.depth, 0
	}
}

func (r *statementReader) close() {
	if r.listing {
		r.columns, r.listing = append(r.columns, r.word), false
	}
	if r.depth == r.row {
		r.row = 0
	}
	r.depth = max(0, r.depth-1)
	if r.depth < r.outer {
		r.subject = ""
	}
}

func (r *statementReader) comma() {
	if r.listing {
		r.columns = append(r.columns, r.word)
	}
	if r.depth <= r.outer {
		r.subject = ""
	}
	if r.row > 0 && r.depth == r.row {
		r.column++
	}
}

// placeholder adds a placeholder. One that has a name may occur several times.
func (r *statementReader) placeholder(width int) {
	sign := r.text[r.at]
	sl := slot{name: strings.Trim(r.text[r.at+1:r.at+width], "()"), column: r.subject}
	if sign == '%' {
		sl.name = strings.TrimSuffix(strings.TrimSuffix(sl.name, "s"), ")")
	}
	if r.row > 0 && r.column < len(r.columns) {
		sl.column = r.columns[r.column]
	}
	sl.secret = secretColumnName(sl.column) || secretColumnName(sl.name)
	r.at += width
	r.to, r.signed = r.at, r.signed || sign == '@'
	for i := range r.slots {
		if known := &r.slots[i]; sl.name != "" && known.name == sl.name {
			known.secret = known.secret || sl.secret
			return
		}
	}
	if len(r.slots) == maxSlots {
		return
	}
	sl.number, _ = strconv.Atoi(sl.name)
	r.highest = max(r.highest, sl.number)
	r.slots = append(r.slots, sl)
}

// placeholderWidth returns the length of the placeholder at i, or 0: ?, ?1, $1, %s, %(name)s,
// :name, @name.
func placeholderWidth(s string, i int) int {
	if i >= len(s) || !begins(s, i) {
		return 0
	}
	switch s[i] {
	case '?', '$':
		return numberedWidth(s, i)
	case '%':
		if strings.HasPrefix(s[i:], "%s") {
			return 2
		}
		if name := nameEnd(s, i+2); strings.HasPrefix(s[i:], "%(") && strings.HasPrefix(s[name:], ")s") {
			return name + 2 - i
		}
	case ':', '@':
		apart := i > 0 && strings.IndexByte(" \t\n(,=|", s[i-1]) >= 0 || i > 1 && s[i-2] == '\\'
		if name := nameEnd(s, i+1); apart && name > i+1 {
			return name - i
		}
	}
	return 0
}

// numberedWidth returns the length of the placeholder ?, ?1 or $1 at i, or 0.
func numberedWidth(s string, i int) int {
	end := i + 1
	for end < len(s) && digit(s[end]) && end-i <= 3 {
		end++
	}
	if s[i] == '$' && end == i+1 || !ends(s, end) || end < len(s) && s[end] == '{' {
		return 0
	}
	return end - i
}

// nameEnd returns where the name ends that begins at i.
func nameEnd(s string, i int) int {
	const longest = 64
	begin := i
	for i < len(s) && i-begin < longest && (alphanumeric(s[i]) || s[i] == '_') {
		i++
	}
	return min(i, len(s))
}
