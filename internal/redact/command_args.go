package redact

import (
	"slices"
	"strings"
)

// arguments returns a copy of an array that has the arguments of a command, with the passwords in it
// replaced, or nil if there are none: ["curl", "-u", "ada:hunter2"].
func (w *walk) arguments(items []any) []any {
	words := wordsOf(items)
	if words == nil {
		return nil
	}
	reader := slices.IndexFunc(w.rules, func(r rule) bool { return r.name == "command" && r.of == "line" })
	if reader < 0 {
		return nil
	}
	text, begins := argumentList(words)
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
		word := words[item]
		from, to := sp.from-begins[item], sp.to-begins[item]
		if to > len(word) || w.replaced(word, span{from: from, to: to}) {
			continue
		}
		if copied == nil {
			copied = slices.Clone(items)
		}
		words[item] = word[:from] + w.take("command") + word[to:]
		copied[item] = words[item]
	}
	return copied
}

// wordsOf returns an array of words with an option among them, or nil if the array is none.
func wordsOf(items []any) []string {
	const most = 256
	option := func(item any) bool { word, _ := item.(string); return strings.HasPrefix(word, "-") }
	if len(items) < 2 || len(items) > most || !slices.ContainsFunc(items, option) {
		return nil
	}
	words := make([]string, len(items))
	for i, item := range items {
		word, ok := item.(string)
		if !ok {
			return nil
		}
		words[i] = word
	}
	return words
}

// argumentList writes words as a list, and returns where each of them begins.
func argumentList(words []string) (text string, begins []int) {
	var b strings.Builder
	b.WriteByte('[')
	for _, word := range words {
		if b.Len()+len(word) > maxCommand {
			break
		}
		b.WriteByte('"')
		begins = append(begins, b.Len())
		b.WriteString(plainWord.Replace(word))
		b.WriteString(`", `)
	}
	b.WriteByte(']')
	return b.String(), begins
}

// plainWord writes the marks of a list in a word as others of the same length.
var plainWord = strings.NewReplacer(`"`, "'", `\`, "/", "\n", " ")
