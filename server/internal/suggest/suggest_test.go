package suggest

import (
	"slices"
	"strings"
	"testing"
)

func TestWords(t *testing.T) {
	known := []string{"RETRY", "PARK", "ARCHIVE", "IGNORE"}
	for _, row := range []struct {
		word  string
		limit int
		want  []string
	}{
		{"RETRY", 0, []string{"RETRY"}},
		{"retry", 0, []string{"RETRY"}},
		{"RERTY", 1, []string{"RETRY"}},
		{"RERTY", 0, nil},
		{"PARKED", 2, []string{"PARK"}},
		{"ARC", 1, []string{"ARCHIVE"}},
		{"", 0, nil},
		{"", 1, known},
		{strings.Repeat("R", maxWord), maxWord, known},
		{strings.Repeat("R", maxWord+1), maxWord + 1, nil},
	} {
		if got := Words(row.word, known, row.limit); !slices.Equal(got, row.want) {
			t.Errorf("nearest to %q within %d: %q, want %q", row.word, row.limit, got, row.want)
		}
	}
}

func TestWordsAreInOrder(t *testing.T) {
	got := Words("list", []string{"lost", "lists", "mist", "list"}, 1)
	if want := []string{"list", "lost", "lists", "mist"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestDistance(t *testing.T) {
	for _, row := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"abc", "", 3},
		{"abc", "abc", 0},
		{"abc", "abd", 1},
		{"abc", "acb", 1},
		{"abc", "abcd", 1},
		{"abcd", "abc", 1},
		{"kitten", "sitting", 3},
		{"RATE", "RATE_LIMIT_EXCEEDED", 1},
		{"RTE", "RATE_LIMIT_EXCEEDED", 2},
		{"RTAE", "RATE_LIMIT_EXCEEDED", 2},
		{"", "abc", 1},
		{"ABC", "XYZ", 3},
	} {
		if got := distance(row.a, row.b); got != row.want {
			t.Errorf("from %q to %q are %d steps, want %d", row.a, row.b, got, row.want)
		}
	}
}
