package redact

import "strings"

// environmentRules finds the values of variables whose names go on behind the word for a secret:
// SECRET_ENV, TOKEN_GITHUB, CF_Key.
func environmentRules() []rule {
	const value = `(?:"([^"\n\\]{4,256})|'([^'\n]{4,256})|([^\s"',;&|()<>\\]{4,256}))`
	return []rule{
		{
			name: "secret", of: "environment", refuses: assigned,
			gate: []string{"secret_", "password_", "passwd_", "pass_", "pwd_", "token_", "credential_", "credentials_", "_key_", "apikey_"},
			expr: `(?:^|[^A-Za-z0-9_])(?:[A-Z][A-Z0-9]*_){0,6}(?:SECRET|PASSWORD|PASSWD|PASS|PWD|TOKEN|CREDENTIALS?|APIKEY|(?:API|ACCESS|AUTH|PRIVATE|SECRET|SIGNING|ENCRYPTION)_KEY)(?:_[A-Z0-9]{1,16}){1,3}(?:=|\\*["']?: ?)\\*` + value, check: environmentValue,
		},
		{name: "secret", of: "mixed environment", refuses: assigned, gate: []string{"_key="}, expr: `(?:^|[^A-Za-z0-9_])[A-Z][A-Za-z0-9]{1,12}_Key=` + value, check: madeValue},
	}
}

// aboutSecret are the last parts of the names of variables that say something about a secret and do
// not hold it.
var aboutSecret = wordSet("FILE PATH DIR URL URI ENDPOINT HOST NAME ID ARN LENGTH LEN SIZE TTL EXPIRY EXPIRES EXPIRATION LIFETIME TIMEOUT AGE TYPE KIND MIN MAX POLICY COUNT REGION ENABLED DISABLED REQUIRED " +
	"ROTATION INTERVAL ALGORITHM ALG METHOD PROVIDER BACKEND STORE SOURCE FIELD HEADER PREFIX SUFFIX FORMAT ISSUER AUDIENCE SCOPE SCOPES STATUS STATE ERROR VERSION REF NAMESPACE USER USERNAME COST ROUNDS INVALID MISSING EXPIRED MISMATCH NOT FOUND FAILED MANAGER BUCKET THROUGH LIMIT SALT")

// environmentValue wants a value that looks like a secret, and a name that does not say something about it.
func environmentValue(s string, from, to int) bool {
	const longest = 128
	name := strings.TrimRight(s[max(0, from-longest):from], "\"'\\:= ")
	last := name[strings.LastIndexByte(name, '_')+1:]
	v := s[from:to]
	return !aboutSecret[last] && !masked(v) && looksSecret(v) && (changes(v) > 1 || signed(v) || scrambled(v) || numberBehindWord(v, 3))
}

// madeValue wants a value that a machine has made.
func madeValue(s string, from, to int) bool {
	v := s[from:to]
	return !masked(v) && !plainShape(v) && len(v) >= shortHex && machineMade(v, longHex)
}
