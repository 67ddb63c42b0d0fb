package redact

import (
	"math/bits"
	"regexp"
	"slices"
)

// secretColumn matches the names of columns and fields that hold secrets.
var secretColumn = regexp.MustCompile(`(?i)(?:password|passwd|passphrase|passcode|passwort|kennwort|contrase[nñ]a|senha|mot_?de_?passe|wachtwoord|has[lł]o|salasana|пароль|密码|` +
	`pwd|secret|token|credentials?|(?:api|access|private|secret|signing|encryption|master|auth|account|primary_access)_?key|(?:^|_)(?:pin|otp|cvv|cvc)|session_?id|` +
	`(?:verification|recovery|reset|backup|auth|mfa|otp)_?code)(?:_?(?:hash|digest|enc|encrypted|value|plain|old|new|\d))?$`)

// columnWords are literals of which every name that secretColumn matches has one.
func columnWords() []string {
	return []string{
		"pass", "kennwort", "contrase", "senha", "mot_de_", "motde", "wachtwoord", "haslo", "hasło", "salasana", "пароль", folded("пароль"), "密码",
		"pwd", "secret", "token", "credential", "key", "pin", "otp", "cvv", "cvc", "session", "code",
	}
}

// secretColumnName reports whether a column holds secrets.
func secretColumnName(name string) bool {
	const longest = 64
	return name != "" && len(name) <= longest && secretColumn.MatchString(name)
}

// literalGate finds where one of several literals ends. The bit of its hit is the length of the
// literal.
type literalGate struct{ *gate }

func newLiteralGate(literals ...string) literalGate {
	longest := len(slices.MaxFunc(literals, func(a, b string) int { return len(a) - len(b) }))
	byLength := make([]rule, longest+1)
	for _, literal := range literals {
		byLength[len(literal)].gate = append(byLength[len(literal)].gate, literal)
	}
	return literalGate{newGate(byLength)}
}

// next returns where the next literal after at lies, or -1.
func (g literalGate) next(s string, at int) (from, to int) {
	state := uint16(0)
	for i := at; i < len(s); i++ {
		if state = g.step(state, s[i]); state >= ending {
			return i + 2 - bits.Len64(g.ended(state)[0]), i + 1
		}
	}
	return -1, -1
}
