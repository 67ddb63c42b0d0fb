package postgres_test

import (
	"fmt"
	"slices"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/recoup-dev/recoup/fault"
	checks "github.com/recoup-dev/recoup/server/internal/check"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
)

// TestOddEntities compares the characters that plain SQL refuses in an entity with those that
// the API refuses, over all of Unicode. Characters that Unicode does not assign yet are refused by the
// API only: which these are depends on the version of Unicode.
func TestOddEntities(t *testing.T) {
	t.Parallel()
	owner, _ := pgtest.Migrated(t)
	got := ask[[]int32](at(t, owner), `select array_agg(c order by c) from generate_series(1, 1114111) c
		where c not between 55296 and 57343 and recoup.odd_entity('a' || chr(c) || 'b')`)
	refused := map[rune]bool{}
	for _, c := range got {
		refused[c] = true
	}
	var want []int32
	for c := range rune(utf8.MaxRune) + 1 {
		if c == 0 || c >= 0xd800 && c <= 0xdfff || unassigned(c) && !refused[c] {
			continue
		}
		err := checks.Identifier("entity_id", "a"+string(c)+"b")
		if err == nil {
			continue
		}
		if bad := fault.From(err).Fields()[0].Constraint; bad == "printable" || bad == "visible" {
			want = append(want, c)
		}
	}
	if !slices.Equal(got, want) {
		differ := func(a, b []int32) (list []string) {
			for _, c := range a {
				if !slices.Contains(b, c) {
					list = append(list, fmt.Sprintf("%U", c))
				}
			}
			return list
		}
		t.Errorf("only SQL refuses %v; only the API refuses %v", differ(got, want), differ(want, got))
	}
	for _, odd := range []string{" a", "a ", " "} {
		if !ask[bool](at(t, owner), "select recoup.odd_entity($1)", odd) {
			t.Errorf("%q is accepted", odd)
		}
	}
}

// unassigned reports whether a character has no category and may get one: it is no noncharacter.
func unassigned(c rune) bool {
	noncharacter := c&0xfffe == 0xfffe || c >= 0xfdd0 && c <= 0xfdef
	return !noncharacter && !unicode.In(c, unicode.L, unicode.M, unicode.N, unicode.P, unicode.S, unicode.Z, unicode.Cc, unicode.Cf, unicode.Co)
}
