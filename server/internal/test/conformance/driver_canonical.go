package conformance

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/recoup-dev/recoup"
)

// Canonical returns v with every time in it cut to the microseconds that stores
// keep, and in UTC, and without marks of what is archived, which no archive has, so that ==
// says whether two are the same.
func Canonical[T any](v T) T {
	cut(reflect.ValueOf(&v).Elem())
	return v
}

func cut(v reflect.Value) {
	if v.Kind() != reflect.Struct {
		return
	}
	if t, ok := v.Interface().(time.Time); ok {
		v.Set(reflect.ValueOf(t.UTC().Truncate(time.Microsecond)))
		return
	}
	if e, ok := v.Addr().Interface().(*recoup.Error); ok && e.State == recoup.Archived {
		e.Marks = recoup.Marks{}
	}
	for i := range v.NumField() {
		cut(v.Field(i))
	}
}

// difference names the fields in which two values differ, or is empty.
func difference[T comparable](got, want T) string {
	got, want = Canonical(got), Canonical(want)
	if got == want {
		return ""
	}
	var b strings.Builder
	differ(&b, "", reflect.ValueOf(got), reflect.ValueOf(want))
	return b.String()
}

func differ(b *strings.Builder, name string, got, want reflect.Value) {
	if _, isTime := got.Interface().(time.Time); got.Kind() == reflect.Struct && !isTime {
		for i := range got.NumField() {
			differ(b, name+"."+got.Type().Field(i).Name, got.Field(i), want.Field(i))
		}
		return
	}
	if g, w := fmt.Sprint(got.Interface()), fmt.Sprint(want.Interface()); g != w {
		fmt.Fprintf(b, "\n  %s: got %.200s, want %.200s", name, g, w)
	}
}
