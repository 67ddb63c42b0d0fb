package redact

import "strings"

// signedRules finds the secrets in headers, forms and answers of services that have a name of their own
// for them.
func signedRules() []rule {
	return []rule{
		{
			name: "secret", of: "signature header", gate: []string{"-signature", "-hmac"},
			expr: `(?i)[\w]-(?:signature|hmac)(?:-[\w]{1,16}){0,2}\\*["']?\s?(?:[:=]>?|->|')\s{0,4}\\*["']?(?:[^\s"'\\]{0,80}?\b(?:sha1|sha256|sha512|[vh][01]|signature)=)?\\*["']?` +
				`([0-9a-f]{40,128}(?:,v\d=[0-9a-f]{40,128}){0,4}|[A-Za-z0-9+/]{27,88}={0,2})`, check: madeValue,
		},
		{
			// The account of Twilio with its token.
			name: "beside", of: "twilio", gate: []string{"ac0", "aca", "acb", "acc", "acd", "ace", "acf"},
			expr: `AC[0-9a-f]{32}\\*["']?(?::|%3A|, ?| / ?| )\\*["']?([0-9a-f]{32})`, check: wholeHex,
		},
		{name: "parameter", of: "grant", gate: []string{"invalid_grant"}, expr: `\bcode\\*["']?[=:] ?\\*["']?([\w/%.~+-]{10,512})`, check: grantCode},
		{
			name: "password", of: "input", refuses: never, gate: []string{"type=password", `type="password`, "type='password", `type=\"password`},
			expr: `(?i)<input\b[^<>]{0,256}?(?:\btype=\\*["']?password\b[^<>]{0,256}?\bvalue=\\*["']([^"'\\<>]{1,256})|\bvalue=\\*["']([^"'\\<>]{1,256})\\*["'][^<>]{0,256}?\btype=\\*["']?password\b)`, check: notMaskedAt,
		},
	}
}

// grantCode wants a code that a machine has made, in a line about a grant.
func grantCode(s string, from, to int) bool {
	v := s[from:to]
	return !plainShape(v) && !strings.Contains(v, "invalid_grant") && machineMade(v, shortHex)
}
