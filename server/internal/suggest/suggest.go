// Package suggest guesses which known word the user meant: one that was
// mistyped, or of which only the beginning was typed. What the words are, and
// what is said about a guess, is the caller's.
package suggest

import (
	"cmp"
	"slices"
	"strings"
)

// maxWord bounds what is compared: nobody mistypes a longer word, and the work
// grows with its length.
const maxWord = 128

// Words returns the known words that are at most limit mistakes away from word,
// the nearest first and equals in the order given. Upper and lower case are the
// same.
func Words(word string, known []string, limit int) []string {
	if len(word) > maxWord {
		return nil
	}
	type guess struct {
		word     string
		mistakes int
	}
	var near []guess
	for _, k := range known {
		if n := distance(strings.ToLower(word), strings.ToLower(k)); n <= limit {
			near = append(near, guess{k, n})
		}
	}
	slices.SortStableFunc(near, func(a, b guess) int { return cmp.Compare(a.mistakes, b.mistakes) })
	words := make([]string, len(near))
	for i, g := range near {
		words[i] = g.word
	}
	return words
}

// distance counts the letters that have to be added, removed, replaced or
// swapped with their neighbour to make b from a. Leaving out the end of b costs
// one, however long it is, because people type the beginning of a name.
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
	return min(row[len(b)], slices.Min(row)+1)
}
