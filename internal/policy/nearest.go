package policy

import (
	"slices"
	"strings"
)

// nearest returns the known word that was probably meant, or nothing. A word
// counts as meant if at most a third of it is mistyped.
func nearest(word string, known []string) string {
	best, least := "", len(word)/3+1
	if len(word) > maxWord {
		return ""
	}
	for _, k := range known {
		if d := distance(strings.ToLower(word), strings.ToLower(k)); d < least {
			best, least = k, d
		}
	}
	return best
}

// maxWord bounds what is compared: no name in a policy is longer.
const maxWord = 128

// distance counts the letters that have to be added, removed, replaced or
// swapped with their neighbour to make b from a.
func distance(a, b string) int {
	var before []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next := make([]int, len(b)+1)
		next[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			next[j+1] = min(row[j]+cost, row[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row = row, next
	}
	return row[len(b)]
}

// hint asks whether the nearest of the known words was meant.
func hint(word string, known []string) string {
	if near := nearest(word, known); near != "" {
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
