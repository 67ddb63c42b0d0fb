package check_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/check"
)

// Whatever is wrong with a request is said in one answer, each field in the same words
// wherever it is sent, and nothing that was sent is repeated.
func TestFieldsListEverything(t *testing.T) {
	t.Parallel()
	const secret = "AKIAIOSFODNN7EXAMPLE"
	var f check.Fields
	f.RequiredIdentifier("worker", "")
	f.Identifier("entity_id", secret)
	f.Identifier("phase", "")
	f.Name("stage", "no spaces")
	f.Plain("domain", strings.Repeat("x", 9), 8)
	f.Folded("code", "", "")
	f.Link("link", "javascript:alert(1)")
	f.RequiredText("note", "  ", 10)
	f.Text("message", "a\x00b", 10)
	f.Require("cause", true)
	var got []string
	for _, bad := range fault.From(f.Err()).Fields() {
		got = append(got, bad.Field+" "+bad.Constraint)
		if bad.Value != nil || strings.Contains(bad.Message, secret) {
			t.Errorf("%s repeats what was sent: %v", bad.Field, bad)
		}
	}
	want := []string{"worker required", "entity_id no_secret", "stage pattern", "domain max_length", "code required", "link scheme", "note required", "message printable"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

// Free text is cleaned and kept; a name that is folded is looked at in both forms.
func TestFieldsClean(t *testing.T) {
	t.Parallel()
	var f check.Fields
	if got := f.Text("message", "key AKIAIOSFODNN7EXAMPLE was refused", 100); strings.Contains(got, "AKIA") || !strings.Contains(got, "was refused") {
		t.Errorf("kept %q", got)
	}
	if err := f.Err(); err != nil {
		t.Errorf("refused: %v", err)
	}
	f.Folded("code", "fine", "AKIAIOSFODNN7EXAMPLE")
	if f.Len() != 1 {
		t.Error("the form that is kept was not looked at")
	}
}

// The reason of an act is refused for its length and its form, and not for a secret, which
// is replaced.
func TestReason(t *testing.T) {
	t.Parallel()
	const secret = "use AKIAIOSFODNN7EXAMPLE now"
	for reason, fine := range map[string]bool{"": true, "rotation is due": true, secret: true, strings.Repeat("x", check.MaxReason+1): false, "a\x00b": false, "a\xffb": false} {
		if err := check.Reason(reason); (err == nil) != fine {
			t.Errorf("%.30q: %v", reason, err)
		}
	}
	if got := check.Redacted(secret); got != "use [redacted:aws] now" {
		t.Errorf("stored is %q", got)
	}
}

// TestIdentifiersHaveNoTwin wants an id in one form of Unicode: what a way in did not
// normalize is refused.
func TestIdentifiersHaveNoTwin(t *testing.T) {
	t.Parallel()
	composed, decomposed := "Caf\u00e9", "Cafe\u0301"
	if bad := fault.From(check.Identifier("entity_id", decomposed)).Fields(); len(bad) != 1 || bad[0].Constraint != "nfc" {
		t.Errorf("the decomposed form: %+v", bad)
	}
	id := decomposed
	if check.Normalize(&id); id != composed || check.Identifier("entity_id", id) != nil {
		t.Errorf("normalized: %+q, %v", id, check.Identifier("entity_id", id))
	}
	for _, plain := range []string{"", "CO-1", "Ω-7", "日本語"} {
		if check.Normalized(plain) != plain {
			t.Errorf("%q is changed", plain)
		}
	}
}
