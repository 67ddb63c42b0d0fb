package console

import "github.com/recoup-dev/recoup"

// Destination is where a sign-in leads.
var Destination = destination

// Navigation is the letters of the pages that one can always go to, with those of other
// sections.
func Navigation(more ...Section) (letters []string) {
	entries, err := navigation(append([]Section{core()}, more...))
	if err != nil {
		panic(err)
	}
	for _, e := range entries {
		letters = append(letters, e.Key)
	}
	return letters
}

// Offered are the acts in the order in which pages offer them.
func Offered() (names []recoup.ActName) {
	for _, v := range verbs() {
		names = append(names, v.Name)
	}
	return names
}
