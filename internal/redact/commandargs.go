package redact

import (
	"slices"
	"strings"
)

// arguments returns a copy of an array that has the arguments of a command, with the passwords in it
// replaced, or nil if there are none: ["curl", "-u", "ada:hunter2"].
func (w *walk) arguments(items []any) []any {
	text, begins := argumentList(items)
	if text == "" {
		return nil
	}
	reader := slices.IndexFunc(w.rules, func(r rule) bool { return r.name == "command" && r.of == "line" })
	if reader < 0 {
		return nil
	}
	spans := merge(w.rules[reader].find(text, finding{}).spans)
	var copied []any
	for i := len(spans) - 1; i >= 0; i-- { // backwards, so that the places before stay
		sp := spans[i]
		item, found := slices.BinarySearch(begins, sp.from)
		if !found {
			item--
		}
		if item < 0 {
			continue
		}
		word := items[item].(string)
		from, to := sp.from-begins[item], sp.to-begins[item]
		if to > len(word) || w.replaced(word, span{from: from, to: to}) {
			continue
		}
		if copied == nil {
			copied = slices.Clone(items)
			items = copied
		}
		copied[item] = word[:from] + w.take("command") + word[to:]
	}
	return copied
}

// argumentList writes an array of words with an option among them as a list, and returns where each
// word begins. The text is empty if the array is none.
func argumentList(items []any) (text string, begins []int) {
	const most = 256
	options := 0
	for _, item := range items {
		word, ok := item.(string)
		if !ok {
			return "", nil
		}
		if strings.HasPrefix(word, "-") {
			options++
		}
	}
	if options == 0 || len(items) < 2 || len(items) > most {
		return "", nil
	}
	var b strings.Builder
	b.WriteByte('[')
	for _, item := range items {
		b.WriteByte('"')
		begins = append(begins, b.Len())
		if b.Len()+len(item.(string)) > maxCommand {
			break
		}
		b.WriteString(plainWord.Replace(item.(string)))
		b.WriteString(`", `)
	}
	b.WriteByte(']')
	return b.String(), begins
}

// plainWord writes the marks of a list in a word as others of the same length.
var plainWord = strings.NewReplacer(`"`, "'", `\`, "/", "\n", " ")
