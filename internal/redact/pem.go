package redact

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// maxPrivateKey is how much is taken after the beginning of a private key that has
// no end: more than any key, because what is around its lines is unknown.
const maxPrivateKey = 16 << 10

var (
	pemBegin = regexp.MustCompile(`-{5}BEGIN([A-Z0-9 %+]{1,48})-{5}`)
	pemEnd   = regexp.MustCompile(`-{5}END[A-Z0-9 %+]{1,48}-{5}`)

	// pemBody matches a block from its beginning, also on one line with escaped
	// newlines, and cut off before its end.
	pemBody = regexp.MustCompile(`^(?:[\w+/=\s\\,:.%]|-[\w\\])*(?:-----END[A-Z0-9 %+]{1,48}-----)?`)
)

// findPEM takes whole blocks. The lines of a private key may be quoted, prefixed or
// joined by a program, so everything up to its end is taken, whatever it is.
func findPEM(s string, f finding) finding {
	f.work += len(s)
	for at := 0; at < len(s); {
		m := pemBegin.FindStringSubmatchIndex(s[at:])
		if m == nil {
			break
		}
		from, body := at+m[0], at+m[1]
		if strings.Contains(s[at+m[2]:at+m[3]], "PRIVATE") {
			at = privateKeyEnd(s, body)
		} else {
			at = body + len(pemBody.FindString(s[body:]))
		}
		f.add(from, at)
	}
	return f
}

// privateKeyEnd returns where the private key ends whose body begins at i.
func privateKeyEnd(s string, i int) int {
	limit := min(len(s), i+maxPrivateKey)
	if m := pemEnd.FindStringIndex(s[i:limit]); m != nil {
		return i + m[1]
	}
	for limit < len(s) && !utf8.RuneStart(s[limit]) {
		limit++
	}
	return limit
}

// opensPrivateKey reports whether a private key begins in s and does not end there.
func opensPrivateKey(s string) bool {
	at := strings.LastIndex(s, "-----BEGIN")
	if at < 0 {
		return false
	}
	m := pemBegin.FindStringSubmatchIndex(s[at:])
	return len(m) > 3 && strings.Contains(s[at+m[2]:at+m[3]], "PRIVATE") && !pemEnd.MatchString(s[at:])
}
