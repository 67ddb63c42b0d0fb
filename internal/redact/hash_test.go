package redact

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"testing"
)

// Words are no hash, however they are joined, encoded or mixed with digits.
func TestTextIsNoHash(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"Write_to_John_Doe_about_his_diabetes", "write-to-john-doe", "Write2JohnDoeAbout7HisDiabetes", "John_Doe_1980_has_HIV_type_2",
		"PatientJohnDoe42HasCancer", "facade", "decade", "deadbeef", "4155550100", "19800102", "123456789", "two words", "abc", "",
		hex.EncodeToString([]byte("Write to John Doe")), base64.RawURLEncoding.EncodeToString([]byte("Write to John Doe about his diabetes")),
		"0190a6f2-1b2c-7def-8abc-0123456789ab", "9F86d081884c7d65", "sha256:Write_to_John", "md5:", "9f86d081 884c7d65",
	} {
		if kept, ok := TruncatedHash(text); ok {
			t.Errorf("%q is taken for a hash and kept as %q", text, kept)
		}
	}
}

// A hash in hexadecimal has the form of one whatever its digits are; words have not.
func TestHashForm(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"1234567890123456": true, "abcdefabcdefabcd": true, "5772697465207421": true, "n4bQgYhMfWWaL-qgxVrQ": true, "sha256:9f86d081": true,
		"Write_to_John_Doe_about_his_diabetes": false, "xyz": false, "two words 2": false, "": false,
	} {
		if HashForm(text) != want {
			t.Errorf("%q has the form of a hash: %t", text, !want)
		}
	}
}

// Hashes are kept, never whole, and what is kept is kept again as it is.
func TestHashesAreTruncated(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08": "9f86d081884c7d65",
		"9F86D081884C7D659A2FEAA0C55AD015":                                 "9F86D081884C7D65",
		"9f86d081884c7d65":                                                 "9f86d081884c7d65", "9f2c41": "9f2c41", "abc123": "abc123", "00ff": "00ff",
		"sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08": "sha256:9f86d081884c7d65",
		"n4bQgYhMfWWaL-qgxVrQFaO_TxsrC4Is0V1sFbDwCgg":                             "n4bQgYhMfWWaL-qgxVrQ",
		"n4bQgYhMfWWaL-qgxVrQFaO_TxsrC4Is0V1sFbDwCgg=":                            "n4bQgYhMfWWaL-qgxVrQ",
	} {
		if kept, ok := TruncatedHash(text); !ok || kept != want {
			t.Errorf("%s is kept as %q, %t, want %s", text, kept, ok, want)
		}
	}
	missed := map[string]int{}
	const drawn = 2000
	for i := range drawn {
		sum := sha256.Sum256(fmt.Append(nil, i))
		for form, text := range map[string]string{"hexadecimal": hex.EncodeToString(sum[:]), "base64url": base64.RawURLEncoding.EncodeToString(sum[:])} {
			kept, ok := TruncatedHash(text)
			if !ok {
				missed[form]++
				continue
			}
			if again, still := TruncatedHash(kept); !still || again != kept || len(kept) > keptBase64 {
				t.Errorf("%s is kept as %s, and that as %q", text, kept, again)
			}
		}
	}
	if missed["hexadecimal"] > drawn/200 || missed["base64url"] > drawn/15 {
		t.Errorf("of %d hashes of each form are dropped %v", drawn, missed)
	}
}
