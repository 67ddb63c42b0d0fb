package redact

import "strings"

// csvRule finds the values of secret columns in tables: a line with the names of columns, and rows
// with as many fields. Commas, semicolons, bars and tabs separate them.
func csvRule() rule {
	return rule{name: "csv", gate: columnWords(), multiline: true, find: findInTables}
}

var tableWords = newLiteralGate(columnWords()...)

// maxColumns is how many columns of a table are read, and maxHeader how long their names are.
const (
	maxColumns = 64
	maxHeader  = 2 << 10
)

func findInTables(s string, f finding) finding {
	f.work += len(s)
	if strings.IndexByte(s, '\n') < 0 {
		return f
	}
	for at := 0; at < len(s); {
		from, to := tableWords.next(s, at)
		if from < 0 {
			break
		}
		word, end := from, lineEnd(s, to-1)
		from = max(at, strings.LastIndexByte(s[at:word], '\n')+1+at)
		at = end + 1
		if at >= len(s) || end-word > maxHeader {
			continue
		}
		from = max(from, word-maxHeader)
		f.work += 2 * (end - from)
		t, ok := readHeader(s, from, end)
		if !ok { // a message or a field may stand before the header
			t, ok = readHeader(s, from+strings.LastIndexAny(s[from:word], " =:/\"'([>")+1, end)
			t.loose, t.inner = true, true
		}
		if ok {
			f, at = t.rows(s, at, f)
		}
	}
	return f
}

// table is what the header of a table says.
type table struct {
	separator byte
	columns   int
	secret    [maxColumns]bool
	password  [maxColumns]bool // the values are chosen by people
	loose     bool             // the header may be part of a sentence
	inner     bool             // text stands before the header, and may stand behind the last row
}

// readHeader reads a line as the header of a table, and reports whether it is one that has a
// secret column.
func readHeader(s string, from, to int) (t table, ok bool) {
	for _, separator := range []byte(",;|\t") {
		if strings.IndexByte(s[from:to], separator) < 0 {
			continue
		}
		t = table{separator: separator}
		if t.header(s, from, to) {
			return t, true
		}
	}
	return t, false
}

// header reads the names of the columns.
func (t *table) header(s string, from, to int) bool {
	found := false
	for _, field := range fields(s, from, to, t.separator) {
		name := s[field.from:field.to]
		if at := strings.LastIndexByte(name, ' '); at >= 0 && t.columns == 0 && t.separator != '|' {
			name, t.loose = name[at+1:], true // a word or two before the first name
		}
		if t.columns == maxColumns || !columnName(name) && !(name == "" && t.separator == '|') {
			return false
		}
		t.loose = t.loose || t.separator == ',' && field.from > from && s[field.from-1] == ' '
		t.secret[t.columns] = secretColumnName(name)
		t.password[t.columns] = passwordColumn(name)
		found = found || t.secret[t.columns]
		t.columns++
	}
	return found && t.columns > 1
}

// columnName reports whether a text can be the name of a column.
func columnName(v string) bool {
	const longest = 48
	if v == "" || len(v) > longest || digit(v[0]) {
		return false
	}
	for i := range len(v) {
		if !tokenByte(v[i]) && v[i] != '.' && v[i] != ' ' && v[i] < 0x80 {
			return false
		}
	}
	return true
}

// passwordColumn reports whether people choose the values of a column: any word may be one.
func passwordColumn(name string) bool {
	name = strings.ToLower(name)
	for _, word := range [...]string{"pass", "pwd", "kennwort", "contrase", "senha", "wachtwoord", "haslo", "hasło", "salasana", "пароль", "密码"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}

// rows reads the rows of a table from at on, and returns where the next line begins that is none.
func (t *table) rows(s string, at int, f finding) (finding, int) {
	for at < len(s) {
		end := len(s)
		if n := strings.IndexByte(s[at:], '\n'); n >= 0 {
			end = at + n
		}
		if end-at > maxList {
			break
		}
		f.work += 2 * (end - at)
		if strings.Trim(s[at:end], "-+|=: \t\r") == "" && end > at && t.separator == '|' { // a rule between rows
			at = end + 1
			continue
		}
		row := t.row(s, at, end)
		if len(row) != t.columns {
			break
		}
		for i, field := range row {
			if t.secret[i] && t.takes(s[field.from:field.to], field.bare, t.password[i]) {
				f.add(field.from, field.to)
			}
		}
		at = end + 1
	}
	return f, at
}

// row returns the fields of a row. Text may stand behind the last one.
func (t *table) row(s string, from, to int) []extent {
	row := fields(s, from, to, t.separator)
	if len(row) < t.columns || len(row) == 0 {
		return row
	}
	if !t.inner {
		last := &row[len(row)-1]
		if head, _, more := strings.Cut(s[last.from:last.to], " "); last.bare && more && opaqueField(head) {
			last.to = last.from + len(head)
		}
		return row
	}
	row = row[:t.columns]
	last := &row[t.columns-1]
	if n := strings.IndexAny(s[last.from:last.to], " \"'&<\\"); n >= 0 {
		last.to = last.from + n
	}
	return row
}

// takes reports whether a field of a secret column is a secret. A password may be any word. What
// else is secret looks made by a machine, because a token may be a word of a text.
func (t *table) takes(v string, bare, password bool) bool {
	switch {
	case v == "" || masked(v) || strings.HasPrefix(v, opening) || bare && strings.ContainsAny(v, " \t"):
		return false
	case t.loose || !password:
		return opaqueField(v)
	}
	return len(v) > 3 || !digitsOnly.MatchString(v)
}

// opaqueField reports whether a field looks like a secret whatever its column.
func opaqueField(v string) bool {
	return v != "" && !plainShape(v) && (chosenWord(v) && changes(v) > 0 || machineMade(v, shortHex))
}

// fields returns the fields of a line without the blanks and quotes around them.
func fields(s string, from, to int, separator byte) (list []extent) {
	for at := from; at <= to && len(list) <= maxColumns; {
		begin := at
		for at < to && s[at] == ' ' {
			at++
		}
		if at < to && s[at] == '"' {
			if end := csvQuoteEnd(s[:to], at+1); end < to {
				list = append(list, extent{from: at + 1, to: end})
				at = end + 1
				for at < to && s[at] != separator {
					at++
				}
				at++
				continue
			}
		}
		end := to
		if n := strings.IndexByte(s[begin:to], separator); n >= 0 {
			end = begin + n
		}
		list = append(list, trimmed(s, begin, end))
		at = end + 1
	}
	return list
}

// csvQuoteEnd returns where the quotation ends whose text begins at i. Two quotes stand for one.
func csvQuoteEnd(s string, i int) int {
	for i < len(s) {
		if s[i] == '"' {
			if i+1 == len(s) || s[i+1] != '"' {
				return i
			}
			i++
		}
		i++
	}
	return i
}
