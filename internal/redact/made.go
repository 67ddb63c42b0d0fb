package redact

import (
	"regexp"
	"strings"
)

// How many digits a number in base 16 has at least to be a secret. The ids of commits
// and of public keys are shorter.
const (
	shortHex = 16
	longHex  = 20

	uuidLength = 36
)

var (
	// uuidShape matches a UUID; its group is the version.
	uuidShape = regexp.MustCompile(`^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-([0-9a-fA-F])[0-9a-fA-F]{3}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$`)

	// numeric matches numbers with their units and signs, dates, times, versions and
	// addresses of machines: 2026-11-18T10:15:30Z, v1.2.3, 30s, 8-64, 5/10, 127.0.0.1:80.
	numeric = regexp.MustCompile(`^(?i:v|rev|#)?[\d.,:/+#%x*-]*\d[\d.,:/+#%*-]*(?:[tT][\d:.]+)?(?i:z|ns|us|µs|ms|s|m|h|d|w|bits?|bytes?|min|sec|days?|chars?|characters?|digits?|th|st|nd|rd|[kmgt]i?b?)?(?:[-+][\d:]+)?(?:-(?i:bits?|bytes?|days?|chars?|characters?|digits?|hour|minute|second))?$`)

	// algorithm matches the names of algorithms and formats that have digits in them.
	algorithm = regexp.MustCompile(`(?i)^(?:[a-z]+-)*(?:sha\d|md[45]|sha-?(?:1|2|3|224|256|384|512)|hs(?:256|384|512)|rs(?:256|384|512)|es(?:256|384|512)k?|ps(?:256|384|512)|aes-?\d+|rsa-?\d+|ed25519|ed448|x25519|x509|curve25519|secp\d+[kr]1|p-?(?:256|384|521)|pbkdf2|argon2(?:id|i|d)?|` +
		`oauth-?[12]|oauth2?\.0|oidc|utf-?(?:8|16)|utf8mb4|base-?(?:16|32|58|64)(?:url)?|pkcs-?\d+|jwt|saml2?|2fa|http[12]?|tls1|k8s|i18n|s3|ec2|ntlmv2|bcrypt|crc32c?|hmac|mysql\d+|oracle\d+[cg]?|scrypt)(?:[-_./:][a-z0-9]{1,8}){0,4}$`)

	// typeName matches the names of types that have digits in them: uint16, Ed25519PublicKey.
	typeName = regexp.MustCompile(`^(?i:(?:\w+\.)?(?:u?int|float|complex|char|varchar)\d+|(?:\w+\.)?(?:ed|x|curve)(?:25519|448)(?:private|public)?key\w*)$`)

	// filename matches the name of a file, also with a line behind it.
	filename = regexp.MustCompile(`^[\w./\\-]+\.(?:go|js|ts|tsx|jsx|py|java|kt|rb|rs|c|cc|cpp|h|cs|php|sh|sql|ya?ml|json|toml|xml|html?|txt|csv|log|pem|key|crt|cer|der|p12|pfx|jks|conf|cfg|ini|env|lock|md|gz|zip|tar|pub|asc|gpg|kdbx|parquet|proto|service)(?::\d+)*$`)
)

// plainShape reports whether a text has the shape of something that is no secret: a
// number, a date, a version, a path, an address, a file, an algorithm, or an id that is
// made of the time.
func plainShape(v string) bool {
	if v == "" {
		return true
	}
	if m := uuidShape.FindStringSubmatch(v); m != nil {
		return m[1] != "4"
	}
	ulid := len(v) == 26 && strings.HasPrefix(v, "01") && strings.ToUpper(v) == v
	return ulid || v[0] == '/' && !keyBytes(v) || v[0] == '.' || v[0] == '~' || strings.Contains(v, "://") || strings.Contains(v, "**") || strings.Contains(v, "...") || strings.Contains(v, "…") ||
		numeric.MatchString(v) || filename.MatchString(v) || algorithm.MatchString(v) || typeName.MatchString(v)
}

// keyBytes reports whether a text is a key in base 64, which may begin like a path.
func keyBytes(v string) bool {
	for i := range len(v) {
		if !base64Byte(v[i]) && v[i] != '=' || v[i] == '-' || v[i] == '_' {
			return false
		}
	}
	return len(v) >= 32 && mixedCase(v)
}

// chosenWord reports whether a word looks like a password that a person chose: a digit
// or a sign in it that words and identifiers do not have.
func chosenWord(v string) bool {
	if len(v) < 5 || identifierWord(v) {
		return false
	}
	upper, lower, digits := mixture(v)
	signs := strings.ContainsAny(v, "!@#$%^*+=~?")
	return upper+lower > 0 && (digits > 0 || signs) || machineMade(v, shortHex)
}

