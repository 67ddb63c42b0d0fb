package console

import (
	"cmp"
	"fmt"
	"io/fs"
	"slices"

	"github.com/recoup-dev/recoup"
)

// Section is a part of the console: pages, and what leads to them. The console itself
// brings one along; [Options] adds others.
type Section struct {
	Pages     []Page
	Templates fs.FS // has page_NAME.html for every page, with _ for the hyphens of its name

	Panels   []Panel             // of the page of the platform
	Entries  []Entry             // of the navigation
	Within   map[string]string   // the entry that is marked on pages that have none of their own
	Finders  []Finder            // of ids that people look for
	Columns  map[string][]string // the labels of columns that can be hidden, by the page of the list
	Outcomes map[string]Outcome  // what pages say after an act, by the word that [Request.GoDone] is given
}

// Page is a page, or an act whose end is a page. A view returns what its template shows;
// an act sends the browser on, and returns nothing.
type Page struct {
	Method, Path string // the path is below [Path]
	Name         string // of its template; empty: no page is shown
	View         func(*Request) (any, error)
}

// Entry is a line of the navigation.
type Entry struct {
	Page, Path, Name, Key string
	Rule                  bool   // a line is drawn above it
	After                 string // the page of the entry that it follows; empty: it comes last
}

// Finder leads from an id to its page.
type Finder struct {
	Kind       recoup.IDKind
	Name, Path string // what it is called, and the path of its page up to the id
}

// Outcome is what pages say of an act that was done: of so many of a noun, or, without one,
// a sentence.
type Outcome struct{ Done, Noun string }

// navigation puts the entries of all sections in order.
func navigation(sections []Section) (list []Entry, err error) {
	for _, s := range sections {
		for _, e := range s.Entries {
			if i := slices.IndexFunc(list, func(other Entry) bool { return other.Page == e.Page || other.Key == e.Key }); i >= 0 {
				return nil, fmt.Errorf("console: the entries %s and %s of the navigation have the same page or key", list[i].Name, e.Name)
			}
			at := len(list)
			if e.After != "" {
				at = slices.IndexFunc(list, func(other Entry) bool { return other.Page == e.After }) + 1
			}
			if at == 0 && e.After != "" {
				return nil, fmt.Errorf("console: the entry %s follows %s, which is no page of the navigation", e.Name, e.After)
			}
			list = slices.Insert(list, at, e)
		}
	}
	return list, nil
}

// entryOf returns the page of the entry that is marked on a page.
func (c *Console) entryOf(page string) string {
	for _, s := range c.sections {
		if entry, ok := s.Within[page]; ok {
			return entry
		}
	}
	return page
}

// outcome returns what pages say after an act.
func (c *Console) outcome(word string) (o Outcome) {
	for _, s := range c.sections {
		o = cmp.Or(o, s.Outcomes[word])
	}
	return o
}

// finders returns those of all sections.
func (c *Console) finders() (list []Finder) {
	for _, s := range c.sections {
		list = append(list, s.Finders...)
	}
	return list
}
