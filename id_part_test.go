package recoup_test

import (
	"testing"

	"github.com/recoup-dev/recoup"
)

// A part of an id is six digits or more, from its beginning or its end; dashes and case
// do not matter.
func TestIDPart(t *testing.T) {
	t.Parallel()
	id, err := recoup.ParseID("0198c0de-0102-7304-8506-0708090a0b0c")
	if err != nil {
		t.Fatal(err)
	}
	for text, of := range map[string]bool{
		"0a0b0c": true, "90A0B0C": true, "8506-0708090a0b0c": true, "0198c0": true, "0198c0de-0": true, id.String(): true,
		"060708": false, "0a0b0d": false, "0198c1": false,
	} {
		p, err := recoup.ParseIDPart(text)
		if err != nil || p.Of(id) != of {
			t.Errorf("%s: part of it is %v, want %v (%v)", text, p.Of(id), of, err)
		}
		first, last := p.Span()
		if begins := first.String() <= id.String() && id.String() <= last.String(); begins && !of {
			t.Errorf("%s spans %v to %v", text, first, last)
		}
	}
	for _, bad := range []string{"", "a0b0c", "------", "0a0b0g", id.String() + "0", "ab%def"} {
		if p, err := recoup.ParseIDPart(bad); err == nil {
			t.Errorf("%q is read as %s", bad, p)
		}
	}
}
