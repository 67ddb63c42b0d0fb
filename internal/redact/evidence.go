package redact

// Evidence counts what was replaced, by the name of the rule: {"email": 2}. It
// says that something was found and never what. The nil Evidence is empty.
type Evidence map[string]int

// Merge adds the counts of another cleaning to e.
func (e *Evidence) Merge(other Evidence) {
	for name, n := range other {
		e.add(name, n)
	}
}

func (e *Evidence) add(name string, n int) {
	if *e == nil {
		*e = Evidence{}
	}
	(*e)[name] += n
}
