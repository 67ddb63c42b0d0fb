package fingerprint_test

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/recoup-dev/recoup/server/internal/fingerprint"
)

func TestSignature(t *testing.T) {
	t.Parallel()
	for stack, want := range map[string]string{
		"":                                      "",
		"*errors.errorString: connection reset": "*errors.errorString: connection reset",
		"*fault.Error: Bad.\ncaused by: *json.SyntaxError: invalid character 'x' at offset 1234":       "*json.SyntaxError: invalid character <text> at offset <n>",
		"java.lang.RuntimeException: x\n\tat a.B(C.java:7)\nCaused by: java.io.IOException: port 8443": "java.io.IOException: port <n>",
		"Traceback (most recent call last):\n  File \"x.py\", line 3\nKeyError: 'title'":               "KeyError: <text>",
		"order 0198c0de-0000-7000-8000-000000000001 of 01ARZ3NDEKTSV4RRFFQ69G5FAV is gone":             "order <id> of <id> is gone",
		"pointer 0xc000012345, commit 3f2a9bc, 2026-02-05 14:30:00.123":                                "pointer <hex>, commit <hex>, <n> <n>",
		"can't open 'a b', don't ask":         "can't open <text>, don't ask",
		"missing   field \"title\"\tin `doc`": "missing field <text> in <text>",
		"bad face, dead cafe":                 "bad face, dead cafe",
	} {
		if got := fingerprint.Signature(stack); got != want {
			t.Errorf("%q has the signature\n%q, want\n%q", stack, got, want)
		}
	}
	if got := fingerprint.Signature(strings.Repeat("ü lang ", 1000)); len(got) > 210 {
		t.Errorf("it has %d bytes", len(got))
	}
}

// Failures that differ in numbers, ids and quoted text only are one group.
func TestSignatureForgetsWhatVaries(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		of := func(label string) string {
			n := rapid.StringMatching(`[0-9]{1,9}`).Draw(t, label+"n")
			id := rapid.StringMatching(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`).Draw(t, label+"id")
			text := rapid.StringMatching(`[^"\n\r]{0,20}`).Draw(t, label+"text")
			return "llm: item " + n + " of " + id + ` has "` + text + `" in it`
		}
		a, b := fingerprint.Signature(of("a")), fingerprint.Signature(of("b"))
		if a != b {
			t.Fatalf("%q and %q", a, b)
		}
		if again := fingerprint.Signature(a); again != a {
			t.Fatalf("%q becomes %q", a, again)
		}
	})
}

// rules are what a signature takes out, as regular expressions. The order matters: what
// is taken out first cannot be found as something else.
var rules = []struct {
	found *regexp.Regexp
	is    string
}{
	{regexp.MustCompile(`"[^"]*"` + "|`[^`]*`"), "<text>"},
	{regexp.MustCompile(`(^|[\s(=:,\[])'[^']*'`), "$1<text>"}, // not the apostrophe of a word
	{regexp.MustCompile(`(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`), "<id>"},
	{regexp.MustCompile(`\b[0-7][0-9A-HJKMNP-TV-Z]{25}\b`), "<id>"},
	{regexp.MustCompile(`(?i)\b0x[0-9a-f]+\b`), "<hex>"},
	{regexp.MustCompile(`(?i)\b[0-9a-f]*[0-9][0-9a-f]*[a-f][0-9a-f]*\b|\b[0-9a-f]*[a-f][0-9a-f]*[0-9][0-9a-f]*\b`), "<hex>"},
	{regexp.MustCompile(`\d+([.,:/_-]?\d+)*`), "<n>"},
	{regexp.MustCompile(`\s+`), " "},
}

// A signature is what the rules say, for every text.
func TestSignatureFollowsTheRules(t *testing.T) {
	t.Parallel()
	part := rapid.OneOf(
		rapid.StringMatching(`[0-9a-fA-Fx]{1,6}`), rapid.StringMatching(`[ .,:/_\-'"`+"`"+`(=\[\t]{1,2}`), rapid.StringMatching(`[a-zG-Z_ü]{1,4}`),
		rapid.StringMatching(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), rapid.StringMatching(`[0-7][0-9A-HJKMNP-TV-Z]{25}`))
	rapid.Check(t, func(t *rapid.T) {
		text := strings.TrimSpace(strings.Join(rapid.SliceOfN(part, 0, 12).Draw(t, "parts"), ""))
		want := fingerprint.Cut(text, 800)
		for _, r := range rules {
			want = r.found.ReplaceAllString(want, r.is)
		}
		if got := fingerprint.Signature(text); got != fingerprint.Cut(strings.TrimSpace(want), 200) {
			t.Fatalf("%q has the signature\n%q, want\n%q", text, got, want)
		}
	})
}

func BenchmarkSignature(b *testing.B) {
	for b.Loop() {
		fingerprint.Signature("the register did not answer within 30 s: order 0198c0de-0000-7000-8000-000000000001 of 'ACME'")
	}
}
