package redact

import (
	"regexp"
	"strings"
)

// commandLines reads commands that are not written as one line of words, and lets the rules for
// commands look at them as if they were:
//
//	['mysql', '-u', 'root', '-phunter2']
//	[curl, -u, ada:hunter2]
//	a0="sshpass" a1="-p" a2="hunter2"
//	curl https://example.org \
//	  --user 'ada:correct horse'
type commandLines struct {
	rules []rule
	gate  *gate // of the rules, and of the options in a list
}

// commandLinesRule makes the rule of the rules for commands.
func commandLinesRule(commands []rule) rule {
	c := commandLines{}
	all := rule{name: "command", of: "line", multiline: true, gate: listOptions()}
	for _, command := range commands {
		if command.multiline || command.name != "command" {
			continue
		}
		if command.find == nil {
			command.find = expression(command.expr, command.check)
		}
		c.rules = append(c.rules, command)
		all.gate = append(all.gate, command.gate...)
	}
	c.gate = newGate(append(c.rules[:len(c.rules):len(c.rules)], rule{gate: listOptions()}))
	all.find = c.find
	return all
}

// listOptions returns how the options for passwords begin in a list.
func listOptions() (literals []string) {
	for _, before := range []string{"'", `"`, ", ", "["} {
		for _, option := range "puawknxcshb-" {
			literals = append(literals, before+"-"+string(option))
		}
	}
	return literals
}

func (c *commandLines) find(s string, f finding) finding {
	f.work += len(s)
	for from := 0; from < len(s); {
		to := commandEnd(s, from)
		if !c.gate.scan(s[from:to]).empty() {
			f = c.command(s, from, to, f)
		}
		from = to + 1
	}
	return f
}

// command lets the rules look at a command that lies from from to to.
func (c *commandLines) command(s string, from, to int, f finding) finding {
	v, changed := commandLine(s[from:to])
	if !changed {
		return f // they look at it anyway
	}
	f.work += to - from
	program := spawnedProgram(s, from, v.text)
	line := program + v.text
	first := len(f.spans)
	for i := range c.gate.scan(line).all {
		if i < len(c.rules) {
			f = c.rules[i].find(line, f)
		}
	}
	for k := first; k < len(f.spans); k++ {
		sp := &f.spans[k]
		sp.from, sp.to = v.original(max(0, sp.from-len(program)), max(0, sp.to-len(program)))
		sp.from, sp.to = sp.from+from, sp.to+from
	}
	return f
}

// spawned matches the program that Node could not start: spawn mysql ENOENT, path: 'mysql'.
var spawned = regexp.MustCompile(`\b(?:path["']?: ["']|spawn )([^"'\s]{1,64})`)

