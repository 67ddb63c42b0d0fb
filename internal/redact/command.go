package redact

import (
	"regexp"
	"strings"
)

// commandRules finds the passwords that people give to programs, and those that
// they tell each other.
//
// An expression with .*? must have one beginning and one end: of two alternatives, the first
// may look for its end up to the end of the line after each match of the second.
func commandRules() []rule {
	const gap = `[\s#>|*]+` // also between the lines of a comment or a quotation
	const value = `(?:"([^"\n]+)"|'([^'\n]+)'|([^\s"'|&;<>()\[\]]+))`
	return []rule{
		{name: "command", of: "curl", gate: []string{"curl", "wget", "http ", "lftp", "etcdctl"}, expr: `(?:curl|wget|http|lftp|etcdctl)\b.*?\s(?:-u|--user|--proxy-user|-U|-a|--auth)[ =]*["']*([^\s"':/,]+[:,][^\s"']+)`, check: notAddressed},
		{name: "command", of: "-p word", gate: []string{"sshpass", "docker login", "podman login", "helm registry", "mongo", "az login", "az sql ", "az acr ", "az mysql ", "az postgres ", "oc login", "mariadb", "influx", "skopeo", "plink", "cqlsh", "sqlcmd", "bcp ", "twine", "ipmitool"}, expr: `(?:sshpass|(?:docker|podman|skopeo|az|oc) login|az (?:sql|acr|mysql|postgres) |helm registry login|mongo\w*|influx|mariadb|plink|cqlsh|sqlcmd|bcp|twine|ipmitool)\b.*?\s-(?:p|pw|P)[ =]*["']*([^\s"'-][^\s"']*)`, check: notMaskedAt},
		{name: "command", of: "-pword", gate: []string{"mysql", "0z x ", "0z a ", "0z e ", "0za ", "0zr ", "unrar", "mariadb"}, expr: `(?:mysql\w*|mariadb\w*|7z[ar]?|(?:un)?rar)\b.*?[\s"']-(?:p|hp)["']*([^\s"'-][^\s"']*)`, check: notPort},
		{name: "command", of: "-p chosen", gate: []string{"mysql", "psql", "useradd", "usermod", "restic"}, expr: `(?:mysql\w*|psql|useradd|usermod|restic)\b.*?\s-p[ =]+["']*([^\s"'-][^\s"']*)`, check: chosenAt},
		{name: "command", of: "zip", gate: []string{"zip -"}, expr: `\b(?:un)?zip\b.*?\s-P[ =]+["']*([^\s"'-][^\s"']*)`, check: chosenAt},
		{name: "command", of: "/p:", gate: []string{"freerdp", "mstsc"}, expr: `(?:freerdp|mstsc)\b.*?\s/p:["']*([^\s"']+)`},
		{name: "command", of: "auth()", gate: []string{".auth(", "auth=("}, expr: `(?:\.auth|\bauth=)\(["'][^"'\s]+["'],\s*["']([^"']+)`},
		{name: "command", of: "-k", gate: []string{"openssl enc"}, expr: `openssl enc\b.*?\s-[kK] +["']*([^\s"'-][^\s"']*)`, check: notMaskedAt},
		{name: "command", of: "ssh-keygen", gate: []string{"ssh-keygen"}, expr: `ssh-keygen\b.*?\s-[NP] +["']*([^\s"'-][^\s"']*)`, check: notMaskedAt},
		{name: "command", of: "argument", gate: []string{"net user ", "change_password ", "add_user ", "addauth digest ", "wpa_passphrase "}, expr: `(?i)(?:\bnet user [^\s/]+|\b(?:change_password|add_user|wpa_passphrase) \S+|\baddauth digest)\s+["']?([^\s"'/-][^\s"']*)`, check: chosenAt},
		{name: "command", of: "vault", gate: []string{"vault login ", "operator unseal "}, expr: `\bvault (?:login|operator unseal)\s+(?:-\S+\s+)*([\w.+/=-]{16,})`, check: opaqueAt},
		{name: "command", of: "sudo -S", gate: []string{"sudo -s"}, expr: `\becho\s+(?:-\w+\s+)*["']?([^\s"'|$]+)["']?\s*\|\s*sudo\s+-S`},
		{name: "command", of: "-a", gate: []string{"redis-cli", "valkey-cli", "-benchmark"}, expr: `(?:redis|valkey)-(?:cli|benchmark)\b.*?\s-a[ =]*["']*([^\s"']+)`, check: notMaskedAt},
		{name: "command", of: "-w", gate: []string{"ldapsearch", "ldapmodify", "ldapadd", "ldapwhoami", "ldappasswd"}, expr: `ldap\w+\b.*?\s-[wsa] *["']*([^\s"'-][^\s"']*)`, check: notScope},
		{name: "command", of: "user%password", gate: []string{"smbclient", "rpcclient", "smbget", "smbcacls", "net rpc", "net ads", "winexe", "wmic "}, expr: `(?i)(?:smbclient|rpcclient|smbget|smbcacls|net (?:rpc|ads)|winexe|wmic)\b.*?\s(?:-U|--user)[ =]*["']*[^\s"'%]+%([^\s"']+)`},
		{name: "command", of: "net use", gate: []string{"net use"}, expr: `(?i)net use\b.*?\s/user:\S+\s+([^\s"']+)`, check: lastArgument},
		{name: "command", of: "net use first", gate: []string{"net use"}, expr: `(?i)net use\s+(?:(?:[a-z]:|\*)\s+)?\\\\\S+\s+([^\s"'/*][^\s"']*)\s+/user:`},
		{name: "command", of: "pass:", gate: []string{"pass:"}, expr: `\bpass:([^\s"']+)`, check: passArgument},
		{name: "command", of: "htpasswd", gate: []string{"htpasswd", "chpasswd"}, expr: `htpasswd\s+-\w*b\w*\s+\S+\s+\S+\s+["']?([^\s"']+)|echo\s+["']?\w+:([^\s"'|]+)["']?\s*\|\s*(?:sudo\s+)?chpasswd`},
		{name: "command", of: "--data", gate: []string{"secrets versions add", "secrets create"}, expr: `\bsecrets (?:versions add|create)\b.*?\s--data[ =]+["']*([^\s"'-][^\s"']*)`, check: chosenAt},
		{name: "netrc", gate: []string{"login "}, multiline: true, expr: `login` + gap + `[^\s]+` + gap + `(?:account` + gap + `[^\s]+` + gap + `)?pass(?:word|wd)` + gap + `([^\s]+)`, check: netrcPassword},
		{name: "sql", gate: []string{"identified"}, expr: `(?i)identified\s+(?:with\s+\S+\s+)?(?:by|as)\s+(?:password\s+|values\s+)?` + value, check: givenPassword},
		insertRule(),
		argumentsRule(),
		csvRule(),
		{name: "told", gate: toldWords(), find: findTold},
	}
}

