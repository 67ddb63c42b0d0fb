package console

import (
	"slices"
	"strings"

	"github.com/recoup-dev/recoup/fault"
)

// A list shows all of its columns until the visitor takes some away. The browser remembers
// the names of those in a cookie, one for each list, and that is the only place where they
// are kept.

// columns are those of a list that can be taken away: not the first one, by which a row is
// known and opened.
type columns struct {
	List string
	All  []column
}

type column struct {
	Name, Label string
	Shown       bool
}

// Shows reports whether a list shows a column.
func (c columns) Shows(name string) bool {
	return !slices.ContainsFunc(c.All, func(x column) bool { return x.Name == name && !x.Shown })
}

// Hidden is how many columns were taken away.
func (c columns) Hidden() (n int) {
	for _, x := range c.All {
		if !x.Shown {
			n++
		}
	}
	return n
}

// coreColumns are the labels of the columns of lists.
func coreColumns() map[string][]string {
	return map[string][]string{
		"errors":       {"For whom", "State", "Owner", "Age", "Next", "Id"},
		"groups":       {"Parked", "24 hours", "Owner", "In all", "First seen", "Last seen"},
		"dead-letters": {"Where", "In all", "30 days", "Owner", "First seen", "Last seen"},
		"alerts":       {"For", "Severity", "Condition", "Value", "Since", "Notified"},
	}
}

// columnsOf are the columns of a list by its name, all of them shown.
func (c *Console) columnsOf(list string) (columns, bool) {
	for _, s := range c.sections {
		labels, ok := s.Columns[list]
		if !ok {
			continue
		}
		all := columns{List: list}
		for _, label := range labels {
			all.All = append(all.All, column{strings.ReplaceAll(strings.ToLower(label), " ", "-"), label, true})
		}
		return all, true
	}
	return columns{}, false
}

func columnCookie(list string) string { return "recoup_columns_" + list }

// pageColumns are the columns of the list on a page, as the visitor wants to see them.
func (v *Request) pageColumns(page string) columns {
	if page == "park" || page == "group" { // errors, too
		page = "errors"
	}
	c, ok := v.console.columnsOf(page)
	if !ok {
		return columns{}
	}
	if cookie, err := v.r.Cookie(columnCookie(page)); err == nil {
		gone := strings.Split(cookie.Value, ".")
		for i := range c.All {
			c.All[i].Shown = !slices.Contains(gone, c.All[i].Name)
		}
	}
	return c
}

// chooseColumns remembers which columns of a list are wanted for a year, and goes on where
// that was said.
func chooseColumns(v *Request) (any, error) {
	c, ok := v.console.columnsOf(v.r.PostFormValue("list"))
	if !ok {
		return nil, fault.New(fault.CodeNotFound, "No list of that name has columns to choose from.")
	}
	var gone []string
	for _, x := range c.All {
		if !slices.Contains(v.r.PostForm["show"], x.Name) {
			gone = append(gone, x.Name)
		}
	}
	life := 365 * 24 * 3600
	if gone == nil {
		life = -1
	}
	v.console.setCookie(v.w, v.r, columnCookie(c.List), strings.Join(gone, "."), life)
	v.goTo(destination(v.r.PostFormValue("to")))
	return nil, nil
}
