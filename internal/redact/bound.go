package redact

import (
	"regexp"
	"strconv"
	"strings"
)

// argumentsRule finds the arguments of SQL statements. The statement names a secret column and
// has a placeholder for its value, and the arguments stand behind the statement or before it:
//
//	UPDATE users SET password = ? WHERE id = ? [hunter2, 42]
//
// An argument is redacted if its placeholder belongs to a secret column. If the arguments cannot
// be matched with the placeholders, all of them are redacted.
func argumentsRule() rule {
	return rule{name: "sql", of: "arguments", gate: columnWords(), multiline: true, find: findArguments}
}

// maxApart is how far the arguments may stand from their statement.
const maxApart = 2 << 10

func findArguments(s string, f finding) finding {
	f.work += len(s)
	var last *statement // whose arguments have not been looked for
	least := 0          // where the statement before last ends
	before := false     // the arguments stand before the first statement, and so before each
	for at := 0; at < len(s); {
		st, stopped := nextStatement(s, at)
		if stopped == at {
			break
		}
		f.work += stopped - at
		at = stopped
		if len(st.slots) == 0 {
			continue
		}
		if last == nil {
			before = hasList(s[max(0, st.from-maxApart):st.from])
		} else {
			f = last.arguments(s, least, st.from, before, f)
			least = last.to
		}
		last = &st
	}
	if last != nil {
		f = last.arguments(s, least, len(s), before, f)
	}
	return f
}

// hasList reports whether a text has a list of arguments with a word before it.
func hasList(s string) bool {
	for _, m := range listWords.FindAllStringIndex(s, -1) {
		if m[1] < len(s) && (opensList(s[m[1]]) || s[m[1]] == '$') {
			return true
		}
	}
	return false
}

// arguments looks for the arguments of a statement between the statements next to it: behind it,
// and also before it if they stand there.
func (st *statement) arguments(s string, least, limit int, before bool, f finding) finding {
	if !st.secret() {
		return f
	}
	least, limit = max(least, st.from-maxApart), min(limit, st.to+maxApart)
	f.work += limit - least
	f = st.marked(s[:limit], st.to, true, f)
	if before {
		f = st.marked(s[:st.from], least, false, f)
	}
	return f
}

var (
	// listWords are what programs call the arguments of a statement.
	listWords = regexp.MustCompile(`(?i)(?:(?:\b|_)(?:param(?:eter)?s?|paramvalues|parameter values|arg(?:ument)?s?|bind(?:ing)?s?|vars|values|bind vars)\b["'\\]*(?:\s*(?::|=>|=)\s*["'\\]*|\s+)` +
		`|\[(?:generated in|cached since|raw sql|no key|caching disabled)[^\]\n]{0,48}\]\s*)`)

	// oneArgument matches what stands before an argument that is logged alone, with its number.
	oneArgument = regexp.MustCompile(`(?i)\b(?:binding parameter \[(\d{1,3})\] as \[[\w ]{1,40}\] - \[|binding parameter \((\d{1,3}):\w{1,40}\) <- \[|column index (\d{1,3}), parameter value \[|` +
		`bind(?:ing)? (?:param(?:eter)? |value )?#?(\d{1,3}) ?[:=] ?)`)
)

// marked takes the arguments from from on. Behind the statement, a list needs no word before it.
func (st *statement) marked(s string, from int, behind bool, f finding) finding {
	if numbered := oneArgument.FindAllStringSubmatchIndex(s[from:], -1); numbered != nil {
		for _, m := range numbered {
			f = st.one(s, from, m, f)
		}
		return f
	}
	if behind {
		if at := st.direct(s, from); at > 0 {
			return st.list(s, at, f)
		}
	}
	for at := from; at < len(s); {
		m := listWords.FindStringIndex(s[at:])
		if m == nil {
			break
		}
		begin := at + m[1]
		assigned := strings.IndexByte(" \t\r\n", s[begin-1]) < 0 || strings.ContainsAny(s[at+m[0]:begin], ":=")
		at = begin
		if begin < len(s) && (opensList(s[begin]) || assigned && s[begin] != '=' && (behind || s[begin] == '$')) {
			f = st.list(s, begin, f)
			at = listOrLineEnd(s, begin)
		}
	}
	return f
}

