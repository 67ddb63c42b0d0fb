package redact

import (
	"fmt"
	"math/bits"
	"regexp"
	"slices"
	"strings"
)

// family is a set of names whose values are secret, whatever they look like.
type family struct {
	name string
	of   string   // tells families of one name apart
	keys []string // _ is any or no separator

	// bare matches a value without quotes, from its beginning.
	bare string

	// prose says which bare values after "name: " are values. A log says
	// "password: hunter2", a parser says "unexpected token: end".
	prose func(value string) bool

	// quoted says that a name may be followed by just a quoted value, as in
	// SQL's WITH PASSWORD 'hunter2'.
	quoted bool

	// apart says that a name must not continue another word, as in bypass.
	apart bool

	// only says which values count at all; nil for all.
	only func(value string) bool

	// judge says whether a value is a secret under the name that ends with s[from:to]; nil for all.
	judge func(s string, from, to int, value string) bool
}

// word matches a bare value: up to a blank, a separator of fields, a quote, or an
// escaped one of these.
const word = `(?:[^\s,;&"'<>` + "`" + `\\]|\\[^nrt"'])+`

func families() []family {
	always := func(string) bool { return true }
	return []family{
		{
			name: "authorization", keys: []string{"authorization", "x_auth"}, prose: opaqueOrPair,
			bare: `(?i:digest|hawk|oauth|aws4-hmac-sha256)[ \t].*|(?i:(?:bearer|basic|token|apikey|key|negotiate|ntlm|bot|dpop|ssws)[ \t]+)?` + word,
		},
		{
			name: "cookie", keys: []string{"cookie", "cookies"}, prose: opaqueOrPair,
			bare: word + `(?:;[ \t]?` + word + `)*;?`,
		},
		{
			name: "password", keys: []string{"password", "passwd", "passphrase", "pass_phrase", "passcode", "pwd", "requirepass", "masterauth", "primaryauth", "rootpw", "bindpw", "dbpw", "userpw", "adminpw", "keypw",
				"pasword", "passwrod", "passwrd", "passwort", "psswd", "pssword", "passsword", "paswd", "passowrd"},
			bare: word, prose: always, quoted: true,
		},
		{
			name: "password", of: "other languages", bare: word, prose: always,
			keys: []string{
				"passwort", "kennwort", "mot_de_passe", "motdepasse", "contraseña", "Contraseña", "contrasena", "senha", "wachtwoord", "hasło", "Hasło", "haslo",
				"lösenord", "losenord", "salasana", "adgangskode", "passord", "jelszó", "lozinka", "parolă", "şifre", "Şifre", "пароль", "Пароль", "ПАРОЛЬ", "密码", "密碼", "パスワード", "비밀번호",
			},
		},
		{
			// Prose after these words is in the same script, and a value is not.
			name: "password", of: "other scripts", bare: word, prose: inASCII, keys: scriptWords(),
		},
		{
			// PASS is also what a test says, and pass=412 how many did.
			name: "password", of: "pass", keys: []string{"pass"}, apart: true,
			bare: word, prose: func(string) bool { return false }, only: func(v string) bool { return len(v) > 3 || !digitsOnly.MatchString(v) },
		},
		{
			name: "password", of: "short", apart: true, bare: word, prose: func(string) bool { return false }, keys: []string{"clave", "parola", "heslo", "pin", "pgpass", "cvc", "cvd", "cvn", "csc", "pin_block", "pw"},
		},
		{
			name: "secret", of: "short", keys: []string{"auth", "otp", "jwt", "totp", "mfa", "dsn", "psk", "x_vault", "sonar.login", "hapikey", "x_jfrog_art_api", "cred", "creds", "ha1"}, apart: true,
			bare: word, prose: opaqueOrPair, only: func(v string) bool { return !authKinds[strings.ToLower(v)] && !connectionField.MatchString(v) },
		},
		{
			name: "secret", bare: word, prose: opaqueOrPair,
			keys: []string{
				"secret", "secret_string", "secret_binary", "token", "api_key", "access_key", "secret_key", "private_key", "signing_key",
				"encryption_key", "encrypt_key", "key_material", "auth_salt", "nonce_salt", "nonce_key", "logged_in_key", "logged_in_salt", "account_key", "auth_key", "application_key", "credential", "credentials", "signature_key",
				"amz_signature", "auth_user_info", "nlauth_signature", "sessid", "session_id", "cvv", "card_code", "cv_number", "identity_header", "verification_value", "secert", "sercet", "tokne", "toekn", "ssn", "social_security_number",
			},
		},
		{
			// Vault's secret_id is a UUID. The SecretId of AWS is a name.
			name: "secret", of: "vault id", keys: []string{"secret_id"}, bare: `(?i:` + uuid + `)`, prose: uuidOnly, only: uuidOnly,
		},
		{
			name: "secret", of: "session", keys: []string{"session"}, apart: true,
			bare: word, prose: opaqueOrPair, only: func(v string) bool { return len(v) >= 20 && !plainShape(v) && machineMade(v, 2*shortHex) },
		},
		{
			name: "secret", of: "made", keys: []string{"pat", "appid", "cookie_keys", "access", "refresh"}, apart: true,
			bare: word, prose: opaqueOrPair, only: func(v string) bool { return len(v) >= 20 && !plainShape(v) && machineMade(v, 2*shortHex) },
		},
		{
			name: "hash", of: "named", keys: []string{"password_hash", "password_digest", "passwd_hash", "pwd_hash", "pass_hash", "pw_hash"},
			bare: word, prose: opaqueOrPair, only: func(v string) bool { return len(v) >= 28 && !plainShape(v) && machineMade(v, 28) },
		},
		{
			name: "phone", of: "named", keys: []string{"phone", "telephone", "phone_number", "msisdn", "mobile", "telefon", "telefono", "téléfono", "téléphone", "telefone", "whatsapp", "fax"},
			bare: `[+(]?\d[\d ()./-]{5,20}\d`, prose: always, only: dialable,
		},
		{
			name: "person", keys: []string{"date_of_birth", "birth_date", "birthdate", "birthday", "passport_number", "passport_no", "tax_id", "national_id", "iban"},
			bare: word, prose: func(v string) bool { _, _, digits := mixture(v); return digits > 3 },
		},
		{
			name: "body", bare: `[^\n]+`, prose: wordy,
			keys: []string{"prompt", "system_prompt", "user_prompt", "prompt_text", "completion_text", "chat_history"},
		},
		{
			// "invalid request body: unexpected EOF" has none in it.
			name: "body", of: "bodies", bare: `[^\s"'&]+`, prose: func(string) bool { return false },
			keys: []string{"request_body", "response_body", "raw_body", "http_body", "email_body", "message_body", "req_body", "resp_body", "body_text", "body_html"},
		},
		{
			name: "body", of: "short", apart: true, bare: `[^\s"'&]+`, prose: func(string) bool { return false }, only: written,
			keys: []string{"body", "messages", "completion", "html_body", "raw_request", "raw_response"},
		},
	}
}

