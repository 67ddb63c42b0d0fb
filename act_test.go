package recoup_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup"
)

// The schema of an operation names every act.
func TestActs(t *testing.T) {
	field, _ := reflect.TypeFor[recoup.NewOperation]().FieldByName("Act")
	want := strings.Split(field.Tag.Get("enum"), ",")
	var names []string
	for _, kind := range recoup.Acts() {
		if kind.Name.Kind() != kind || kind.Past == "" {
			t.Errorf("%q: %+v", kind.Name, kind)
		}
		names = append(names, string(kind.Name))
	}
	slices.Sort(names)
	if slices.Sort(want); !slices.Equal(names, want) {
		t.Errorf("acts %q, the schema has %q", names, want)
	}
	if kind := recoup.ActName("report").Kind(); kind != (recoup.ActKind{}) {
		t.Errorf("report: %+v", kind)
	}
}
