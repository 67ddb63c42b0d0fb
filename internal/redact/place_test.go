package redact

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

var (
	//go:embed testdata/places.txt
	places string

	//go:embed testdata/places_clean.txt
	placesClean string
)

// TestSecretsInPlaces checks that secrets are replaced where a program takes them for something else,
// and that what stands around them stays.
func TestSecretsInPlaces(t *testing.T) {
	t.Parallel()
	lines := sentenceLines(places)
	if len(lines) < 200 {
		t.Errorf("only %d lines", len(lines))
	}
	for _, marked := range lines {
		checkSentence(t, "places", marked)
	}
}

// TestPlacesWithoutSecretsStay checks that texts of the same form and without a secret are not changed.
func TestPlacesWithoutSecretsStay(t *testing.T) {
	t.Parallel()
	lines := sentenceLines(placesClean)
	if len(lines) < 130 {
		t.Errorf("only %d lines", len(lines))
	}
	for _, line := range lines {
		if got, _ := Default().String(line); got != line {
			t.Errorf("%q\nbecame %q", line, got)
		}
	}
}

// TestRepeatedValues checks that a value that was taken is also taken where it has no name.
func TestRepeatedValues(t *testing.T) {
	t.Parallel()
	many := strings.Repeat("password=Harbor4711x ", 3)
	for _, test := range []struct{ in, want string }{
		{"password=Harbor4711x: converting Harbor4711x failed", "password=[redacted:password] converting [redacted:password] failed"},
		{"postgres://app:Harbor4711x@db: host Harbor4711x", "postgres://[redacted:url]@db: host [redacted:url]"},
		{"near 'Harbor4711x'\nLINE 1: PASSWORD 'Harbor4711x'", "near '[redacted:password]'\nLINE 1: PASSWORD '[redacted:password]'"},
		{"password=postgres for postgres://db", "password=[redacted:password] for postgres://db"},
		{`password=postgres: invalid value "postgres"`, `password=[redacted:password] invalid value "[redacted:password]"`},
		{"password=secret1 and secret1 again", "password=[redacted:password] and secret1 again"},
		{"pin=12345678 in 123456789", "pin=[redacted:password] in 123456789"},
		{many, strings.ReplaceAll(many, "Harbor4711x", "[redacted:password]")},
	} {
		got, _ := Default().String(test.in)
		if got != test.want {
			t.Errorf("%q became %q, want %q", test.in, got, test.want)
		}
		if again, more := Default().String(got); again != got || more != nil {
			t.Errorf("cleaned twice, %q became %q", got, again)
		}
	}
}

// TestVerdictsInJSON checks that what a validator says of a secret stays in decoded JSON, and the secret
// does not.
func TestVerdictsInJSON(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ in, want map[string]any }{
		{map[string]any{"password": []any{"This field may not be blank."}}, nil},
		{map[string]any{"password": map[string]any{"_errors": []any{"String must contain at least 12 character(s)"}}}, nil},
		{map[string]any{"password": "is too short (minimum is 12 characters)"}, nil},
		{map[string]any{"password": map[string]any{"minLength": json.Number("12"), "required": true}}, nil},
		{map[string]any{"imagePullSecrets": []any{map[string]any{"name": "regcred"}}}, nil},
		{map[string]any{"password": map[string]any{"minLength": "Harbor4711x"}}, map[string]any{"password": "[redacted:password]"}},
		{map[string]any{"password": map[string]any{"pin": json.Number("12")}}, map[string]any{"password": "[redacted:password]"}},
		{map[string]any{"password": "this is my Harbor4711x"}, map[string]any{"password": "[redacted:password]"}},
		{map[string]any{"password": []any{"must be", "Harbor4711x"}}, map[string]any{"password": "[redacted:password]"}},
	} {
		want := any(test.in)
		if test.want != nil {
			want = test.want
		}
		if got, _ := Default().Value(test.in); !reflect.DeepEqual(got, want) {
			t.Errorf("%v became %v, want %v", test.in, got, want)
		}
	}
}

// TestPairsOnTwoLines checks secrets that only the line before them tells, as text, as a string of JSON
// and as a member of decoded JSON.
func TestPairsOnTwoLines(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ text, secret string }{
		{"AKIAIOSFODNN7EXAMPLE\nwJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"},
		{"Access key ID: AKIAI44QH8DHBEXAMPLE\n\nSecret: je7MtGbClwBF/2Zp9Utk/h3yCo8nvbEXAMPLEKEY", "je7MtGbClwBF/2Zp9Utk/h3yCo8nvbEXAMPLEKEY"},
		{"password:\n  Harbor4711x", "Harbor4711x"},
		{"'X-Auth-Token',\n'Kd83Lq0Zt4Bv8Rw3Xm7Np2Qs',", "Kd83Lq0Zt4Bv8Rw3Xm7Np2Qs"},
		{"[\"pass\"]=>\n  string(11) \"Harbor4711x\"", "Harbor4711x"},
		{"password = <<EOT\nHarbor4711x\nEOT\n", "Harbor4711x"},
		{"Private Keys\n==================\n(0) 0x4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318", "4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318"},
		{"form-data; name=\"password\"\r\n\r\nharbor\r\n--b", "harbor"},
		{"card 42424242\n42424242 declined", "42424242\n42424242"},
		{"pay with 4242 4242\n  4242 4242.", "4242 4242\n  4242 4242"},
		{"> 4111-1111-1111-\r\n> 1111 failed", "4111-1111-1111-\r\n> 1111"},
		{"error: converting 'Harbor4711x'\nin: password=Harbor4711x", "Harbor4711x"},
	} {
		if got, _ := Default().String(test.text); strings.Contains(got, test.secret) {
			t.Errorf("%q became %q", test.text, got)
		}
		quoted, err := json.Marshal(map[string]string{"message": test.text})
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := Default().String(string(quoted)); strings.Contains(got, test.secret) {
			t.Errorf("%s became %q", quoted, got)
		}
		if got, _ := Default().Value(map[string]any{"stack": []any{test.text}}); strings.Contains(fmt.Sprint(got), test.secret) {
			t.Errorf("%q became %v", test.text, got)
		}
	}
}