// keyed finds the values of a family's names.
type keyed struct {
	family
	names *gate // where a name ends; the bit of its hit is the length of the name
	value *regexp.Regexp
}

// rule makes the family's rule.
func (f family) rule() rule {
	literals := f.literals()
	byLength := make([]rule, len(slices.MaxFunc(literals, func(a, b string) int { return len(a) - len(b) }))+1)
	for _, literal := range literals {
		byLength[len(literal)].gate = append(byLength[len(literal)].gate, literal)
	}
	k := keyed{family: f, names: newGate(byLength), value: regexp.MustCompile("^(?:" + f.bare + ")")}
	r := rule{name: f.name, of: f.of, gate: literals, find: k.find, key: k.matches, refuses: assigned}
	if f.judge != nil {
		r.refuses, r.yields = nil, true
	}
	return r
}

// literals returns the names with every separator.
func (f family) literals() []string {
	var literals []string
	for _, key := range f.keys {
		for _, separator := range []string{"", "_", "-", ".", " "} {
			literal := strings.ReplaceAll(key, "_", separator)
			literals = append(literals, literal, folded(literal)) // as it is seen behind a disguise
		}
	}
	return literals
}

func (k keyed) find(s string, f finding) finding {
	f.work += len(s)
	state, a := uint16(0), ahead{}
	for i := 0; i < len(s); i++ {
		state = k.names.step(state, s[i])
		if state < ending {
			continue
		}
		end := i + 1
		name := end + 1 - bits.Len64(k.names.ended(state)[0])
		v := k.valueAfter(s, name, end, &a)
		if v.from >= v.to {
			continue
		}
		taken := !v.harmless(s) && (k.name == "body" || !v.verdict(s)) && k.takes(s, name, end, s[v.from:v.to])
		if taken {
			v = k.whole(s, v, &a)
			if k.name == "password" && v.bare {
				v.to = max(v.to, appPasswordEnd(s, v.from))
			}
			f.add(v.from, v.to)
			v, f = k.listed(s, v, f)
		}
		if next := k.changedTo(s, v, &a); next.from < next.to {
			f.add(next.from, next.to)
			v, taken = next, true
		}
		if taken || k.judge == nil || v.bare { // another name may stand in a quotation that is no secret
			i, state = v.to-1, 0
		}
	}
	f.work += a.read
	return f
}

// takes reports whether a value counts under the name that ends with s[from:to].
func (k keyed) takes(s string, from, to int, value string) bool {
	return (k.only == nil || k.only(value)) && (k.judge == nil || k.judge(s, from, to, value[:min(len(value), maxJudged)]))
}

// matches reports whether a value under a key of JSON is secret.
func (k keyed) matches(key string, v any) bool {
	state := uint16(0)
	for i := range len(key) {
		state = k.names.step(state, key[i])
		hit := k.names.ended(state)[0]
		if hit == 0 || !k.stands(key, i+2-bits.Len64(hit)) || strings.HasPrefix(key, pullSecret) {
			continue
		}
		if m := tailOnly.FindStringSubmatch(key[i+1:]); len(m) > 1 && (m[1] == "" || !number(v)) {
			return k.takes(key, i+2-bits.Len64(hit), i+1, fmt.Sprint(v))
		}
	}
	return false
}

// number reports whether a value is one: max_tokens counts tokens.
func number(v any) bool {
	switch v.(type) {
	case string, map[string]any, []any:
		return false
	}
	return true
}

// assigned reports whether an equals sign stands before a value.
func assigned(s string, from, _ int) bool {
	return strings.HasSuffix(strings.TrimRight(s[:from], " \t\"'`[{\\"), "=")
}

// stands reports whether the name that begins at i may be a name there.
func (k keyed) stands(s string, i int) bool {
	return !k.apart || i == 0 || !alphanumeric(s[i-1]) || k.name != "body" && hump(s, i)
}

// compound reports whether the name that begins at i ends a longer one: db_pass.
func compound(s string, i int) bool {
	return i > 1 && strings.IndexByte("_-.", s[i-1]) >= 0 && alphanumeric(s[i-2])
}
