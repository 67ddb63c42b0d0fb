package redact

import (
	"regexp"
	"strings"
	"unicode"
)

// toldWords are the words for a password after which people write "is". They come
// in the case of dictionaries, because the gate knows that of ASCII only.
func toldWords() []string {
	return append(scriptWords(),
		"password", "passwd", "passphrase", "passcode", "pwd", "passwort", "kennwort", "mot de passe", "contraseña", "Contraseña", "contrasena", "senha",
		"parola", "wachtwoord", "hasło", "Hasło", "haslo", "lösenord", "salasana", "adgangskode", "şifre", "Şifre", "пароль", "Пароль", "ПАРОЛЬ", folded("пароль"), folded("Пароль"), folded("ПАРОЛЬ"),
		"密码", "密碼", "パスワード", "비밀번호", " pin", "secret", "token", "api key", "passkey",
		"passord", "pass phrase", "clave de acceso", "jelszó", "lozinka", "parolă", "mật khẩu", "kata sandi",
	)
}

// scriptWords are words for a password in scripts of which the redactor knows no other word.
func scriptWords() []string {
	return []string{
		"κωδικός πρόσβασης", "κωδικός", "Κωδικός", "סיסמה", "סיסמא", "كلمة المرور", "كلمة السر", "رمز عبور", "पासवर्ड", "รหัสผ่าน", "парола", "лозинка", "Парола", "Лозинка",
	}
}

// inASCII reports whether a value is longer than a count and has no letter of another script.
func inASCII(v string) bool {
	return len(v) > 3 && !strings.ContainsFunc(v, func(r rune) bool { return r > unicode.MaxASCII })
}

var (
	// toldEnds finds where these words end. The word pin must stand alone.
	toldEnds = newLiteralGate(append(toldWords(), "pin")...)

	// isTold matches what stands between such a word and a value: a word for is.
	isTold = regexp.MustCompile(`(?i)^(?:et|en|n)?(?:\s+(?:for|für|pour|para|per|voor|von|van|de|del|do|da|di|af|av|till|til|от|для)\s+(?:(?:the|our|my|your|this)\s+)?[\w@.-]{1,40})?` +
		`(?:\s+(?:is|was|ist|lautet|war|est|es|é|è|jest|to|är|er|on|wurde|είναι|היא|הוא|هي|هو|là|это|` + folded("это") + `)(?:\s+(?:now|set to|auf|jetzt|nun))?\s*[:=]?\s+|\s*(?:是|为|為|は|은|는)\s*)`)
)

// findTold looks for "the password is …". What is quoted is a value; what is not
// must look like one, because a sentence goes on with "wrong" or "required".
func findTold(s string, f finding) finding {
	const longest = 128 // between the word and the value
	f.work += len(s)
	for at := 0; at < len(s); {
		from, to := toldEnds.next(s, at)
		if from < 0 {
			break
		}
		at = to
		if to-from <= len(" pin") && strings.EqualFold(s[to-len("pin"):to], "pin") && !begins(s, to-len("pin")) {
			continue
		}
		between := isTold.FindString(s[to:min(len(s), to+longest)])
		if between == "" {
			continue
		}
		v := toldValue(s, to+len(between))
		f.work += v.to - to
		at = max(at, v.to)
		if v.from < v.to && !masked(s[v.from:v.to]) && (!v.bare || chosen(s[v.from:v.to])) {
			f.add(v.from, v.to)
		}
	}
	return f
}

// toldValue returns the value that begins at i, or an empty range.
func toldValue(s string, i int) extent {
	if i == len(s) {
		return extent{from: i, to: i}
	}
	if isQuote(s[i]) {
		end := strings.IndexAny(s[i+1:], s[i:i+1]+"\n")
		if end < 0 || s[i+1+end] == '\n' {
			return extent{from: i, to: i}
		}
		return extent{from: i + 1, to: i + 1 + end}
	}
	if opensEntity(s, i) { // an escaped quote, which is read behind its disguise
		return extent{from: i, to: i}
	}
	end := i
	for end < len(s) && strings.IndexByte(" \t\n\r\f\"'`,;", s[end]) < 0 {
		end++
	}
	return extent{from: i, to: i + len(strings.TrimRight(s[i:end], ".!?)]}:>*")), bare: true}
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
