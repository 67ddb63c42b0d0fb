package redact

import "strings"

// tellingRules finds what a word or a shape gives away where no name and no prefix of a
// vendor does: the keys of wallets, seeds, PINs and the halves of pairs.
func tellingRules() []rule {
	const (
		is    = `(?:\s+(?:is|was|of|est|es|è|é|ist|lautet))?[\s:=#("'` + "`" + `]{1,4}`
		codes = `(?:one[- ]time|verification|security|authentication|authorization|2fa|mfa|totp|sms|login|recovery|backup|confirmation|access)[ -](?:code|pin|passcode)` +
			`|code de (?:vérification|confirmation|sécurité|connexion|validation)|c[oó]digo de (?:verificaci[oó]n|confirmaci[oó]n|seguridad|acceso|verificação|confirmação|segurança)|codice di (?:verifica|conferma|sicurezza|accesso)|(?:ihr|dein) code`
	)
	return []rule{
		{name: "wallet", of: "extended", gate: []string{"xprv", "yprv", "zprv", "tprv", "uprv", "vprv", "keypair", "solana", "secretkey", "id.json"}, expr: `[xyztuv]prv[1-9A-HJ-NP-Za-km-z]{100,}|\b(?:\d{1,3}\s?,\s?){63}\d{1,3}\b`},
		{name: "wallet", of: "wif", gate: []string{"0h", "0j", "0k", "kw", "kx", "ky", "kz", "l0"}, find: findWIF},
		{name: "beside", of: "aws pair", gate: []string{"AKIA", "ASIA"}, multiline: true, find: findAWSPair},
		{
			name: "command", of: "oracle", gate: []string{"sqlplus", "sqlcl", "expdp", "impdp", "sqlldr", "rman", "exp ", "imp ", "connect ", "conn ", "userid=", "jdbc:oracle"},
			expr: `(?i)(?:\b(?:sqlplusw?|sqlcl|expdp|impdp|sqlldr|rman|exp|imp|connect|conn)\b[^\n/]{0,40}?[\s"']|userid=["']?|jdbc:oracle:\w+:)[\w$#.]{1,30}/([^\s"'@/]+(?:@[^\s"'@/]+)*)@[\w/(]`,
		},
		{name: "told", of: "mnemonic", gate: []string{"mnemonic", "phrase", "seed words", "seed:"}, expr: `(?i)\b(?:mnemonic|(?:seed|recovery|secret|backup)[ _](?:phrase|words)|seed)` + is + `([a-z]{3,8}(?: [a-z]{3,8}){11,23})\b`},
		{name: "told", of: "seed groups", gate: []string{"totp", "otp", "0fa", "mfa", "authenticator", "seed", "setup key", "secret key"}, expr: `(?i)(?:(?:totp|otp|2fa|mfa|authenticator)(?:[ _-](?:secret|seed|key))?|seed|setup key|secret key)` + is + `([a-z2-7]{4}(?:[ -][a-z2-7]{4}){3,15})\b`, check: groupedSeed},
		{name: "told", of: "pin", gate: []string{"pin ", "pin:", "pin#", "otp ", "otp:", "code 0", "code: 0", "code is 0", "code was 0", "passcode", "code (0", "code de ", "código de ", "codigo de ", "codice di ", "ihr code", "dein code"}, expr: `(?i)\b(?:pin(?:[ -](?:code|number|no\.?))?|otp|` + codes + `)` + strings.Replace(is, "=", "", 1) + `(\d{4,8}|\d{3}[ -]\d{3})\b`, check: pinNumber},
		{name: "told", of: "card code", gate: []string{"cvv", "cvc", "csc"}, expr: `(?i)\b(?:cvv2?|cvc2?|csc(?:[ -](?:code|number|no\.?)|:| is))(?:[ -](?:code|number|no\.?))?(?:\s+(?:is|was))?[\s:#("']{1,4}(\d{3,8})\b`, check: pinNumber},
		{
			name: "told", of: "entered", multiline: true,
			gate: []string{"to verify", "to confirm", "to sign", "to log", "to activate", "to authenticate", "to reset", "to complete", "pour vérifier", "pour confirmer", "para verificar", "para confirmar", "per verificare", " ein, um "},
			expr: `(?i)\b(?:enter|use|type|input|utilisez|saisissez|entrez|ingrese|introduzca|digite|insira|inserisci|geben sie)\s+(?:(?:the|code|le|el|il|o|den|c[oó]digo|codice)\s+){0,3}(\d{4,8}|\d{3}[ -]\d{3})\s+` +
				`(?:(?:to|pour|para|per)\s+(?:verify|confirm|sign[ -]?(?:in|up)|log[ -]?in|activate|authenticate|reset|complete|vérifier|confirmer|verificar|confirmar|verificare)\b|ein, um )`,
		},
		{name: "ssn", of: "named", gate: []string{"ssn", "social security", "social insurance"}, expr: `(?i)\b(?:ssn|social[ -](?:security|insurance)(?:[ -](?:number|no\.?|num))?)` + is + `(\d{3}[- .]?\d{2}[- .]?\d{4}|\d{3}[- .]\d{3}[- .]\d{3})\b`},
	}
}

// pinNumber tells a PIN from a number with a fraction, a date, and a count.
func pinNumber(s string, from, to int) bool {
	rest := s[to:]
	return !(len(rest) > 1 && strings.IndexByte("-./:", rest[0]) >= 0 && digit(rest[1])) && !strings.HasPrefix(rest, " times") && !strings.HasPrefix(rest, " attempts")
}

// groupedSeed wants a digit among the letters of a seed: words have none.
func groupedSeed(s string, from, to int) bool {
	upper, lower, digits := mixture(s[from:to])
	return digits > 0 && upper+lower > 0
}

// findAWSPair looks around the id of a key for its secret half, also on the lines next to
// it, as a console and a configuration show the two.
func findAWSPair(s string, f finding) finding {
	const id, near = 20, 200
	f.work += len(s)
	done := 0
	for at := 0; at+id <= len(s); at++ {
		if s[at] != 'A' || s[at+2:at+4] != "IA" || s[at+1] != 'K' && s[at+1] != 'S' {
			continue
		}
		f, done = findSecretHalf(s, max(done, at-near), min(len(s), at+id+near), f)
		at += id
	}
	return f
}

// findSecretHalf looks for secret halves that begin between two places, and returns where it
// stopped.
func findSecretHalf(s string, at, limit int, f finding) (finding, int) {
	const length = 40
	in := func(b byte) bool { return alphanumeric(b) || b == '/' || b == '+' }
	done := at
	for ; at < limit; at++ {
		if !in(s[at]) {
			continue
		}
		from := at
		for at < len(s) && in(s[at]) {
			at++
		}
		f.work += at - from
		done = at
		end := from + length
		if at != end && (at < end || s[end] != '/') {
			continue
		}
		if upper, lower, digits := mixture(s[from:end]); upper > 3 && lower > 3 && digits > 0 {
			f.add(from, end)
		}
	}
	return f, done
}
