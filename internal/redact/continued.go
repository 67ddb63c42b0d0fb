package redact

import (
	"regexp"
	"strings"
)

// continuedTo returns where the values end that a line from from to to may have on
// the next lines: one line after a colon, an equals sign, an arrow or a name with a comma at its end,
// every line that is indented deeper after YAML's | or >, and the lines of a heredoc.
func continuedTo(s string, from, to int) int {
	line := strings.TrimRight(s[from:to], " \t\r")
	for to < len(s) && (strings.HasSuffix(line, ":") || strings.HasSuffix(line, "=") || strings.HasSuffix(line, "=>") || nameLine.MatchString(line[max(0, len(line)-72):])) {
		from, to = to+1, lineEnd(s, to)
		line = strings.TrimRight(s[from:to], " \t\r")
	}
	if m := heredocEnd.FindStringSubmatch(line[max(0, len(line)-64):]); m != nil {
		for end := ""; to < len(s) && end != m[1]; {
			next := lineEnd(s, to)
			end, to = strings.TrimSpace(s[to+1:next]), next
		}
		return to
	}
	if block := strings.TrimRight(line, "+-0123456789"); !strings.HasSuffix(block, "|") && !strings.HasSuffix(block, ">") {
		return to
	}
	for indent := indentation(line); to < len(s); {
		next := lineEnd(s, to)
		if text := s[to+1 : next]; strings.TrimSpace(text) != "" && indentation(text) <= indent {
			break
		}
		to = next
	}
	return to
}

// nameLine matches a line of a list that has a name in it, whose value is on the next line.
var nameLine = regexp.MustCompile(`["'][A-Za-z][\w-]{1,64}["'],$`)

// lineEnd returns the end of the line after the newline at i.
func lineEnd(s string, i int) int {
	if n := strings.IndexByte(s[i+1:], '\n'); n >= 0 {
		return i + 1 + n
	}
	return len(s)
}

func indentation(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }

var (
	// heredoc matches how a text of several lines begins in a shell and in Terraform.
	heredoc = regexp.MustCompile(`^<<[-~]?\\?["']?(\w{1,32})["']?[ \t]*\r?\n`)

	// heredocEnd matches the end of a line before such a text.
	heredocEnd = regexp.MustCompile(`<<[-~]?\\?["']?(\w{1,32})["']?$`)
)

// heredocExtent returns the text of several lines that begins at i, or an empty range.
func heredocExtent(s string, i int) extent {
	m := heredoc.FindStringSubmatchIndex(s[i:min(len(s), i+maxJudged)])
	if m == nil {
		return extent{}
	}
	from := i + m[1]
	for to := from - 1; to < len(s); {
		next := lineEnd(s, to)
		if strings.TrimSpace(s[to+1:next]) == s[i+m[2]:i+m[3]] {
			return trimmed(s, from, max(from, to))
		}
		to = next
	}
	return trimmed(s, from, len(s))
}
