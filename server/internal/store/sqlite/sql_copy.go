package sqlite

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// Copy implements [sqldb.Tx].
func (a act) Copy(b sqldb.Batch) (int, error) { return b.Len, duplicate(a.Add(b)) }

// CopyNew implements [sqldb.Tx]. Columns in which all rows agree are sent once for each
// statement.
func (a act) CopyNew(b sqldb.Batch) (added int, err error) {
	if b.Len == 0 {
		return 0, nil
	}
	rows := make([][]any, b.Len)
	for i := range rows {
		if rows[i], err = values(b.Columns, &i); err != nil {
			return 0, err
		}
	}
	shared := agreeing(rows, len(b.Columns))
	for len(rows) > 0 {
		n := 1
		if len(rows) >= width {
			n = width
		}
		fresh, err := a.changeShared(copyNewOf(b, shared, n), copyNewArgs(rows[:n], shared)...)
		if err != nil {
			return 0, err
		}
		added, rows = added+fresh, rows[n:]
	}
	return added, nil
}

// agreeing reports of each of n columns whether all rows have the same value in it. The
// first, which is the key, counts as one in which they differ.
func agreeing(rows [][]any, n int) []bool {
	list := make([]bool, n)
	for c := 1; c < n; c++ {
		list[c] = !slices.ContainsFunc(rows[1:], func(row []any) bool { return !sameValue(rows[0][c], row[c]) })
	}
	return list
}

// sameValue reports whether two values of a column are equal.
func sameValue(a, b any) bool {
	one, isBytes := a.([]byte)
	other, areBytes := b.([]byte)
	if isBytes || areBytes {
		return isBytes == areBytes && bytes.Equal(one, other)
	}
	return a == b
}

// copyNewOf is the statement that adds n rows unless they exist. Columns with one value for
// all rows come first. The parameters have no numbers: the driver looks up those that have
// some by name.
func copyNewOf(b sqldb.Batch, shared []bool, n int) string {
	var names, marks, own, picked []string
	for c, column := range b.Columns {
		if shared[c] {
			names, marks = append(names, column.Name), append(marks, "?")
			continue
		}
		own = append(own, column.Name)
		picked = append(picked, "column"+strconv.Itoa(len(own)))
	}
	row := "(?" + strings.Repeat(", ?", len(own)-1) + ")"
	return "insert into " + b.Name + " (" + strings.Join(append(names, own...), ", ") + ") select " + strings.Join(append(marks, picked...), ", ") +
		" from (values " + row + strings.Repeat(", "+row, n-1) + ") where true on conflict do nothing"
}

// copyNewArgs are the arguments of [copyNewOf].
func copyNewArgs(rows [][]any, shared []bool) []any {
	var args, own []any
	for i, row := range rows {
		for c, v := range row {
			switch {
			case !shared[c]:
				own = append(own, v)
			case i == 0:
				args = append(args, v)
			}
		}
	}
	return append(args, own...)
}