// identifierWord reports whether a text is made of words and numbers with separators
// between them: user_id2, users.password_hash, order-4711, HTTP_401.
func identifierWord(v string) bool {
	separators := 0
	for from := 0; from <= len(v); {
		to := from
		for to < len(v) && alphanumeric(v[to]) {
			to++
		}
		if to < len(v) && strings.IndexByte("_-./:", v[to]) < 0 {
			return false
		}
		part := v[from:to]
		if part == "" || changes(part) > 1 || changes(part) > 0 && scrambled(part) {
			return false
		}
		if to < len(v) {
			separators++
		}
		from = to + 1
	}
	return separators > 0
}

// changes counts how often letters and digits follow each other in a word.
func changes(v string) (n int) {
	for i := 1; i < len(v); i++ {
		if digit(v[i]) != digit(v[i-1]) {
			n++
		}
	}
	return n
}

// looselyMade is for a value that a text says was given: letters and digits in it that
// are no identifier.
func looselyMade(v string) bool {
	upper, lower, digits := mixture(v)
	return upper+lower > 0 && digits > 0 && !identifierWord(v) || machineMade(v, shortHex)
}

// machineMade reports whether a text looks made by a machine: one of its parts, or all of
// them together, has the variety that chance gives it.
func machineMade(v string, leastHex int) bool {
	if uuidShape.MatchString(v) {
		return true
	}
	if hex := strings.TrimPrefix(v, "0x"); hexOnly(hex) {
		_, _, digits := mixture(hex)
		return len(hex) >= leastHex && digits < len(hex) && digits > 0
	}
	irregular := false
	for from := 0; from < len(v); {
		to := from
		for to < len(v) && alphanumeric(v[to]) {
			to++
		}
		part := v[from:to]
		if madePart(part, leastHex) {
			return true
		}
		irregular = irregular || len(part) >= 8 && irregularCase(part)
		from = to + 1
	}
	upper, lower, digits := mixture(v)
	return len(v) >= 20 && irregular && upper > 2 && lower > 2 && digits > 0 || byChance(v)
}

func hexOnly(v string) bool {
	for i := range len(v) {
		if classes[v[i]]&inHex == 0 {
			return false
		}
	}
	return len(v) > 0
}

// madePart judges a part without separators.
func madePart(v string, leastHex int) bool {
	upper, lower, digits := mixture(v)
	switch n := len(v); {
	case hexOnly(v):
		return n >= leastHex && digits > 0 && digits < n
	case digits == 0:
		return n >= 16 && upper > 0 && lower > 0 && irregularCase(v) || n >= 24 && unpronounceable(v)
	case n >= 6 && changes(v) >= 4, n >= 8 && changes(v) >= 3:
		return true
	case n >= 10 && changes(v) >= 2 && upper > 0 && lower > 0:
		return n < 16 && !strings.Contains(strings.ToLower(v), "oauth") || irregularCase(v) || unpronounceable(v) || digits > 3
	}
	return len(v) >= 16 && (irregularCase(v) || unpronounceable(v))
}

func mixedCase(v string) bool {
	upper, lower, digits := mixture(v)
	return len(v) >= 20 && upper > 1 && lower > 1 && digits > 0
}

// irregularCase reports whether capitals stand where no words begin: the humps of
// camelCase have five letters and more.
func irregularCase(v string) bool {
	upper, lower, _ := mixture(v)
	humps := 1
	for i := 1; i < len(v); i++ {
		if 'A' <= v[i] && v[i] <= 'Z' && (v[i-1] < 'A' || v[i-1] > 'Z') {
			humps++
		}
	}
	return upper > 0 && lower > 0 && len(v)*2 < humps*9
}

// unpronounceable reports whether five consonants follow each other, as they do in no
// word that is longer than sixteen letters.
func unpronounceable(v string) bool {
	run := 0
	for i := range len(v) {
		if !letter(v[i]) || strings.IndexByte("aeiouy", v[i]|0x20) >= 0 {
			run = 0
		} else if run++; run >= 5 {
			return true
		}
	}
	return false
}

// base32Seed reports whether a text is the seed of one-time passwords, as programs show it.
func base32Seed(v string) bool {
	digits := 0
	for i := range len(v) {
		switch {
		case '2' <= v[i] && v[i] <= '7':
			digits++
		case v[i] < 'A' || v[i] > 'Z':
			return false
		}
	}
	return len(v) >= 16 && digits > 0
}
