package redact

import (
	"regexp"
	"strings"
)

var (
	// referred matches a bare value that says where the secret is kept: var.db_password,
	// os.getenv(, process.env.TOKEN, Read-Host, !Ref, file://token.txt, ${TOKEN:?must be set}.
	referred = regexp.MustCompile(`^(?:(?:var|local|module|data|each|random_\w{1,24}|aws_\w{1,48}|google_\w{1,48}|azurerm_\w{1,48}|vault_\w{1,48})(?:\.[a-z_]+\d{0,2})+` +
		`|(?i:(?:[a-z]+\.){0,3}(?:getenv|lookupenv|environ(?:\.get)?|env(?:\.fetch|\.get)?)[(\[]["']?)` +
		`|(?:process|import\.meta)\.env\.[A-Z_]+\d{0,2}` +
		`|(?:New-Object|Read-Host|Import-Clixml|Get-(?:Credential|Content|Secret|AzKeyVaultSecret)|ConvertTo-SecureString|Invoke-(?:RestMethod|WebRequest))` +
		`|!(?:Ref|GetAtt|Sub|ImportValue|FindInMap|Join|Select|If)` +
		`|\(sensitive|\(known|\[\]\w{1,24}\(nil\)?` +
		`|fileb?://[\w./~-]+` +
		`|[a-z]+\.[A-Z][A-Za-z]+:` +
		`|[a-z][A-Za-z_]*(?:\.[A-Za-z_]+)*\((?:[a-z][A-Za-z_.]*)?` +
		`|\$\{\w{1,64}(?::?\?[^}]*|:?-\}?)\}?)$`)

	// variable matches a header whose credential is a variable of a shell.
	variable = regexp.MustCompile(`^(?:[A-Za-z]{3,12} )?\$(?:[A-Z_]{0,32}(?:_|TOKEN|PASS|SECRET|KEY|PWD|AUTH)[A-Z_]{0,32}\d{0,2}|\{[A-Za-z_]{2,64}\d{0,2}\}?)$`)
)

// reference reports whether the value from from to to only says where the secret is kept.
func (e extent) reference(s string) bool {
	const longest = 128
	v := s[e.from:e.to]
	if len(v) == 0 || len(v) > longest {
		return false
	}
	if v[0] == '$' || strings.Contains(v, " $") {
		return variable.MatchString(v) || e.bare && referred.MatchString(v)
	}
	return (e.bare || v[0] == '[') && (referred.MatchString(v) || v == "await" && strings.HasPrefix(s[e.to:], " "))
}

// directoryPath matches a path of two parts and more.
var directoryPath = regexp.MustCompile(`^(?:/[A-Za-z][\w.-]{1,40}){2,}/?$`)

// workingDirectory tells the shell's PWD=/srv and pwd: /home/ada from a password.
func workingDirectory(before, value string) bool {
	const longest = 8
	if !strings.HasPrefix(value, "/") {
		return false
	}
	if strings.HasSuffix(before, "PWD=") {
		return true
	}
	name := strings.TrimRight(before[max(0, len(before)-longest):], " \t\"'=:")
	if !strings.HasSuffix(strings.ToLower(name), "pwd") || !directoryPath.MatchString(value) || keyBytes(value) {
		return false
	}
	return len(name) == len("pwd") || !alphanumeric(name[len(name)-4]) && strings.IndexByte("_-.", name[len(name)-4]) < 0
}