// chosenAt accepts an argument that looks like a password: the name of a database may stand
// in the same place.
func chosenAt(s string, from, to int) bool {
	return !masked(s[from:to]) && !plainShape(s[from:to]) && chosenWord(s[from:to])
}

// earlierArgument matches net use \\server\share password, up to its options.
var earlierArgument = regexp.MustCompile(`(?i)net use\s+(?:(?:[a-z]:|\*)\s+)?\\\\\S+\s+[^\s"'/*][^\s"']*\s+/user:\S+\s+$`)

// lastArgument reports whether no password stands before the user: what follows the user then
// belongs to the sentence.
func lastArgument(s string, from, _ int) bool {
	const longest = 256
	return !earlierArgument.MatchString(s[max(0, from-longest):from])
}

// netrcPassword tells a password from the word behind the name of two fields: the login or password is wrong.
func netrcPassword(s string, from, _ int) bool {
	const longest = 32
	return !twoFields.MatchString(s[max(0, from-longest):from])
}

var twoFields = regexp.MustCompile(`(?i)login\s+(?:or|and)\s+pass(?:word|wd)\s+$`)

// notScope tells the password of ldappasswd -s from what ldapsearch calls -s and -a.
func notScope(s string, from, to int) bool { return !masked(s[from:to]) && !searchWords[s[from:to]] }

var searchWords = wordSet("base one sub children never always search find")

// notPort tells the password of -ppassword from what other programs call -p, and
// from masks.
func notPort(s string, from, to int) bool {
	v := s[from:to]
	return !strings.HasPrefix(v, "ort") && !strings.HasPrefix(v, "rotocol") && !masked(v)
}

// passArgument wants pass: to be an argument of OpenSSL's, not the end of a word or
// what a test says.
func passArgument(s string, from, to int) bool {
	const longest = 256
	at := from - len("pass:")
	before := s[max(0, at-longest):at]
	return strings.HasSuffix(before, " ") && strings.Contains(before, "-pass") && !masked(s[from:to])
}

// notAddressed tells user:password from https://host.
func notAddressed(s string, from, to int) bool {
	return !strings.Contains(s[from:to], "://") && !variables.MatchString(s[from:to])
}

// variables matches a user and a password that are variables of a shell.
var variables = regexp.MustCompile(`^\$\{?\w+\}?:\$\{?\w+\}?$`)

// givenPassword wants a password in quotes, or one that looks like it: a file may
// be identified by its hash.
func givenPassword(s string, from, to int) bool {
	return !masked(s[from:to]) && (isQuote(s[from-1]) || chosen(strings.TrimRight(s[from:to], "}")))
}

// masked reports whether a value is none: stars, or the parameter of a template.
func masked(v string) bool { return noSecret.MatchString(v) || strings.HasPrefix(v, "$") }
