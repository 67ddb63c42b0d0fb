package redact

import (
	"regexp"
	"strings"
)

// between is what stands between two lines of a key: what programs put before,
// behind and instead of a line break.
const between = `(?:\\[rn]|[\s"',#>|*])+`

// storedRules finds what programs keep or sign: the hashes of passwords, keys in
// files, and the parameters of signed addresses.
func storedRules() []rule {
	return []rule{
		{
			name: "hash", gate: []string{"$0a$", "$0b$", "$0y$", "$0x$", "$0$", "$y$", "$7$", "$gy$", "$apr0$", "$argon0", "$pbkdf0", "$scrypt$", "$p$", "$h$", "$sha0$", "$md0$"},
			expr: `\$(?:2[abxy]?\$\d\d\$[./A-Za-z0-9]{22,}|(?:1|5|6|7|8|9|y|gy|apr1|sha1|md5|P|H|scrypt|argon2(?:id|i|d)|pbkdf2(?:-sha\d+)?)\$[\w./$=,+*-]{16,})`,
		},
		{name: "hash", of: "Kerberos", gate: []string{"$krb0"}, expr: `\$krb5(?:tgs|asrep|pa|db)\$[^\s"']{32,}`},
		{name: "hash", of: "P", gate: []string{"$P$B", "$H$0", "$S$D"}, expr: `\$[PHS]\$[./A-Za-z0-9]{31,}`},
		{
			name: "hash", of: "scheme", gate: []string{"{SSHA", "{SHA", "{CRYPT}", "{SMD0}", "{MD0}", "{PBKDF0"},
			expr: `(?i)\{(?:S?SHA\d*|SMD5|MD5|CRYPT|PBKDF2[\w-]*)\}[\w./+$=,-]{12,}`,
		},
		{name: "hash", of: "plain", gate: []string{"{PLAIN}", "{CLEARTEXT}", "{xor}"}, expr: `\{(?:PLAIN|CLEARTEXT|xor)\}([^\s"',:;<>{}]{4,})`},
		{
			name: "hash", of: "database", gate: []string{"md0", "scram-sha-", "pbkdf0_sha", "bcrypt_sha", "scrypt:", "pbkdf0:sha"},
			expr: `(?:md5[0-9a-f]{32}|SCRAM-SHA-(?:1|256|512)\$\d+:[\w.+/=:$]{40,}|pbkdf2_sha\d+\$\d+\$[\w.+/=$]{20,}|bcrypt_sha256\$+[\w./$]{40,}|(?:scrypt|pbkdf2:sha\d+):[\d:]+\$[\w./+=]+\$[0-9a-f]{32,})`, check: wordAt,
		},
		{name: "hash", of: "mysql", gate: []string{"*0", "*a", "*b", "*c", "*d", "*e", "*f", "0x0000a"}, expr: `\*[0-9A-F]{40}`, check: ends40},
		{name: "jwk", gate: []string{"kty"}, expr: `\\*"(?:d|p|q|dp|dq|qi|k)\\*"\s*:\s*\\*"([\w-]{16,})`, exact: []string{"d", "p", "q", "dp", "dq", "qi", "k"}, key: jwkMember},
		{name: "jwk", of: "alone", gate: []string{`"d":`, `"d" :`, `"d\":`}, expr: `\\*"d\\*"\s*:\s*\\*"([\w-]{40,})`, check: randomAt},
		{name: "pem", of: "PuTTY", gate: []string{"PuTTY-User-Key-File-", "Private-Lines:", "Private-MAC:"}, multiline: true, find: findPuTTY},
		{
			name: "pem", of: "fragment", multiline: true,
			gate: []string{"MIIE", "MIIB", "MIIC", "MIIJ", "MIG0", "MIGH", "MHcC", "MHQC", "MC0C", "MFEC", "MIIG", "b0BlbnNzaC0r", "lQOY", "lQcY", "lQWG", "lIYE", "lFgE"},
			expr: `(?:MII[A-Za-z0-9+/]{2}[AIQ]IB[A-Za-z0-9+/]{24,}|(?:MIG[0-9H]|MH[cQ]C|MC[4-9]C|MFEC)AQ[A-Za-z0-9+/]{24,}|b3BlbnNzaC1rZXktdjE[A-Za-z0-9+/]{16,}|l(?:QOY|QcY|QWG|IYE|FgE)B[A-Za-z0-9+/]{40,})={0,2}(?:` + between + `[A-Za-z0-9+/]{48,}={0,2})*(?:` + between + `[A-Za-z0-9+/]{4,}={1,2})?`,
		},
		{name: "pem", of: "end", gate: []string{"-----END"}, multiline: true, find: findPEMTail},
		{
			name: "parameter", of: "signature", gate: []string{"x-amz-", "x-goog-", "signature=", "policy=", "key-pair-id=", "hmac=", "hdnts=", "hdnea=", "x-oss-", "ossaccesskeyid=", "tempauth=", "resourcekey="},
			expr: `(?i)[?&;](?:amp;)?(?:x-(?:amz|goog|oss)-(?:signature|credential|security-token)|signature|policy|key-pair-id|hmac|hdnts|hdnea|tempauth|resourcekey|(?:aws|oss)accesskeyid)(?:=|%3D)([^&\s"'<>#;\\]{8,})`,
		},
		{
			name: "parameter", of: "code", gate: []string{"?code=", "&code=", "?key=", "&key=", ";key=", "#code=", "?sig=", "&sig=", "?auth=", "&auth=", "?k=", "&hash=", "?hash=", "?t=", "&t=", "&p=", "&state=", "?state=", "?ticket=", "&ticket=", "samlresponse=", "samlrequest=", "samlart=", "code_verifier=", "assertion="},
			expr: `(?:[?&;#](?:amp;)?(?:code|key|sig|auth|k|hash|t|state|ticket)=((?:4/)?[^&\s"'<>#;\\/]{10,})|[?&]u=[^&\s]{1,64}&p=([^&\s"'<>#;\\/]{6,})|(?:SAML(?:Response|Request|Art)|code_verifier|assertion)=([^&\s"'<>#;\\]{10,}))`, check: opaqueParameter,
		},
		{name: "scheme", gate: []string{"ssws", "geniekey", "pveapitoken", "klaviyo-api-key", "token token=", "splunk ", "sso-key"}, expr: `(?i)\b(?:SSWS|GenieKey|PVEAPIToken=|Klaviyo-API-Key|Token token=|Splunk|sso-key)[ \t"']*([\w.:@!~+/=-]{16,})`, check: opaqueAt},
		{name: "scheme", of: "aws", gate: []string{"aws0-hmac"}, expr: `(?i)AWS4-HMAC-SHA256[^\n]*?Signature=([0-9a-f]{32,})`},
	}
}

