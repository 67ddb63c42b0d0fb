package redact

import "math/bits"

// maxRules is how many rules a table may have.
const maxRules = 5 * 64

// set is a set of rules, by their index in the table.
type set [maxRules / 64]uint64

func single(i int) (s set) {
	s[i/64] = 1 << (i % 64)
	return s
}

func (s set) empty() bool { return s == set{} }

func (s *set) add(o *set) {
	for i := range s {
		s[i] |= o[i]
	}
}

func (s set) and(o set) set {
	for i := range s {
		s[i] &= o[i]
	}
	return s
}

func (s set) without(o set) set {
	for i := range s {
		s[i] &^= o[i]
	}
	return s
}

// all yields the members, the smallest first.
func (s set) all(yield func(int) bool) {
	for i, word := range s {
		for ; word != 0; word &= word - 1 {
			if !yield(i*64 + bits.TrailingZeros64(word)) {
				return
			}
		}
	}
}
