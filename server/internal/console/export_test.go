package console

// Destination is where a sign-in leads.
var Destination = destination

// Navigation is the letters of the pages that one can always go to.
func Navigation() (letters []string) {
	for _, e := range navigation() {
		letters = append(letters, e.Key)
	}
	return letters
}