func opensList(b byte) bool { return nesting(b) > 0 }

// listOrLineEnd returns where the list ends that begins at i, which may have no brackets.
func listOrLineEnd(s string, i int) int {
	if opensList(s[i]) {
		return listEnd(s, i)
	}
	end := min(len(s), i+maxList)
	if n := strings.IndexByte(s[i:end], '\n'); n >= 0 {
		end = i + n
	}
	return end
}

// one takes the argument that is logged alone, if its placeholder belongs to a secret column.
func (st *statement) one(s string, offset int, m []int, f finding) finding {
	for g := 2; g < len(m); g += 2 {
		if m[g] < 0 {
			continue
		}
		slot := st.numbered(s[offset+m[g] : offset+m[g+1]])
		if slot == nil || !slot.secret {
			break
		}
		from := offset + m[1]
		line, _, _ := strings.Cut(s[from:min(len(s), from+maxList)], "\n")
		if s[from-1] == '[' {
			line, _, _ = strings.Cut(line, "], value class")
			line = strings.TrimSuffix(strings.TrimRight(line, " \t\r"), "]")
		}
		f.work += len(line)
		return st.take(s, trimmed(s, from, from+len(line)), f)
	}
	return f
}

// direct returns where a list opens that follows the statement without a word before it, or 0.
func (st *statement) direct(s string, from int) int {
	const longest = 240
	tail := s[from:min(len(s), from+longest)]
	if m := listWords.FindStringIndex(tail); m != nil {
		tail = tail[:m[0]]
	}
	at := strings.IndexByte(tail, '[')
	if at > 0 && !st.signed && strings.IndexByte(" \t\n", tail[at-1]) >= 0 && !strings.HasPrefix(tail[at:], opening) && st.fits(s, from+at) {
		return from + at
	}
	rest := strings.TrimLeft(tail, " \t\r\n)\"'`;,%:\\-")
	if rest == "" || rest[0] != '(' && rest[0] != '{' {
		return st.quotedList(s, from, tail)
	}
	at = from + len(tail) - len(rest)
	if s[at-1] == ' ' && st.fits(s, at) {
		return at
	}
	return 0
}

// quotedList returns where a list without brackets begins that follows a semicolon, or 0:
// VALUES ($1,$2); "ada", "X".
func (st *statement) quotedList(s string, from int, tail string) int {
	at := strings.Index(tail, `; "`)
	if at < 0 {
		return 0
	}
	begin := from + at + 2
	if len(split(s, begin, listOrLineEnd(s, begin))) != st.count() {
		return 0
	}
	return begin
}

// fits reports whether the list that opens at i has as many values as the statement has
// placeholders, or has values with names or lists in it.
func (st *statement) fits(s string, i int) bool {
	end := listEnd(s, i)
	items := split(s, i+1, end)
	return len(items) == st.count() || len(splitBlanks(s, i+1, end)) == st.count() || len(items) > 0 && opensList(s[items[0].from]) || s[i] == '{'
}

// list takes the secret arguments of the list that begins at i.
func (st *statement) list(s string, i int, f finding) finding {
	end, from := listOrLineEnd(s, i), i
	if opensList(s[i]) {
		from++
	}
	f.work += 4 * (end - i)
	return st.values(s, from, end, opensList(s[i]), 0, f)
}

// values takes the secret arguments between from and to.
func (st *statement) values(s string, from, to int, bracketed bool, depth int, f finding) finding {
	const deepest = 2
	items := split(s, from, to)
	if len(items) == 1 && st.count() > 1 && bracketed {
		if words := splitBlanks(s, from, to); len(words) == st.count() {
			items = words
		}
	}
	matched := len(items)%st.count() == 0
	for i, item := range items {
		key, value := st.key(s, item)
		switch {
		case key != nil:
			if key.secret {
				f = st.take(s, value, f)
			}
		case depth < deepest && item.from < item.to && opensList(s[item.from]) && !strings.HasPrefix(s[item.from:], opening):
			f = st.values(s, item.from+1, listEnd(s[:item.to], item.from), true, depth+1, f)
		case matched:
			if slot := st.at(i % st.count()); slot != nil && slot.secret {
				f = st.take(s, item, f)
			}
		case bracketed || !plainCell(s, item):
			f = st.take(s, item, f)
		}
	}
	return f
}

