package policy

import (
	"slices"
	"strings"

	"github.com/recoup-dev/recoup/server/internal/suggest"
)

// meant returns the known word that was probably meant, or nothing. A word
// counts as meant if at most a third of it is mistyped.
func meant(word string, known []string) string {
	if near := suggest.Words(word, known, len(word)/3); len(near) > 0 {
		return near[0]
	}
	return ""
}

// hint asks whether the nearest of the known words was meant.
func hint(word string, known []string) string {
	if near := meant(word, known); near != "" {
		return "; did you mean " + near + "?"
	}
	return ""
}

// alternatives lists words as a person would: a, b or c.
func alternatives(list []string) string {
	switch len(list) {
	case 0:
		return "nothing"
	case 1:
		return list[0]
	}
	list = slices.Clone(list)
	last := list[len(list)-1]
	return strings.Join(list[:len(list)-1], ", ") + " or " + last
}