func ends40(s string, _, to int) bool { return ends(s, to) }

func randomAt(s string, from, to int) bool { return random(s[from:to]) }

// jwkMember reports whether a member of an object is one of a private key's.
func jwkMember(_ string, v any) bool {
	s, ok := v.(string)
	upper, lower, digits := mixture(s)
	return ok && len(s) >= 32 && tokenEnd(s, 0) == len(s) && upper > 1 && lower > 1 && digits > 0
}

// assetHash matches the address of a file of a site, up to the value of the parameter that tells its
// versions apart.
var assetHash = regexp.MustCompile(`\.(?:js|mjs|css|map|png|jpe?g|gif|svg|ico|webp|woff2?|ttf|wasm|html)\?(?:hash|t|k|key)=$`)

// opaqueParameter tells a credential in an address from a code such as
// NETWORK_TIMEOUT, a number and the name of a file.
func opaqueParameter(s string, from, to int) bool {
	v := s[from:to]
	upper, lower, digits := mixture(v)
	switch {
	case hexOnly(v) && assetHash.MatchString(s[max(0, from-128):from]):
		return false
	case upper+lower == 0 || digits == 0 && !camel.MatchString(v):
		return false
	case lower == 0:
		return !strings.Contains(v, "_") && digits > 2
	}
	return digits > 2 || upper > 2 && lower > 2
}

