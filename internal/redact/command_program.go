package redact

import "strings"

// programRules finds the passwords in the arguments of more programs. Those of programs that only
// have an option of their own are in passwordOptions.
func programRules() []rule {
	const (
		argument = `["']*([^\s"'-][^\s"']*)`
		login    = `["']?(?:userid=["']?)?[\w$#]{1,30}/(?:"([^"\s]{1,64})"|([^\s"'@/;]{1,64}))`
	)
	return []rule{
		{name: "command", of: "cookie", gate: []string{"curl"}, expr: `\bcurl\b.*?\s-b *["']*([^\s"'=]+=[^\s"']+)`, check: cookieArgument},
		{name: "command", of: "--secret-string", gate: []string{"secretsmanager"}, expr: `\bsecretsmanager\b.*?\s--secret-string[ =]+` + argument, check: givenArgument},
		{name: "command", of: "--value", gate: []string{"put-parameter"}, expr: `\bput-parameter\b.*?\s--value[ =]+` + argument, check: secureParameter},
		{name: "command", of: "keyvault", gate: []string{"keyvault secret set"}, expr: `\bkeyvault secret set\b.*?\s--value[ =]+` + argument, check: givenArgument},
		{name: "command", of: "doctl", gate: []string{"doctl auth init"}, expr: `\bdoctl auth init\b.*?\s-t[ =]*` + argument, check: chosenAt},
		{name: "command", of: "--body", gate: []string{"gh secret set"}, expr: `\bgh secret set\b.*?\s(?:--body[ =]+|-b *)` + argument, check: givenArgument},
		{name: "command", of: "keychain", gate: []string{"-keychain", "security import"}, expr: `\bsecurity (?:unlock-keychain|create-keychain|import)\b.*?\s-[pP] +` + argument, check: givenArgument},
		{name: "command", of: "using", gate: []string{"connect to "}, expr: `(?i)\bconnect to \S{1,64} user \S{1,64} using ["']?([^\s"';]+)`, check: chosenAt},
		{name: "command", of: "mc", gate: []string{"mc alias set ", "mc config host add "}, expr: `\bmc (?:alias set|config host add) \S+ ["']?https?://\S+ \S+ ["']?([^\s"'-][^\s"']*)`, check: givenArgument},
		{
			name: "command", of: "position", gate: []string{"isql ", "radtest ", "http-basic.", " +login ", "bundle config ", "secrets set ", "user-secrets set "},
			expr: `\b(?:isql [^\s-]\S{0,63} \S{1,64} |radtest \S{1,64} |(?:composer|poetry) config (?:-\S{1,32} ){0,3}http-basic\.\S{1,128} \S{1,64} |steamcmd [^\n+]{0,64}\+login \S{1,64} |` +
				`bundle config (?:set )?(?:--\w{1,16} ){0,2}\S{1,128} [^\s:"']{1,64}:|fly(?:ctl)? secrets set \w{1,64}=|dotnet user-secrets set \S{1,128} )["']*([^\s"'+-][^\s"']*)`, check: chosenAt,
		},
		{name: "command", of: "/rp", gate: []string{"schtasks"}, expr: `(?i)\bschtasks\b.*?\s/rp +` + argument, check: givenArgument},
		{name: "command", of: "SecureString", gate: []string{"convertto-securestring"}, expr: `(?i)\bConvertTo-SecureString\s+(?:-String\s+)?\\*["']([^"'\n$\\]+)`, check: notMaskedAt},
		{name: "command", of: "stats auth", gate: []string{"stats auth "}, expr: `\bstats auth\s+[^\s:]{1,64}:([^\s"']+)`, check: givenArgument},
		{
			name: "command", of: "oracle login", gate: []string{"sqlplus", "sqlcl", "expdp", "impdp", "sqlldr", "rman target", "rman catalog", "userid="},
			expr: `(?i)(?:\b(?:sqlplusw?|sqlcl|expdp|impdp|sqlldr|rman (?:target|catalog))(?:\s+-\w+)*\s+|userid=)` + login, check: quotedOrChosen,
		},
		{name: "command", of: "oracle catalog", gate: []string{" catalog "}, expr: `(?i) catalog ["']?[\w$#]{1,30}/(?:"([^"\s]{1,64})"|([^\s"'@/;]{1,64}))@`, check: notMaskedAt},
		{name: "command", of: "oracle connect", gate: []string{"exp ", "imp ", "connect ", "conn "}, expr: `(?i)\b(?:exp|imp|conn|connect)\s+` + login, check: lastLogin},
	}
}

