package redact

import "strings"

// fieldOfFile reports whether the name that begins at name is that of a field in a file of settings, and
// the value v looks like a password: it is the first word of its line, or of a field in braces. A test
// also says what did pass there.
func (k keyed) fieldOfFile(s string, name int, v extent) bool {
	const longest, shout = 128, "PASS"
	if k.name != "password" || !k.apart || strings.HasPrefix(s[name:], shout) {
		return false
	}
	value := s[v.from:v.to]
	if strings.HasPrefix(value, "Test") || !chosenAt(s, v.from, v.to) || changes(value) < 2 && !signed(value) && !numberBehindWord(value, 1) {
		return false
	}
	from := identifierBegin(s, name)
	begin := max(0, from-longest)
	before := strings.TrimRight(s[begin:from], " \t\"'")
	if item := strings.TrimSuffix(before, "-"); item != before { // of a list
		before = strings.TrimRight(item, " \t")
	}
	switch {
	case before == "" || strings.HasSuffix(before, "\n") || strings.HasSuffix(before, `\n`) || strings.HasSuffix(before, "{"):
		return true
	case strings.HasSuffix(before, ","):
		return strings.LastIndexByte(before, '{') > strings.LastIndexByte(before, '}')
	}
	return false
}

// numberedWords stand before the numbers of things: worker17, role2.
var numberedWords = wordSet("node worker host server session request attempt job order task role group user client version build release step stage phase level part page batch shard replica queue topic pod zone rack disk device port test case item row line suite thread process code error status exit signal errno keytab")

// numberBehindWord reports whether a text is a word and a number, as people make a password of them. The number
// has at least so many digits.
func numberBehindWord(v string, shortestNumber int) bool {
	const shortestWord = 4
	end := wordEnd(v, 0)
	return end >= shortestWord && len(v)-end >= shortestNumber && groupEnd(v, end) == len(v) && !numberedWords[strings.ToLower(v[:end])]
}
