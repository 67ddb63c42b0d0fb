package redact

import (
	"reflect"
	"strings"
	"testing"
)

// TestPrivateKeyLines wraps the lines of a private key as programs do.
func TestPrivateKeyLines(t *testing.T) {
	begin, end := "-----BEGIN RSA "+"PRIVATE KEY-----", "-----END RSA "+"PRIVATE KEY-----"
	body, more := strings.Repeat("Ab1", 21)+"x", strings.Repeat("Yz9", 13)+"w"
	lines := []string{begin, body, more, end}
	for name, text := range map[string]string{
		"JSON array":    `["` + strings.Join(lines, `","`) + `"]`,
		"pretty array":  "[\n  \"" + strings.Join(lines, "\",\n  \"") + "\"\n]",
		"quotation":     "> " + strings.Join(lines, "\n> "),
		"compose":       "app  | " + strings.Join(lines, "\napp  | "),
		"concatenation": "'" + strings.Join(lines, "\\n' +\n'") + "'",
		"cut off":       "> " + strings.Join(lines[:3], "\n> "),
	} {
		clean, evidence := Default().String(text)
		if strings.Contains(clean, body) || strings.Contains(clean, more) || evidence["pem"] != 1 {
			t.Errorf("%s: became %q (%v)", name, clean, evidence)
		}
		if again, found := Default().String(clean); again != clean || found != nil {
			t.Errorf("%s: cleaned twice: %q", name, again)
		}
	}
	value, evidence := Default().Value([]any{"a", begin, body, more, end, "b"})
	want := []any{"a", "[redacted:pem]", "[redacted:pem]", "[redacted:pem]", "[redacted:pem]", "b"}
	if !reflect.DeepEqual(value, want) || evidence["pem"] != 4 {
		t.Errorf("lines in an array became %v (%v)", value, evidence)
	}
}

// TestPrivateKeyIsBounded keeps what follows far behind a key that has no end, and
// does not cut a character in two.
func TestPrivateKeyIsBounded(t *testing.T) {
	begin := "-----BEGIN " + "PRIVATE KEY-----"
	clean, _ := Default().String(begin + "x" + strings.Repeat("é", maxPrivateKey/2) + "tail")
	if clean != "[redacted:pem]tail" {
		t.Errorf("became %d bytes: %.40q", len(clean), clean)
	}
}
