package redact

import (
	"slices"
	"strings"
)

// maxJudged is how much of a value is read to decide whether a name of [tellingNames] has a
// secret. A secret is taken up to its end.
const maxJudged = 256

// tellingNames is the family of names that end with a telling word: master_key, recoveryCodes,
// X-Subscription-Key. The words and their qualifiers are those of the telling rule. A family
// that takes every value of a word has precedence. Values are judged, because sort_key=created_at
// and seed=42 are ordinary fields.
func tellingNames(others []family) family {
	taken := map[string]bool{}
	for _, other := range others {
		for _, key := range other.keys {
			taken[key] = taken[key] || other.only == nil
		}
	}
	var keys []string
	for word := range nameKinds {
		if !taken[word] {
			keys = append(keys, word)
		}
	}
	slices.Sort(keys)
	return family{name: "secret", of: "telling name", keys: keys, bare: word, prose: func(string) bool { return true }, judge: secretNamed}
}

// nameKinds are the last words of the names of secrets: the telling words, and words that tell a
// secret only as part of a name. Words of prose such as answer and link stand with their
// qualifier, so that a clean sentence does not open the gate.
var nameKinds = func() map[string]secretKind {
	kinds := map[string]secretKind{}
	for word, kind := range tellingWords() {
		kinds[strings.ReplaceAll(word, " ", "_")] = kind
	}
	for kind, words := range map[secretKind]string{
		ofToken:   "connection_string connectionstring conn_str connstr database_url db_url mnemonic csrf xsrf salt pepper hmac",
		ofKey:     "pkey privkey",
		ofAnswer:  "secret_answer security_answer recovery_answer",
		ofLink:    "magic_link login_link signin_link reset_link invite_link invitation_link verification_link confirmation_link activation_link webhook_url hook_url incoming_webhook",
		ofSession: "sess_id sess",
		ofSeed:    "seed_phrase recovery_phrase backup_phrase mnemonic_phrase secret_phrase",
	} {
		for word := range strings.FieldsSeq(words) {
			kinds[word] = kind
		}
	}
	return kinds
}()

// ordinaryKeys are the words before a key that is the name of a row, an object or a message.
var ordinaryKeys = wordSet("sort primary public partition foreign cache idempotency dedup deduplication object unique group grouping hash range row index natural business " +
	"composite candidate surrogate join lookup map dict translation event message config redis file blob issue shard distribution cluster correlation parent child pub order request " +
	"duplicate dup record entity item document doc path react hot host fingerprint gpg pgp node job task batch trace span query field metric label tag")

// secretNamed reports whether a value is a secret, judged by its name, which ends with the
// telling word s[from:to].
func secretNamed(s string, from, to int, value string) bool {
	if strings.ContainsAny(value, "<>{}\n") || strings.Contains(value, `":`) || strings.Contains(value, `\":`) || value == "" || masked(value) {
		return false
	}
	word := strings.Map(separatorless, strings.ToLower(s[from:to]))
	n := nameParts{word: word, kind: kindOfName[word], before: wordBefore(s, from), listed: strings.ContainsAny(value, ", ")}
	n.glued = from > 0 && alphanumeric(s[from-1]) && !hump(s, from)
	parts := 0
	for part := range strings.FieldsFuncSeq(value, func(r rune) bool { return strings.ContainsRune(", []\"'`\\", r) }) {
		if n.secret(part) {
			return true
		}
		if parts++; parts == maxParts {
			break
		}
	}
	return n.kind == ofAnswer && n.secret(value)
}

// maxParts is how many parts of a list are judged.
const maxParts = 16

// kindOfName has the kinds by words without separators.
var kindOfName = func() map[string]secretKind {
	kinds := map[string]secretKind{}
	for word, kind := range nameKinds {
		kinds[strings.Map(separatorless, strings.ToLower(word))] = kind
	}
	return kinds
}()

// separatorless drops the separators of a name.
func separatorless(r rune) rune {
	if strings.ContainsRune("_-. ", r) {
		return -1
	}
	return r
}

// hump reports whether a word of camelCase begins at i.
func hump(s string, i int) bool {
	return i > 0 && 'A' <= s[i] && s[i] <= 'Z' && 'a' <= s[i-1] && s[i-1] <= 'z'
}

// nameParts are the last two words of a name.
type nameParts struct {
	word, before string
	kind         secretKind
	glued        bool // no separator stands between the two
	listed       bool // the value has several parts
}

// secret reports whether a value, or one part of it, is a secret under this name.
func (n nameParts) secret(v string) bool {
	if n.glued && !keyQualifiers[n.before] && !codeQualifiers[n.before] && !gluedPasswords[n.before] {
		return false // monkey, encode, blink
	}
	switch n.kind {
	case ofAnswer:
		return true
	case ofLink:
		return machineMade(v, shortHex)
	case ofPassword:
		return n.password(v)
	case ofCode:
		return n.code(v)
	}
	return len(v) >= 8 && (!n.listed || len(v) >= 12) && n.made(v) && !plainShape(v)
}

// made judges a value that a machine has made.
func (n nameParts) made(v string) bool {
	switch n.kind {
	case ofKey:
		return groupedKey(v) && !ordinaryKeys[n.before] || n.before == "primary" && keyBytes(v) || machineMade(v, longHex) && (keyQualifiers[n.before] || !ordinaryKeys[n.before] && mixedCase(v))
	case ofLicense:
		return groupedKey(v)
	case ofSeed:
		return base32Seed(v) || machineMade(v, shortHex)
	case ofSession:
		return machineMade(v, 2*shortHex) && (len(v) >= 20 || n.word != "session" && n.word != "cookie")
	}
	return machineMade(v, shortHex)
}

// password judges a value under a name such as storepass. A family of its own takes db_pass.
func (n nameParts) password(v string) bool {
	if n.word == "pass" {
		return n.glued && !plainShape(v) && (n.before != "ssh" || chosenWord(v)) // sshpass is also a program
	}
	return !plainShape(v) && (chosenWord(v) || len(v) >= 6 && ascii(v))
}

// code judges a value under a name such as mfa_code. Codes of errors and of countries have no
// qualifier.
func (n nameParts) code(v string) bool {
	p := phrase{text: v, name: n.word, before: n.before, kind: ofCode, to: len(v), assigned: true}
	switch {
	case !codeQualifiers[n.before] || numberedCodes[n.before] && groupEnd(v, 0) == len(v):
		return false
	case p.code(v):
		return true
	}
	return !plainShape(v) && (machineMade(v, shortHex) || p.code(strings.ToUpper(v)))
}

var (
	// gluedPasswords stand before pass without a separator. Other words do: bypass, compass.
	gluedPasswords = wordSet("key store trust admin user db my sql mysql root smtp mail ftp ldap bind auth wifi vnc ssh")

	// numberedCodes stand before codes that may be numbers of records: user_code=1001.
	numberedCodes = wordSet("user device use time link sign")
)