// plainCell reports whether an item of a list without brackets may be part of a sentence.
func plainCell(s string, item extent) bool {
	v := unquoted(s, item)
	return v.from == v.to || v.bare && (plainShape(s[v.from:v.to]) || !chosenWord(s[v.from:v.to]))
}

var (
	// itemKey matches the name before an argument: 'name': X, $1 = X, @p0='X', "name"=>X.
	itemKey = regexp.MustCompile(`^[\["'\\(]*([:@$%]?[\w.]{1,64})["'\\]*\s*(?:=>|=|:|,)\s*`)

	// typeSuffix matches the type that MyBatis writes behind an argument: X(String).
	typeSuffix = regexp.MustCompile(`\((?:[A-Z][A-Za-z]{2,24}|byte\[\])\)$`)
)

// key returns the placeholder that an item of a list names, or nil, and where its argument lies.
// An item may also be a pair of a column and its argument.
func (st *statement) key(s string, item extent) (*slot, extent) {
	const longest = 96
	head := s[item.from:min(item.to, item.from+longest)]
	m := itemKey.FindStringSubmatchIndex(head)
	if m == nil {
		return nil, item
	}
	name, pair := head[m[2]:m[3]], strings.HasSuffix(strings.TrimRight(head[:m[1]], " "), ",")
	if pair && (head[0] != '[' && head[0] != '(') {
		return nil, item
	}
	value := extent{from: item.from + m[1], to: item.to, bare: true}
	if pair {
		value = trimmed(s, value.from, listEnd(s[:item.to], item.from))
	}
	return st.called(name, pair), value
}

// take adds an argument, without its quotes, unless it says nothing.
func (st *statement) take(s string, item extent, f finding) finding {
	v := unquoted(s, item)
	if v.bare {
		v.to -= len(typeSuffix.FindString(s[v.from:v.to]))
	}
	if v.from < v.to && !masked(s[v.from:v.to]) && placeholderWidth(s, v.from) != v.to-v.from && !strings.HasPrefix(s[v.from:], opening) {
		f.add(v.from, v.to)
	}
	return f
}

// slot is a placeholder of a statement.
type slot struct {
	name   string // without its sign; "" for ? and %s
	number int    // of $1, or 0
	column string
	secret bool
}

// statement is a statement of SQL with placeholders.
type statement struct {
	from, to int // from its verb to behind its last placeholder
	slots    []slot
	highest  int  // the highest number of a placeholder, or 0
	signed   bool // its placeholders are @names, and brackets may be around names
}

func (st *statement) secret() bool {
	for i := range st.slots {
		if st.slots[i].secret {
			return true
		}
	}
	return false
}

// count returns how many arguments the statement has.
func (st *statement) count() int {
	if st.highest > 0 {
		return st.highest
	}
	return len(st.slots)
}

// at returns the placeholder of the argument i, counted from 0, or nil.
func (st *statement) at(i int) *slot {
	if st.highest == 0 && i < len(st.slots) {
		return &st.slots[i]
	}
	for k := range st.slots {
		if st.slots[k].number == i+1 {
			return &st.slots[k]
		}
	}
	return nil
}

// numbered returns the placeholder with a number that begins with 1, or nil.
func (st *statement) numbered(number string) *slot {
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 {
		return nil
	}
	return st.at(n - 1)
}

// called returns the placeholder with a name or a number, or of a column, or nil.
func (st *statement) called(name string, column bool) *slot {
	plain := strings.TrimLeft(name, ":@$%")
	for i := range st.slots {
		if sl := &st.slots[i]; strings.EqualFold(sl.name, plain) && sl.name != "" || strings.EqualFold(sl.column, plain) && plain != "" {
			return sl
		}
	}
	if column {
		return nil
	}
	return st.numbered(plain)
}
