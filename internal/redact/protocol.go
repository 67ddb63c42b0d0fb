package redact

import (
	"encoding/base64"
	"strings"
)

// protocolRules finds the secrets in commands of mail, file transfer, chat and Redis, as
// traces of a connection show them: AUTH PLAIN X, LOGIN ada X, PASS X, IDENTIFY X.
func protocolRules() []rule {
	const mechanisms = `(?:PLAIN|LOGIN|XOAUTH2|OAUTHBEARER|CRAM-MD5|NTLM|EXTERNAL|DIGEST-MD5)`
	return []rule{
		{
			name: "protocol", of: "sasl", gate: []string{"auth plain ", "auth login ", "auth xoauth0 ", "auth oauthbearer ", "auth cram-md0 ", "auth ntlm ", "authenticate ", "cram-md0 response ", " resp="},
			expr: `(?i)(?:(?:\bAUTH(?:ENTICATE)? ` + mechanisms + `|\bCRAM-MD5 response):?\s+"?|\bresp=)([A-Za-z0-9+/]{8,}={0,2})`, check: saslResponse,
		},
		{name: "protocol", of: "digest", gate: []string{"response="}, expr: `\bresponse=\\*"?([0-9a-f]{32,64})\b`},
		{name: "protocol", of: "setuser", gate: []string{"setuser "}, expr: `(?i)\bSETUSER \S+ [^\n>]*>([^\s"']+)`},
		protocolCommand{name: "AUTH", first: 1, last: 2, accept: redisPassword}.rule(`auth" `),
		protocolCommand{name: "LOGIN", first: 2, last: 2, accept: loginPassword}.rule(`login" `),
		protocolCommand{name: "SASL PLAIN", first: 2, last: 2, accept: loginPassword}.rule(),
		protocolCommand{name: "AUTH-PASS", first: 2, last: 2, accept: sentinelPassword}.rule(),
		protocolCommand{name: "PASS", first: 1, last: 1, accept: passCommand}.rule(),
		protocolCommand{name: "IDENTIFY", first: 1, last: 2, accept: nickPassword}.rule(),
		protocolCommand{name: "REGISTER", first: 1, last: 1, accept: nickPassword}.rule(),
	}
}

// saslResponse accepts what decodes from base 64 and looks like it: "supported" does not.
func saslResponse(s string, from, to int) bool {
	v := s[from:to]
	if decoded, err := base64.RawStdEncoding.DecodeString(v[:len(v)/4*4]); err == nil && strings.Count(string(decoded), "\x00") == 2 {
		return true // PLAIN: a user and a password, also with a path behind
	}
	_, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(v, "="))
	return err == nil && opaque(v) && ends(s, to)
}

// protocolCommand is a command with a password among its arguments.
type protocolCommand struct {
	name        string
	first, last int // which arguments may be the password
	accept      func(line string, command int, arg argument) bool
}

// argument is where an argument lies, without its quotes.
type argument struct {
	number, from, to int
	quoted           bool
}

func (c protocolCommand) rule(gate ...string) rule {
	return rule{name: "protocol", of: c.name, gate: append(gate, strings.ToLower(c.name)+" "), find: c.find}
}

func (c protocolCommand) find(s string, f finding) finding {
	f.work += len(s)
	for at := 0; at < len(s); {
		i := indexFold(s[at:], c.name)
		if i < 0 {
			break
		}
		command := at + i
		at = command + len(c.name)
		if !begins(s, command) || at < len(s) && tokenByte(s[at]) {
			continue
		}
		arg := argument{to: at}
		for arg.number < c.last {
			if arg = nextArgument(s, arg); arg.from == arg.to {
				break
			}
			f.work += arg.to - at
			if arg.number >= c.first && c.accept(s, command, arg) {
				f.add(arg.from, arg.to)
				at = arg.to
				break
			}
		}
	}
	return f
}

// indexFold returns where a name in capitals begins, in any case, or -1.
func indexFold(s, name string) int {
	for i := 0; i+len(name) <= len(s); i++ {
		if s[i]&^0x20 == name[0] && strings.EqualFold(s[i:i+len(name)], name) {
			return i
		}
	}
	return -1
}

// nextArgument returns the argument after another one, or an empty one.
func nextArgument(s string, last argument) argument {
	const longest = 128
	i := last.to
	for i < len(s) && (isQuote(s[i]) || s[i] == '\\' && i+1 < len(s) && isQuote(s[i+1])) {
		i++
	}
	from := i
	for i < len(s) && (s[i] == ' ' || s[i] == '\t') {
		i++
	}
	if i == from {
		return argument{}
	}
	quoted := i < len(s) && isQuote(s[i])
	for i < len(s) && (isQuote(s[i]) || s[i] == '\\' && i+1 < len(s) && isQuote(s[i+1])) {
		i++
	}
	limit := min(len(s), i+longest)
	length := 0
	for i+length < limit && strings.IndexByte(" \t\r\n\"'`", s[i+length]) < 0 && !(s[i+length] == '\\' && i+length+1 < limit && strings.IndexByte(`rn"'`, s[i+length+1]) >= 0) {
		length++
	}
	if !quoted {
		length = len(strings.TrimRight(s[i:i+length], ",;:)].}>"))
	}
	return argument{number: last.number + 1, from: i, to: i + length, quoted: quoted}
}

func upperCase(s string) bool { return strings.ToUpper(s) == s }

func (a argument) chosen(s string) bool {
	return chosenAt(s, a.from, a.to) && !mechanismNames[s[a.from:a.to]]
}

// sentinelPassword accepts the password after the name of a master of Redis.
func sentinelPassword(s string, _ int, a argument) bool { return a.chosen(s) }

// redisPassword accepts AUTH X and AUTH user X.
func redisPassword(s string, command int, a argument) bool {
	quoted := isQuote(s[command+len("AUTH")])
	return (!quoted || a.quoted) && (quoted || upperCase(s[command:command+len("AUTH")])) && a.chosen(s)
}

// mechanismNames are arguments of AUTH with digits in them.
var mechanismNames = wordSet("XOAUTH2 OAUTH2 NTLMv2 SRP6")

// loginPassword accepts LOGIN ada X of IMAP. SQL writes LOGIN PASSWORD 'X'.
func loginPassword(s string, command int, a argument) bool {
	return upperCase(s[command:command+len("LOGIN")]) && a.chosen(s) && !strings.Contains(s[command:a.from], " PASSWORD ")
}

// passCommand accepts PASS X of FTP and POP3. A test runner writes PASS before the name of a
// test, so a value without signs must end the line and not look like a name.
func passCommand(s string, command int, a argument) bool {
	v := s[a.from:a.to]
	if s[command:command+len("PASS")] != "PASS" || !a.chosen(s) || strings.HasPrefix(s[a.to:], " (") {
		return false
	}
	rest := strings.TrimLeft(s[a.to:], "\"'`")
	last := rest == "" || strings.IndexByte(",;\\", rest[0]) >= 0
	return strings.ContainsAny(v, "!@#$%^*~?") || machineMade(v, shortHex) || last && !camel.MatchString(v)
}

// nickPassword accepts the commands of NickServ where NickServ is in the line before them.
func nickPassword(s string, command int, a argument) bool {
	const longest = 40
	before := strings.ToLower(s[max(0, command-longest):command])
	named := strings.Contains(before, "nickserv") || strings.HasSuffix(before, "ns ")
	return a.chosen(s) && (named || strings.HasPrefix(s[command:], "IDENTIFY "))
}
