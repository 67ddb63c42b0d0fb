// Package sqldbtest holds tables of package sqldb to the types of their rows.
package sqldbtest

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// Covers fills a row and copies it column by column. Fields that are kept
// elsewhere, or nowhere, are named, with their type where others have the same.
func Covers[R any](t testing.TB, table sqldb.Table[R], but ...string) {
	t.Helper()
	var from, to R
	fill(reflect.ValueOf(&from).Elem(), new(int), but)
	seen := map[string]bool{}
	for _, c := range table.Columns {
		if seen[c.Name] {
			t.Errorf("%s has two columns %s", table.Name, c.Name)
		}
		seen[c.Name] = true
		move(t, c, &from, &to)
	}
	if !reflect.DeepEqual(from, to) {
		t.Errorf("%s: got\n%+v, want\n%+v", table.Name, to, from)
	}
}

func move[R any](t testing.TB, c sqldb.Column[R], from, to *R) {
	t.Helper()
	switch c.Kind {
	case sqldb.KindText, sqldb.KindWord, sqldb.KindJSON:
		*c.Text(to) = *c.Text(from)
	case sqldb.KindID:
		*c.ID(to) = *c.ID(from)
	case sqldb.KindTime:
		*c.Time(to) = *c.Time(from)
	case sqldb.KindBool:
		*c.Bool(to) = *c.Bool(from)
	case sqldb.KindInt, sqldb.KindCount:
		*c.Int(to) = *c.Int(from)
	case sqldb.KindBig:
		c.Number(to).Set(c.Number(from).Get())
	case sqldb.KindReal:
		*c.Real(to) = *c.Real(from)
	case sqldb.KindBytes:
		*c.Bytes(to) = *c.Bytes(from)
	case sqldb.KindHash:
		*c.Hash(to) = *c.Hash(from)
	case sqldb.KindObject:
		value, err := c.Object(from).Encode()
		if err != nil {
			t.Fatal(err)
		}
		if value == nil {
			return // NULL is read as zero
		}
		if err := c.Object(to).Decode(value); err != nil {
			t.Fatal(err)
		}
	}
}

// fill gives every field a value of its own, so that no two can be confused.
func fill(v reflect.Value, n *int, but []string) {
	*n++
	switch at := v.Addr().Interface().(type) {
	case *time.Time:
		*at = time.Unix(int64(*n), 0).UTC()
		return
	case *time.Duration:
		*at = time.Duration(*n) * time.Microsecond
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString("v" + string(rune('a'+*n)))
	case reflect.Int, reflect.Int64, reflect.Int32:
		v.SetInt(int64(*n))
	case reflect.Uint8:
		v.SetUint(uint64(*n % 256))
	case reflect.Float64:
		v.SetFloat(float64(*n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), n, but)
		fill(v.Index(1), n, but)
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i), n, but)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			if !slices.Contains(but, name) && !slices.Contains(but, v.Type().Name()+"."+name) {
				fill(v.Field(i), n, but)
			}
		}
	}
}
