package reference

import "strings"

// match is the calls of an area that a query has found.
type match struct {
	*Area
	Found []found
}

// found is a call with what a search finds it by.
type found struct {
	*Operation
	Words string
}

// matches returns the calls that have every word of a query somewhere: in their address,
// their text, the names of their fields or their error codes. No query finds all.
func (r *Reference) matches(query string) (list []match) {
	wanted := strings.Fields(strings.ToLower(query))
	for _, a := range r.areas {
		m := match{Area: a}
		for _, o := range a.Operations {
			words := o.words()
			if containsAll(words, wanted) {
				m.Found = append(m.Found, found{o, words})
			}
		}
		if len(m.Found) > 0 {
			list = append(list, m)
		}
	}
	return list
}

func containsAll(text string, wanted []string) bool {
	for _, w := range wanted {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}

func count(list []match) (n int) {
	for _, m := range list {
		n += len(m.Found)
	}
	return n
}
