package redact

import (
	"regexp"
	"strings"
)

// indentedReader reads the objects of YAML in one pass, line by line.
type indentedReader struct {
	text  string
	stack []indentedHolder
	list  string // the name of the list whose items follow, or ""
	dash  int    // how far the items of the list are indented at least
	block extent // a text of several lines that is read
	from  int    // how far the block is indented more than, or -1
	kept  bool   // the block is the value of a member that may hold a secret
	finding
}

// indentedHolder is an object with its indentation.
type indentedHolder struct {
	holder
	indent int
	opened role // of the last member, whose object follows
}

func findIndented(s string, f finding) finding {
	f.work += len(s)
	r := indentedReader{text: s, from: -1, finding: f}
	for at := 0; at < len(s); {
		end := lineEnd(s, at-1)
		r.line(at, end)
		at = end + 1
	}
	r.endBlock()
	r.pop(-1)
	return r.finding
}

// line reads a line.
func (r *indentedReader) line(from, to int) {
	item := trimmed(r.text, from, to)
	if item.from == item.to || r.text[item.from] == '#' {
		return
	}
	indent := item.from - from
	if r.from >= 0 && indent > r.from {
		r.block.to = item.to
		if r.block.from == 0 {
			r.block.from = item.from
		}
		return
	}
	r.endBlock()
	if begin, dash := behindText(r.text, item); begin > 0 {
		if indentedMember.MatchString(r.text[item.from:item.to]) {
			r.object(from, trimmed(r.text, item.from, begin))
		}
		r.pop(-1)
		r.member(trimmed(r.text, begin+dash, item.to), dash)
		return
	}
	r.object(from, item)
}

// behindText returns where the first member of an object begins that stands behind other text at the
// end of a line, and how wide the dash before it is. It returns 0 if there is none.
func behindText(s string, item extent) (begin, dash int) {
	line := s[item.from:item.to]
	before := line[:max(0, strings.LastIndex(line, ": "))]
	if !strings.HasSuffix(before, "name") && !strings.HasSuffix(before, "key") && !strings.HasSuffix(before, "kind") {
		return 0, 0
	}
	m := lastMember.FindStringSubmatchIndex(line)
	if len(m) == 0 || m[2] == 0 {
		return 0, 0
	}
	return item.from + m[2], m[5] - m[4]
}

// lastMember matches the member of an object that a line ends with.
var lastMember = regexp.MustCompile(`((- )?\b(?:name|key|kind): ["']?[\w./-]{2,128}["']?)$`)

// object reads a line of an object. The line begins at from.
func (r *indentedReader) object(from int, item extent) {
	if item.from == item.to {
		return
	}
	if r.text[item.from] == '-' && r.text[item.from:item.to] == strings.Repeat("-", item.to-item.from) && item.to-item.from > 2 {
		r.pop(-1) // another document
		return
	}
	dashed := false
	begin := item.from
	for strings.HasPrefix(r.text[item.from:item.to], "- ") {
		dashed = true
		item = trimmed(r.text, item.from+1, item.to)
	}
	if dashed {
		r.item(item, begin-from)
		r.pop(item.from - from)
	}
	r.member(item, item.from-from)
}

// item takes an item of a list that has the name of secrets.
func (r *indentedReader) item(item extent, dash int) {
	if r.list == "" || dash < r.dash {
		return
	}
	v := unquoted(r.text, item)
	if value := r.text[v.from:v.to]; v.from < v.to && !strings.ContainsAny(value, " \t") && looksSecret(value) && secretUnder(r.list, value) {
		r.add(v.from, v.to)
	}
}

// pop ends the objects that are indented so far or more.
func (r *indentedReader) pop(indent int) {
	for len(r.stack) > 0 && r.stack[len(r.stack)-1].indent >= indent {
		last := len(r.stack) - 1
		h := &r.stack[last]
		h.opens = '{'
		r.finding = h.closeAll(r.text, h.close(r.text, r.finding))
		if h.role == holdsAll && last > 0 && len(r.stack[last-1].data) < maxHeld {
			r.stack[last-1].data = append(r.stack[last-1].data, h.data...)
		}
		r.stack = r.stack[:last]
	}
}

// indentedMember matches the name of a member.
var indentedMember = regexp.MustCompile(`^["']?([\w./$-]{1,128})["']?:(?:[ \t]+|$)`)

// member reads a member of an object that is indented so far. Another line ends all objects.
func (r *indentedReader) member(item extent, indent int) {
	m := indentedMember.FindStringSubmatchIndex(r.text[item.from:item.to])
	r.work += item.to - item.from
	if m == nil || len(r.stack) == maxObjects {
		if last := len(r.stack) - 1; last >= 0 && indent <= r.stack[last].indent && r.list == "" {
			r.pop(-1) // no more of the last member's value
		}
		return
	}
	r.pop(indent + 1)
	role := role(0)
	if last := len(r.stack) - 1; last < 0 || r.stack[last].indent < indent {
		if last >= 0 {
			role = r.stack[last].opened
		}
		r.stack = append(r.stack, indentedHolder{holder: holder{role: role}, indent: indent})
	}
	name := r.text[item.from+m[2] : item.from+m[3]]
	r.assign(name, trimmed(r.text, item.from+m[1], item.to), indent)
}

// assign adds a member to the last object.
func (r *indentedReader) assign(name string, v extent, indent int) {
	h := &r.stack[len(r.stack)-1]
	h.opened, r.list = 0, ""
	value := r.text[v.from:v.to]
	switch {
	case value == "":
		h.opened, r.list, r.dash = roleOf(name), secretWord(name), indent
	case value[0] == '|' || value[0] == '>':
		r.block, r.from, r.kept = extent{}, indent, h.role == holdsAll || roleOf(name) == holdsValue
	case value[0] != '{' && value[0] != '[' && value[0] != '&' && value[0] != '*':
		if comment := strings.Index(value, " #"); comment > 0 {
			v = trimmed(r.text, v.from, v.from+comment)
		}
		if isQuote(r.text[v.from]) {
			v = unquoted(r.text, v)
		}
		h.member(roleOf(name), r.text, v)
	}
}

// endBlock adds a text of several lines to the last object.
func (r *indentedReader) endBlock() {
	if r.from >= 0 && r.kept && r.block.from < r.block.to && len(r.stack) > 0 {
		r.stack[len(r.stack)-1].member(holdsValue, r.text, r.block)
	}
	r.from = -1
}