var (
	puttyEnd  = regexp.MustCompile(`Private-MAC:[ \t]*[0-9a-fA-F]{16,}`)
	puttyBody = regexp.MustCompile(`^Private-Lines:[ \t]*\d+(?:` + between + `[A-Za-z0-9+/]{40,}={0,2})*(?:` + between + `[A-Za-z0-9+/]{4,}={1,2})?`)
)

// findPuTTY takes a key of PuTTY's from its first line to its last, or what there
// is of it.
func findPuTTY(s string, f finding) finding {
	f.work += len(s)
	ends, lines := puttyEnd.FindAllStringIndex(s, -1), -1
	next := ends // those after the key that is read
	for at := 0; at < len(s); {
		from := strings.Index(s[at:], "PuTTY-User-Key-File-")
		if from < 0 {
			break
		}
		from += at
		for len(next) > 0 && next[0][0] < from {
			next = next[1:]
		}
		if lines < from {
			lines = len(s)
			if n := strings.Index(s[from:], "Private-Lines:"); n >= 0 {
				lines = from + n
			}
		}
		limit := min(len(s), from+maxPrivateKey)
		if len(next) > 0 && next[0][1] <= limit {
			at = next[0][1]
		} else if lines < limit {
			at = lines + len(puttyBody.FindString(s[lines:limit]))
		} else {
			at = from + len("PuTTY-User-Key-File-")
			continue
		}
		f.add(from, at)
	}
	f = findPuTTYBodies(s, f)
	for _, m := range ends {
		f.add(m[0], m[1])
	}
	return f
}

// findPuTTYBodies takes the private lines of keys whose first line was cut off.
func findPuTTYBodies(s string, f finding) finding {
	for at := 0; at < len(s); {
		from := strings.Index(s[at:], "Private-Lines:")
		if from < 0 {
			break
		}
		body := puttyBody.FindString(s[at+from:])
		if strings.ContainsAny(body, "\n\\") {
			f.add(at+from, at+from+len(body))
		}
		at += from + max(len(body), 1)
	}
	return f
}

// findPEMTail takes the lines in front of the end of a private key whose beginning
// was cut off.
func findPEMTail(s string, f finding) finding {
	f.work += len(s)
	done := 0
	for _, m := range pemEnd.FindAllStringIndex(s, -1) {
		from := m[0]
		for line := pemLine(s, done, from); line < from && m[0]-line < maxPrivateKey; line = pemLine(s, done, from) {
			from = line
		}
		if strings.Contains(s[m[0]:m[1]], "PRIVATE") && from < m[0] {
			f.add(from, m[1])
		}
		f.work += m[1] - from
		done = m[1]
	}
	return f
}

// pemLine returns where the line of base 64 begins that ends before i, or i.
func pemLine(s string, least, i int) int {
	const shortest = 16
	end := i
	for end > least && strings.IndexByte("\n\r \t\"',#>|*", s[end-1]) >= 0 {
		end--
	}
	for end-1 > least && s[end-2] == '\\' && (s[end-1] == 'n' || s[end-1] == 'r') {
		end -= 2
	}
	from := end
	for from > least && (alphanumeric(s[from-1]) || strings.IndexByte("+/=", s[from-1]) >= 0) {
		from--
	}
	if from > least && s[from-1] == '\\' && from < end { // the n of an escaped newline
		from++
	}
	if end == i || end-from < shortest && !strings.HasSuffix(s[from:end], "=") {
		return i
	}
	return from
}
