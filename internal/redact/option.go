package redact

import (
	"regexp"
	"slices"
	"strings"
)

// optionRule finds the passwords in options of programs that have their own letter for it.
func optionRule() rule {
	var gate []string
	for program := range passwordOptions {
		gate = append(gate, program)
	}
	slices.Sort(gate)
	return rule{name: "command", of: "option", gate: gate, find: findOptions}
}

// passwordOptions has the options for a password by the prefixes of programs: snmp is also snmpget.
var passwordOptions = map[string]string{
	"mosquitt": "-P --pw", "osql": "-P", "tsql": "-P", "sqsh": "-P", "mssql-cli": "-P", "ncftp": "-p", "rabbitmqadmin": "-p", "snmp": "-A -X -c", "swaks": "-ap",
	"sendemail": "-xp", "rdesktop": "-p", "cypher-shell": "-p", "couchbase-cli": "-p", "cbq": "-p", "sendxmpp": "-p", "racadm": "-p", "evil-winrm": "-p", "netexec": "-p", "psexec": "-p", "beeline": "-p", "hdbsql": "-p", "snowsql": "-p", "vsql": "-w", "crackmapexec": "-p", "ftpput": "-p",
	"keytool": "-storepass -keypass -srcstorepass -deststorepass -srckeypass -destkeypass -new", "codecov": "-t", "altool": "-p", "signtool": "/p", "set-key-parti": "-k", "erl": "-setcookie --cookie", "iex": "--cookie", "elixir": "--cookie",
}

// findOptions reads the words of a line. A program makes its options those of a password up to the
// end of the command.
func findOptions(s string, f finding) finding {
	f.work += len(s)
	options, option := "", "" // of the program, and the one whose argument follows
	for at := 0; at < len(s); {
		word := nextWord(s, at)
		if word.from == word.to {
			break
		}
		at = word.to
		if v := unquotedWord(s, word); option != "" && optionValue(s, option, v.from, v.to) {
			f.add(v.from, v.to)
		}
		option = ""
		switch v := s[word.from:word.to]; {
		case strings.ContainsAny(v, "|;") || v == "&&":
			options = ""
		case (v[0] == '-' || v[0] == '/') && hasWord(options, v):
			option = v
		default:
			options = optionsOf(v, options)
		}
	}
	return f
}

// nextWord returns the word after at, or an empty extent.
func nextWord(s string, at int) extent {
	from := at
	for from < len(s) && (s[from] == ' ' || s[from] == '\t') {
		from++
	}
	to := from
	for to < len(s) && s[to] != ' ' && s[to] != '\t' {
		to++
	}
	return extent{from: from, to: to}
}

// unquotedWord returns a word without its quotes, and without the brackets and the punctuation that
// belong to the text around.
func unquotedWord(s string, word extent) extent {
	for word.from < word.to && (isQuote(s[word.from]) || s[word.from] == '\\') {
		word.from++
	}
	if end := strings.IndexAny(s[word.from:word.to], "\"'`"); end >= 0 {
		word.to = word.from + end
	}
	word.to = word.from + len(strings.TrimRight(s[word.from:word.to], `\)]},;`))
	return word
}

// optionsOf returns the options of the program that the word v ends with, or others if it ends with
// none.
func optionsOf(v, others string) string {
	const longestPath, longest = 64, len("rabbitmqadmin")
	v = v[max(0, len(v)-longestPath):]
	v = v[strings.LastIndexAny(v, "/\"'`([{:=,")+1:]
	v = strings.ToLower(v[:min(len(v), longest)])
	for end := len(v); end > 2; end-- {
		if options, ok := passwordOptions[v[:end]]; ok {
			return options
		}
	}
	return others
}

func hasWord(words, word string) bool {
	for w := range strings.FieldsSeq(words) {
		if w == word {
			return true
		}
	}
	return false
}

// optionValue reports whether an argument can be a password: it is no other option and no mask.
// Communities of SNMP have names that are known to everybody.
func optionValue(s, option string, from, to int) bool {
	const shortest = 4
	v := s[from:to]
	switch {
	case len(v) < shortest || v[0] == '-' || masked(v) || optionWords[v]:
		return false
	case option == "-c":
		return chosenAt(s, from, to) || scrambled(v)
	}
	return true
}

// optionWords may follow an option in a sentence.
var optionWords = wordSet("option options flag argument must needs with when requires should instead because")

// inputRules finds the passwords that a shell gives to the input of a program, and those that a
// script sends after a prompt.
func inputRules() []rule {
	// the programs that read a password from their input
	const programs = `(?:sudo\s+)?(?:\S*/)?(?:kinit|(?:ch)?passwd|smbpasswd|cryptsetup|(?:docker|podman|helm registry|vault|skopeo|crane auth|az|oc|gh auth|glab auth|npm|heroku) login|gpg2?\b[^\n|<]{0,160}--passphrase-fd|openssl\b[^\n|<]{0,160}-pass(?:in|out)? (?:stdin|fd:0)|ssh-add|su)\b`
	return []rule{
		{
			name: "command", of: "<<<", gate: []string{"<<<"},
			expr: `\b` + programs + `[^\n|;<]{0,160}<<<\s*(?:\$?["'])?(?:[\w.-]{1,64}:)?([^\s"'$][^\s"']*)`, check: notMaskedAt,
		},
		{
			name: "command", of: "piped", gate: []string{"echo ", "printf ", "echo\t"},
			expr: `\b(?:echo|printf)\s+(?:-\w+\s+|["']?%s(?:\\n)?["']?\s+){0,3}["']?(?:[\w.-]{1,64}:)?([^\s"'|$][^\s"'|]*)["']?\s*\|\s*` + programs, check: notMaskedAt,
		},
		{name: "command", of: "send", gate: []string{`send "`, `send -- "`, `send \"`, "send '"}, multiline: true, find: findSent},
	}
}

var (
	sent   = regexp.MustCompile(`\bsend(?: --)? \\*["']([^"'\\\n]+)`)
	prompt = regexp.MustCompile(`(?i)pass ?(?:word|phrase|code)|\*assword|\bassword|\bPIN\b|passwort|contraseña|mot de passe`)
)

// findSent takes what a script of expect sends after the prompt for a password.
func findSent(s string, f finding) finding {
	const near = 96
	f.work += len(s)
	done := 0
	for at := 0; at < len(s); {
		m := sent.FindStringSubmatchIndex(s[at:])
		if m == nil {
			break
		}
		before, behind := s[max(done, at+m[0]-near):at+m[0]], s[at+m[1]:min(len(s), at+m[1]+near)]
		f.work += len(before) + len(behind)
		from, to := at+m[2], at+m[3]
		at, done = to, to
		if expects := strings.LastIndex(before, "expect"); expects >= 0 {
			before = before[expects:]
		}
		prompted := promptBehind.MatchString(behind) || prompt.MatchString(before)
		if prompted && !masked(s[from:to]) {
			f.add(from, to)
		}
	}
	return f
}

// promptBehind matches the prompt that is named behind what was sent.
var promptBehind = regexp.MustCompile(`(?i)^(?:\\*[rn])*\\*["']?\s*(?:after|at|to|for|when) (?:the )?["']?(?:password|passphrase|passwort)`)