// givenArgument accepts what is no mask and no file.
func givenArgument(s string, from, to int) bool {
	return !masked(s[from:to]) && !strings.Contains(s[from:to], "://") && s[from] != '@'
}

// cookieArgument wants a cookie whose value a machine has made.
func cookieArgument(s string, from, to int) bool {
	const longest = 4 << 10
	for part := range strings.FieldsFuncSeq(s[from:min(to, from+longest)], func(r rune) bool { return r == ';' || r == filled }) {
		if _, v, _ := strings.Cut(part, "="); v != "" && !plainShape(v) && machineMade(v, shortHex) {
			return true
		}
	}
	return false
}

// secureParameter wants the type SecureString among the arguments.
func secureParameter(s string, from, to int) bool {
	const near = 256
	return givenArgument(s, from, to) && strings.Contains(s[max(0, from-near):min(len(s), to+near)], "SecureString")
}

// quotedOrChosen accepts what stands in quotes of its own, or looks like a password.
func quotedOrChosen(s string, from, to int) bool {
	if s[from-1] == '"' || s[from-1] == filled {
		return !masked(s[from:to])
	}
	return chosenAt(s, from, to)
}

// lastLogin wants a login that ends the command, or that parameters follow: a path may stand behind
// the same words.
func lastLogin(s string, from, to int) bool {
	const longest = 64
	if !quotedOrChosen(s, from, to) {
		return false
	}
	rest := strings.TrimLeft(s[to:min(len(s), to+longest)], `"'`)
	if parameter := strings.TrimLeft(rest, " "); parameter != rest {
		name := wordEnd(parameter, 0)
		return name > 0 && strings.HasPrefix(parameter[name:], "=") || strings.HasPrefix(parameter, "@")
	}
	v := s[from:to]
	return rest == "" && (changes(v) > 1 || signed(v) || s[from-1] == '"') || strings.HasPrefix(rest, "@") || strings.HasPrefix(rest, ";")
}

// statementRules finds the passwords in statements and files that have no name for them.
func statementRules() []rule {
	return []rule{
		{name: "sql", of: "replace", gate: []string{" replace "}, expr: `(?i)identified\s+by\s+(?:\\*"[^"\n]{1,128}"|[^\s"]{1,128})\s+replace\s+(?:\\*"([^"\\\n]+)|([^\s"';\\]+))`, check: givenPassword},
		{name: "sql", of: "pragma", gate: []string{"pragma ", "attach "}, expr: `(?i)\b(?:pragma\s+(?:\w{1,32}\.)?(?:re|hex)?key\s*=\s*|attach\s+(?:database\s+)?\S{1,128}\s+as\s+\w{1,64}\s+key\s+)(?:x?'([^'\n]+)'|"([^"\n]+)")`, check: notMaskedAt},
		{name: "netrc", of: "pgpass", gate: []string{":0000:", ":00000:", ":*:"}, expr: `(?:^|[^\w.-])[A-Za-z*][\w.-]{0,128}:(?:\d{4,5}|\*):[A-Za-z*_][\w.-]{0,63}:[A-Za-z*_][\w.@-]{0,63}:([^\s"':/&,;()\[\]{}<>\\]{4,128})`, check: lastField},
		{name: "password", of: "dotted", gate: []string{"password...", "passphrase...", "secret...", "token..."}, expr: `(?i)(?:password|passphrase|secret|token)\.{4,}(?:\\*"([^"\\\n]+)|'([^'\n]+)'|([^\s"'.<\\][^\s"'\\]*))`, check: givenPassword, refuses: assigned},
		{name: "k3s", gate: []string{"::server:", "::node:", "::agent:"}, expr: `\bK10[0-9a-f]{40,64}::(?:server|node|agent):[\w-]{8,}`},
	}
}

// lastField accepts the last field of a line of .pgpass. In the middle of a line it must not look like
// the name of a thread or a file.
func lastField(s string, from, to int) bool {
	v, rest := s[from:to], s[to:]
	if !chosenAt(s, from, to) || strings.HasPrefix(rest, ":") && !strings.HasPrefix(rest, ": ") { // another field follows
		return false
	}
	return changes(v) > 1 || signed(v) || to == len(s)
}
