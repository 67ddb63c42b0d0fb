package redact

import (
	"encoding/base64"
	"encoding/hex"
	"regexp"
	"strings"
)

// What is kept of a hash: enough to tell two apart, and too little to look a text up by it.
const (
	keptHex    = 16 // digits
	keptBase64 = 20 // characters
)

// hashText matches a hash with the name of its algorithm, if it has one, and without padding.
var hashText = regexp.MustCompile(`^((?:(?:md5|sha1|sha256|sha384|sha512)[:-])?)([A-Za-z0-9_-]{4,128})={0,2}$`)

// TruncatedHash returns what may be kept of a hash, and whether the text is one:
//
//   - hexadecimal in one case, of at least 4 digits, with digits and letters among those that are
//     kept: the first 16;
//   - base64url of at least 14 letters and digits, with digits, capitals and small letters that
//     are likelier to come from chance than from words: the first 20 characters.
//
// A text that is only encoded is none: where all bytes of what is kept can be read, it is refused.
func TruncatedHash(s string) (string, bool) {
	m := hashText.FindStringSubmatch(s)
	if m == nil {
		return "", false
	}
	algorithm, sum := m[1], m[2]
	if hexDigits(sum) {
		sum = sum[:min(len(sum), keptHex)]
		return algorithm + sum, mixedHex(sum) && !encodedHex(sum)
	}
	sum = sum[:min(len(sum), keptBase64)]
	return algorithm + sum, strings.ContainsAny(sum, "0123456789") && byChance(sum) && !encodedBase64(sum)
}

// entityTag matches an entity tag: weak or not, quoted or not.
var entityTag = regexp.MustCompile(`^((?:W/)?)("?)([^"]+)("?)$`)

// truncatedTag is [TruncatedHash] of an entity tag, whose quotes are kept.
func truncatedTag(s string) (string, bool) {
	m := entityTag.FindStringSubmatch(s)
	if len(m) == 0 || m[2] != m[4] {
		return "", false
	}
	sum, ok := TruncatedHash(m[3])
	return m[1] + m[2] + sum + m[4], ok
}

// HashForm reports whether a text is written as a hash is: hexadecimal, or base64url with a digit.
// A few hashes of this form are not kept, because they could be words or numbers. Work must not be
// refused because of them.
func HashForm(s string) bool {
	m := hashText.FindStringSubmatch(s)
	return len(m) > 0 && (hexDigits(m[2]) || strings.ContainsAny(m[2], "0123456789"))
}

// hexDigits reports whether a text has only hexadecimal digits, in one case.
func hexDigits(s string) bool {
	return strings.Trim(s, "0123456789abcdef") == "" || strings.Trim(s, "0123456789ABCDEF") == ""
}

// mixedHex wants a digit and a letter: others are words or numbers, such as those of telephones.
func mixedHex(s string) bool {
	return strings.ContainsAny(s, "0123456789") && strings.ContainsAny(s, "abcdefABCDEF")
}

// encodedHex reports whether digits spell out a text. Few of them may do so by chance.
func encodedHex(s string) bool {
	text, err := hex.DecodeString(s)
	return err == nil && len(s) == keptHex && readable(text)
}

func encodedBase64(s string) bool {
	text, err := base64.RawURLEncoding.DecodeString(s[:len(s)/4*4])
	return err == nil && readable(text)
}

// readable reports whether all bytes are printable ASCII.
func readable(text []byte) bool {
	for _, c := range text {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return true
}