// spawnedProgram returns the program whose arguments Node prints in a line, with a blank behind it.
// It stands on a line before.
func spawnedProgram(s string, from int, line string) string {
	const near = 256
	if !strings.Contains(line, "spawnargs") {
		return ""
	}
	all := spawned.FindAllStringSubmatch(s[max(0, from-near):from], -1)
	if len(all) == 0 {
		return ""
	}
	path := all[len(all)-1][1]
	return path[strings.LastIndexAny(path, `/\`)+1:] + " "
}

// maxCommand is how long a command over several lines is at most. The rest is read as another one.
const maxCommand = 4 << 10

// commandEnd returns where the command ends that begins at from: at the end of its line, or of
// another line if it continues there or if a list is open.
func commandEnd(s string, from int) int {
	listed := false
	for begin := from; ; {
		end := len(s)
		if n := strings.IndexByte(s[begin:], '\n'); n >= 0 {
			end = begin + n
		}
		line := strings.TrimRight(s[begin:end], " \t\r")
		listed = strings.HasSuffix(line, "[") || listed && !strings.HasPrefix(strings.TrimLeft(line, " \t"), "]")
		if end == len(s) || end-from > maxCommand || !listed && !continuedLine(line) {
			return end
		}
		begin = end + 1
	}
}

// continuedLine reports whether the command of a line continues on the next one, as shells, cmd.exe
// and PowerShell write it.
func continuedLine(line string) bool {
	return strings.HasSuffix(line, `\`) || strings.HasSuffix(line, " ^") || strings.HasSuffix(line, " `")
}

// filled stands in the view of a command for a blank or a quote that belongs to a word.
const filled = '\x01'

// lineView writes a command as one line of words.
type lineView struct {
	from     string
	line     []byte
	brackets []byte    // those that are open
	unclosed [128]bool // quotes that are not closed up to the end
}

// commandLine returns a command with one blank instead of the marks of a list and of line breaks, and
// without the blanks in its quoted words. It reports false if there are none.
func commandLine(s string) (view, bool) {
	if !strings.ContainsAny(s, "\"'`[\n") {
		return view{}, false
	}
	v := lineView{from: s, line: []byte(s)}
	for i := 0; i < len(s); i++ {
		switch b := s[i]; {
		case b == '\n':
			v.newline(i)
		case isQuote(b):
			i = v.quote(i)
		case b == ',' && v.separates(i):
			v.line[i] = ' '
		case b == '[' && strings.HasPrefix(s[i:], opening):
			i += len(opening) + max(0, strings.IndexByte(s[i+len(opening):min(len(s), i+maxReplacement)], ']'))
		case nesting(b) != 0:
			v.bracket(i)
		}
	}
	if string(v.line) == s {
		return view{}, false
	}
	return v.words(), true
}

// words returns the view with one blank between two words.
func (v *lineView) words() view {
	words := view{at: make([]int32, 0, len(v.line)+1)}
	text := make([]byte, 0, len(v.line))
	for i, b := range v.line {
		if b != ' ' || i == 0 || v.line[i-1] != ' ' {
			text = append(text, b)
			words.at = append(words.at, int32(i))
		}
	}
	words.text, words.at = string(text), append(words.at, int32(len(v.line)))
	return words
}

// maxReplacement is how far the end of a replacement is looked for.
const maxReplacement = 48

// newline blanks a line break with the mark of the continuation before it.
func (v *lineView) newline(i int) {
	v.line[i] = ' '
	for i--; i >= 0 && strings.IndexByte(" \t\r", v.from[i]) >= 0; i-- {
		v.line[i] = ' '
	}
	if i >= 0 && strings.IndexByte("\\^`", v.from[i]) >= 0 {
		v.line[i] = ' '
	}
}

func (v *lineView) bracket(i int) {
	v.line[i] = ' '
	if nesting(v.from[i]) > 0 {
		v.brackets = append(v.brackets, v.from[i])
	} else if n := len(v.brackets); n > 0 {
		v.brackets = v.brackets[:n-1]
	}
}

// separates reports whether the comma at i stands between two words of a list.
func (v *lineView) separates(i int) bool {
	if i+1 == len(v.from) || i > 0 && isQuote(v.from[i-1]) {
		return true
	}
	n := len(v.brackets)
	return n > 0 && v.brackets[n-1] == '[' && strings.IndexByte(" \n\"'", v.from[i+1]) >= 0
}

// quote reads the quotation that opens at i, and returns where it closes, or i if none opens there.
func (v *lineView) quote(i int) int {
	escapes := 0
	for escapes < i && v.from[i-escapes-1] == '\\' {
		escapes++
	}
	begin := i - escapes
	if !v.opens(begin) || opensArguments(v.from[i+1:]) || v.unclosed[v.from[i]] {
		return i
	}
	end := quoteEnd(v.from, i, escapes)
	if end == len(v.from) {
		v.unclosed[v.from[i]] = true
		return i
	}
	if hasOption(v.from[i+1 : end]) { // it is a command of its own
		v.blank(begin, i+1)
		return i
	}
	last := min(end+escapes, len(v.from)-1)
	v.fill(i+1, end)
	if item := v.item(begin); item <= begin {
		v.blank(item, i+1)
		v.blank(end, last+1)
		return last
	}
	for k := begin; k < i; k++ {
		v.line[k] = v.from[i]
	}
	for k := end; k <= last; k++ {
		v.line[k] = v.from[i]
	}
	return last
}

// opensArguments reports whether a list follows a quote: Command '['mysql', …]'.
func opensArguments(s string) bool {
	return strings.HasPrefix(s, "[") && !strings.HasPrefix(s, opening)
}

// opens reports whether a word or its value can begin at i with a quote.
func (v *lineView) opens(i int) bool {
	const longest = 3 // of an option before its value: -p'X'
	if i == 0 || strings.IndexByte(" \t\n,([{=:/%", v.from[i-1]) >= 0 {
		return true
	}
	for k := i - 1; k > 0 && i-k <= longest && letter(v.from[k]); k-- {
		if v.from[k-1] == '-' {
			return k == 1 || v.from[k-2] == ' ' || v.from[k-2] == '-'
		}
	}
	return false
}

// item returns where the item of a list begins whose quotation begins at i, with the name that audit
// gives it (a0="mysql"), or a place behind i if it is none.
func (v *lineView) item(i int) int {
	k := i
	if k > 0 && v.from[k-1] == '=' {
		for k--; k > 0 && digit(v.from[k-1]); k-- {
		}
		if k < i-1 && k > 1 && v.from[k-1] == 'a' && v.from[k-2] == ' ' {
			return k - 1
		}
		return i + 1
	}
	for k > 0 && strings.IndexByte(" \n", v.from[k-1]) >= 0 && i-k < 64 {
		k--
	}
	if k > 0 && (nesting(v.from[k-1]) > 0 || v.from[k-1] == ',') {
		return i
	}
	return i + 1
}

func (v *lineView) blank(from, to int) {
	for i := from; i < to; i++ {
		v.line[i] = ' '
	}
}

// fill makes one word of a quotation.
func (v *lineView) fill(from, to int) {
	for i := from; i < to; i++ {
		if strings.IndexByte(" \t\n\"'`", v.from[i]) >= 0 {
			v.line[i] = filled
		}
	}
}

// hasOption reports whether a quotation has an option in it that begins a word.
func hasOption(s string) bool {
	for i := 1; i+1 < len(s); i++ {
		if s[i] == '-' && strings.IndexByte(" \"'[", s[i-1]) >= 0 && (letter(s[i+1]) || s[i+1] == '-') {
			return true
		}
	}
	return false
}
