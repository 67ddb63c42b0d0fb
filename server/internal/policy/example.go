package policy

// Examples names the policies that Recoup ships beside the one that [Starter] writes.
func Examples() []string { return []string{"spec"} }

// Example returns the text of an example.
func Example(name string) ([]byte, bool) {
	if name != Examples()[0] {
		return nil, false
	}
	return DefaultFile(), true
}
