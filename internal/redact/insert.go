package redact

import (
	"regexp"
	"strings"
)

// insertRule finds the values of secret columns in INSERT statements, by their position.
func insertRule() rule {
	return rule{name: "sql", of: "insert", gate: []string{"insert into", "replace into"}, multiline: true, find: findInserted}
}

var insertColumns = regexp.MustCompile(`(?i)\b(?:insert|replace)\s+into\s+[^\s(]{1,128}\s*\(([^()]{1,512})\)\s*values?\s*\(`)

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
	return findSecretRows(s, f)
}

// secretTable matches an INSERT without columns into a table whose name is that of secrets.
var secretTable = regexp.MustCompile(`(?i)\b(?:insert|replace)\s+into\s+\\*["` + "`" + `\[]?(?:\w{1,64}\\*["` + "`" + `\]]?\.\\*["` + "`" + `\[]?)?\w{0,64}?(?:credential|secret|password|passwd|token|api_?key)s?\\*["` + "`" + `\]]?\s+values?\s*\(`)

// findSecretRows takes what looks like a secret in the rows of such tables.
func findSecretRows(s string, f finding) finding {
	for at := 0; at < len(s); {
		m := secretTable.FindStringIndex(s[at:])
		if m == nil {
			break
		}
		at += m[1]
		for more := true; more; {
			end := listEnd(s, at-1)
			f.work += 2 * (end - at)
			for _, item := range split(s, at, end) {
				if v := unquoted(s, item); !v.bare && v.from < v.to && !uuidShape.MatchString(s[v.from:v.to]) && echoedSecret(s[v.from:v.to]) {
					f.add(v.from, v.to)
				}
			}
			at, more = nextRow(s, end)
		}
	}
	return f
}

// nextRow returns where the next row begins behind the bracket at end, and whether there is one; else
// it returns end.
func nextRow(s string, end int) (int, bool) {
	rest := s[min(len(s), end+1):]
	next := strings.TrimLeft(rest, ", \t\r\n")
	if end < len(s) && s[end] == ')' && strings.HasPrefix(next, "(") && len(next) < len(rest) {
		return len(s) - len(next) + 1, true
	}
	return end, false
}

// findInRow reads the values of one row, which begins after its opening bracket at at-1. It
// returns where the row ends, and whether another row follows.
func findInRow(s string, at int, columns []string, f finding) (finding, int, bool) {
	end := listEnd(s, at-1)
	f.work += 2 * (end - at)
	for i, item := range split(s, at, end) {
		if i == len(columns) {
			break
		}
		if !secretColumnName(strings.Trim(columns[i], " \t\r\n\"`[]\\")) {
			continue
		}
		if v := unquoted(s, item); v.from < v.to && !masked(s[v.from:v.to]) && (!v.bare || literalCell(s[v.from:v.to])) {
			f.add(v.from, v.to)
		}
	}
	at, more := nextRow(s, end)
	return f, at, more
}

// literalCell reports whether a cell without quotes is a value. Some frameworks print the
// arguments of a statement in place of its placeholders and without quotes. Others print a
// parameter, a variable or a function.
func literalCell(v string) bool {
	return strings.IndexByte(":@?%$", v[0]) < 0 && !strings.ContainsAny(v, "()") && !plainShape(v) && chosenWord(v)
}
