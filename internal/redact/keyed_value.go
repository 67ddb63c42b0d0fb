package redact

import (
	"regexp"
	"strings"
)

// dialable accepts what has as many digits as the number of a telephone.
func dialable(v string) bool {
	_, _, digits := mixture(v)
	return digits >= 7 && digits <= mostPhone
}

// wordy accepts a text of several words: a prompt is a sentence.
func wordy(v string) bool { return strings.Count(v, " ") > 1 }

// written accepts a text or an object, not a number or a single word.
func written(v string) bool { return len(v) > 24 || strings.ContainsAny(v, " {[<\n") }

// opaqueOrPair accepts what a machine made, and headers: a scheme with its
// credential, a cookie with its value.
func opaqueOrPair(v string) bool {
	return (opaque(v) || strings.ContainsAny(v, " =")) && distinguishedEnd(v, 0) == 0
}

// uuidText matches a UUID and nothing else.
var uuidText = regexp.MustCompile(`^(?i:` + uuid + `)$`)

// uuidOnly accepts a UUID.
func uuidOnly(v string) bool { return uuidText.MatchString(v) }

// listed takes the values that commas join to the value v, if machines made them: COOKIE_KEYS=X,Y. It
// returns the last one.
func (k keyed) listed(s string, v extent, f finding) (extent, finding) {
	const shortest = 16
	for v.bare && v.to+shortest < len(s) && s[v.to] == ',' {
		from := v.to + 1
		to := tokenEnd(s, from)
		f.work += to - from
		if value := s[from:to]; to-from < shortest || !ends(s, to) || to < len(s) && strings.IndexByte("=:.", s[to]) >= 0 || plainShape(value) || !machineMade(value, 2*shortHex) {
			break
		}
		v = extent{from: from, to: to, bare: true}
		f.add(from, to)
	}
	return v, f
}

// connectionField matches a field of a connection string that is no secret: dsn: host=db.
var connectionField = regexp.MustCompile(`(?i)^(?:host|hostaddr|port|user|username|dbname|database|server|service|driver|sslmode)=[^=]*$`)

// authKinds are values of auth that say how, not with what.
var authKinds = wordSet("basic bearer token digest password none oauth oauth2 saml ldap oidc jwt plain ntlm negotiate kerberos header query cookie apikey key sasl scram mtls cert certificate iam session required optional failed ok denied")
