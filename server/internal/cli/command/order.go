package command

import (
	"slices"
	"strings"
)

// order is how a list is sorted.
type order struct {
	column int // -1: as it was fetched
	down   bool
}

// ordering reads --sort: a column, with a minus before it if the order is descending.
func ordering(given string, columns []Column) (order, error) {
	if given == "" {
		return order{column: -1}, nil
	}
	name, down := strings.CutPrefix(given, "-")
	keys := make([]string, len(columns))
	for i := range columns {
		keys[i] = columns[i].key()
	}
	fold := strings.NewReplacer(" ", "_", "-", "_")
	if found, err := OneOf("column of --sort", fold.Replace(name), keys); err != nil {
		return order{}, err
	} else if found != "" {
		return order{column: slices.Index(keys, found), down: down}, nil
	}
	return order{}, Usagef("--sort %q names no column: expected one of %s", given, Join(keys))
}

// sorted sorts a list, and returns the rows that are shown of it.
func sorted[T any](s Streams, list []T, by order, row func(*T) Cells) []Cells {
	type line struct {
		thing T
		cells Cells
	}
	lines := make([]line, len(list))
	for i := range list {
		lines[i] = line{list[i], row(&list[i])}
	}
	if by.column >= 0 {
		slices.SortStableFunc(lines, func(a, b line) int { return compareCells(s, a.cells[by.column], b.cells[by.column], by.down) })
	}
	rows := make([]Cells, len(list))
	for i := range lines {
		list[i], rows[i] = lines[i].thing, lines[i].cells
	}
	return rows
}
