package recoup_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup"
)

func TestParseCode(t *testing.T) {
	for _, row := range []struct{ in, want, err string }{
		{"NETWORK_TIMEOUT", "NETWORK_TIMEOUT", ""},
		{"stale_read", "STALE_READ", ""},
		{"Http2_Error", "HTTP2_ERROR", ""},
		{strings.Repeat("A", 64), strings.Repeat("A", 64), ""},
		{"", "", "empty"},
		{strings.Repeat("A", 65), "", "at most 64"},
		{"2FAST", "", `'2' at position 1`},
		{"_X", "", `'_' at position 1`},
		{"A-B", "", `'-' at position 2`},
		{"A\x00", "", "position 2"},
		{"É", "", "position 1"},
	} {
		code, err := recoup.ParseCode(row.in)
		switch {
		case row.err == "" && (err != nil || string(code) != row.want):
			t.Errorf("%q: got %q, %v", row.in, code, err)
		case row.err != "" && (err == nil || !strings.Contains(err.Error(), row.err)):
			t.Errorf("%q: error %v, want one with %q", row.in, err, row.err)
		}
	}
}

func FuzzParseCode(f *testing.F) {
	for _, s := range []string{"", "validation_failed", "A", "9", "A B", strings.Repeat("z", 64)} {
		f.Add(s)
	}
	form := regexp.MustCompile(`^[A-Z][A-Z0-9_]{0,63}$`)
	f.Fuzz(func(t *testing.T, s string) {
		code, err := recoup.ParseCode(s)
		if wellFormed := form.MatchString(upper(s)); wellFormed != (err == nil) {
			t.Fatalf("%q: well formed %v, error %v", s, wellFormed, err)
		}
		if err == nil && string(code) != upper(s) {
			t.Fatalf("%q became %q", s, code)
		}
	})
}

// upper folds ASCII only: no other letter belongs into a code.
func upper(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' {
			return r - 'a' + 'A'
		}
		return r
	}, s)
}

func TestSeverityRank(t *testing.T) {
	order := []recoup.Severity{recoup.Low, recoup.Medium, recoup.High, recoup.Critical}
	for i := 1; i < len(order); i++ {
		if order[i-1].Rank() >= order[i].Rank() {
			t.Errorf("%s does not rank below %s", order[i-1], order[i])
		}
	}
	if recoup.SeverityNone.Rank() != recoup.Medium.Rank() {
		t.Error("no severity is not neutral")
	}
}

func TestActionDisposition(t *testing.T) {
	for action, want := range map[recoup.Action]recoup.Disposition{
		recoup.ActionRetry: "RETRY", recoup.ActionPark: "PARKED",
		recoup.ActionArchive: "ARCHIVE", recoup.ActionIgnore: "IGNORE",
	} {
		if got := action.Disposition(); got != want {
			t.Errorf("%s is stored as %s, want %s", action, got, want)
		}
	}
}

// Spec 000, section 2: what blocks is what is retried or parked.
func TestDispositionBlocks(t *testing.T) {
	for d, want := range map[recoup.Disposition]bool{
		"RETRY": true, "PARKED": true, "ARCHIVE": false, "IGNORE": false, "RESOLVED": false,
	} {
		if d.Blocks() != want {
			t.Errorf("%s blocks: %v", d, d.Blocks())
		}
	}
}

// The refusal names a whole character, not one byte of it.
func TestParseCodeNamesTheCharacter(t *testing.T) {
	_, err := recoup.ParseCode("conflıct")
	if err == nil || !strings.Contains(err.Error(), "the character 'ı' at position 6") {
		t.Errorf("got %v", err)
	}
}
