package redact

import (
	"regexp"
	"strings"
)

// insertRule finds the values of secret columns in INSERT statements, by their position.
func insertRule() rule {
	return rule{name: "sql", of: "insert", gate: []string{"insert into"}, find: findInserted}
}

var (
	insertColumns = regexp.MustCompile(`(?i)\binsert\s+into\s+[^\s(]{1,128}\s*\(([^()]{1,512})\)\s*values\s*\(`)
	secretColumn  = regexp.MustCompile(`(?i)(?:password|passwd|passphrase|pwd|secret|token|(?:api|access|private|secret)_?key)(?:_hash|_digest)?$`)
)

func findInserted(s string, f finding) finding {
	f.work += len(s)
	for at := 0; at < len(s); {
		m := insertColumns.FindStringSubmatchIndex(s[at:])
		if m == nil {
			break
		}
		columns := strings.Split(s[at+m[2]:at+m[3]], ",")
		at += m[1]
		for more := true; more; {
			f, at, more = findInRow(s, at, columns, f)
		}
	}
	return f
}

// findInRow reads the values of one row up to its closing bracket. It returns where it
// stopped, and whether another row follows.
func findInRow(s string, at int, columns []string, f finding) (finding, int, bool) {
	begin := at
	for _, column := range columns {
		value := nextValue(s, at)
		quoted := value.from > at && value.from <= value.to && isQuote(s[value.from-1])
		if quoted && value.from < value.to && secretColumn.MatchString(strings.Trim(column, " \t\"`[]\\")) && !masked(s[value.from:value.to]) {
			f.add(value.from, value.to)
		}
		at = value.to
		for at < len(s) && strings.IndexByte(",)", s[at]) < 0 {
			at++
		}
		if at == len(s) || s[at] == ')' {
			break
		}
		at++
	}
	f.work += at - begin
	rest := s[min(len(s), at+1):]
	next := strings.TrimLeft(rest, ", \t\r\n")
	if at < len(s) && s[at] == ')' && strings.HasPrefix(next, "(") && len(next) < len(rest) {
		return f, len(s) - len(next) + 1, true
	}
	return f, at, false
}

// nextValue returns the value of a row that begins at i, without its quotes.
func nextValue(s string, i int) extent {
	for i < len(s) && (s[i] == ' ' || s[i] == '\t' || s[i] == '\n' || s[i] == 'N' || s[i] == 'E') {
		i++
	}
	escapes := 0
	for i < len(s) && s[i] == '\\' {
		escapes++
		i++
	}
	if i < len(s) && isQuote(s[i]) {
		return extent{from: i + 1, to: quoteEnd(s, i, escapes)}
	}
	return extent{from: i, to: i, bare: true}
}
