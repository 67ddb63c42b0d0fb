package define

import "strings"

// lineWidth is that of the statements that a plan prints, below their margin.
const lineWidth = 74

// fold breaks the lines of a statement where they are too long, at blanks that are in
// no quotation marks. It is done where statements are made, so that what a plan prints
// is what runs, letter by letter.
func fold(sql string) string {
	var out []string
	for line := range strings.SplitSeq(sql, "\n") {
		if strings.Count(line, "'")%2+strings.Count(line, `"`)%2 > 0 {
			return sql // a quotation goes on in the next line, or has a mark of the other kind
		}
		indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
		for len(line) > lineWidth {
			at := lastBreak(line, len(indent), lineWidth)
			if at < 0 {
				break
			}
			out = append(out, line[:at])
			line = indent + "  " + line[at+1:]
			if len(strings.TrimSpace(line)) == 0 {
				break
			}
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

// lastBreak is the last blank outside of quotation marks that is not behind most; if
// there is none, the first behind it; -1: none at all.
func lastBreak(line string, least, most int) int {
	at, mark := -1, byte(0)
	for i := range len(line) {
		switch c := line[i]; {
		case mark != 0:
			if c == mark {
				mark = 0
			}
		case c == '\'' || c == '"':
			mark = c
		case c == ' ' && i > least+2:
			if i > most && at >= 0 {
				return at
			}
			if at = i; i > most {
				return at
			}
		}
	}
	return at
}
