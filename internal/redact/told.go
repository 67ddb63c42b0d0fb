package redact

import (
	"regexp"
	"strings"
)

// toldWords are the words for a password after which people write "is". They come
// in the case of dictionaries, because the gate knows that of ASCII only.
func toldWords() []string {
	return []string{
		"password", "passwd", "passphrase", "passcode", "pwd", "passwort", "kennwort", "mot de passe", "contraseña", "Contraseña", "contrasena", "senha",
		"parola", "wachtwoord", "hasło", "Hasło", "haslo", "lösenord", "salasana", "adgangskode", "şifre", "Şifre", "пароль", "Пароль", "ПАРОЛЬ", folded("пароль"), folded("Пароль"), folded("ПАРОЛЬ"),
		"密码", "密碼", "パスワード", "비밀번호", " pin", "secret", "token", "api key", "passkey",
	}
}

// told matches a word for a password, a word for is, and a value.
var told = regexp.MustCompile(`(?i)(?:password|passwd|passphrase|passcode|pwd|passwort|kennwort|mot de passe|contraseña|contrasena|senha|parola|wachtwoord|hasło|haslo|lösenord|` +
	`salasana|adgangskode|şifre|пароль|` + folded("пароль|ПАРОЛЬ") + `|密码|密碼|パスワード|비밀번호|\bpin|secret|token|api key|passkey)(?:\s+(?:for|für|pour|para|per|voor)\s+[\w@.-]{1,40})?` +
	`(?:\s+(?:is|was|ist|lautet|war|est|es|é|è|jest|to|är|er|on|это|` + folded("это") + `)(?:\s+(?:now|set to|jetzt|nun))?\s*[:=]?\s+|\s*(?:是|为|為|は|은|는)\s*)` +
	"(?:\"([^\"\n]+)\"|'([^'\n]+)'|`([^`\n]+)`|([^\\s\"'`,;]+))")

// findTold looks for "the password is …". What is quoted is a value; what is not
// must look like one, because a sentence goes on with "wrong" or "required".
func findTold(s string, f finding) finding {
	f.work += len(s)
	for at := 0; at < len(s); {
		m := told.FindStringSubmatchIndex(s[at:])
		if m == nil {
			break
		}
		for g := 2; g < len(m); g += 2 {
			if m[g] < 0 {
				continue
			}
			from, to := at+m[g], at+m[g+1]
			bare := g == len(m)-2
			if bare {
				to = from + len(strings.TrimRight(s[from:to], ".!?)]}:>*"))
			}
			if bare && opensEntity(s, from) { // an escaped quote, which is read behind its disguise
				continue
			}
			if to > from && !masked(s[from:to]) && (!bare || chosen(s[from:to])) {
				f.add(from, to)
			}
		}
		at += m[1]
	}
	return f
}

// chosen reports whether a word looks like one that somebody chose for a password:
// a digit or a sign in it, and not just a small number.
func chosen(v string) bool {
	upper, lower, digits := mixture(v)
	signs := strings.ContainsAny(v, "!@#$%^&*_+=~?")
	switch {
	case strings.ContainsAny(v, "()[]{}/"):
		return digits > 1 && signs
	case upper+lower == 0:
		return digits > 3
	}
	return len(v) > 4 && (digits > 0 || signs) || len(v) > 5 && camel.MatchString(v)
}
