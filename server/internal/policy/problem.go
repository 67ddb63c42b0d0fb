package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one thing that is wrong with a policy file.
type Problem struct {
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Message string `json:"message"`
}

// LoadError is what [Load] returns for a file it refuses: every problem it
// could find, in the order of the file.
type LoadError struct {
	Name     string
	Problems []Problem
}

// Error writes one problem a line, as name:line:column: message.
func (e *LoadError) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = fmt.Sprintf("%s:%d:%d: %s", e.Name, p.Line, p.Column, p.Message)
	}
	return strings.Join(lines, "\n")
}

// problems collects what is wrong while a file is read.
type problems []Problem

// filledIn ends a problem with a value that the file does not write: its place is where
// the file begins.
const filledIn = " (a default: write it out to change it)"

func (ps *problems) add(at position, format string, args ...any) {
	if at == (position{}) {
		at, format = start, format+filledIn
	}
	*ps = append(*ps, Problem{Line: at.line, Column: at.column, Message: fmt.Sprintf(format, args...)})
}

// err returns the problems as an error, in the order of the file, or nil.
func (ps problems) err(name string) error {
	if len(ps) == 0 {
		return nil
	}
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Message, b.Message))
	})
	return &LoadError{Name: name, Problems: ps}
}
