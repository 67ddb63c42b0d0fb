package redact

import (
	"regexp"
	"strings"
)

// hostRules finds passwords in what a program takes for the name of a machine: a sign in the password
// ends it early, and its tail stands before the @ of the host.
//
//	could not translate host name "X@db" to address
func hostRules() []rule {
	return []rule{
		{name: "url", of: "host tail", gate: []string{"@"}, find: findHostTails},
		{
			name: "url", of: "host", gate: []string{"invalid host", "resolve host", "unknown host", "hostname"},
			expr: `(?i)(?:invalid host(?:name)?|resolve host(?:name)?|unknown host(?:name)?):? \\*["']?(?:[\w.+-]{1,64}:([^\s"'\\/@:]{5,128})|([A-Za-z0-9]{24,128}))\\*(?:["'\s,;)]|$)`, check: hostSecret,
		},
		{
			name: "url", of: "option", gate: []string{"connection option", "connection info string"},
			expr: `(?:invalid integer value \\*"([^"\\\n]{4,128})\\*" for connection option|missing \\*"=\\*" after \\*"([^"\\\n=]{4,128})\\*" in connection info string)`, check: optionSecret,
		},
	}
}

// hostSecret accepts a password behind a user, or a host without dots that chance made.
func hostSecret(s string, from, to int) bool {
	v := s[from:to]
	if s[from-1] == ':' {
		return chosenAt(s, from, to) || scrambled(v)
	}
	return machineMade(v, 2*shortHex) && (mixedCase(v) || hexOnly(v))
}

func optionSecret(s string, from, to int) bool {
	v := s[from:to]
	return !masked(v) && !plainShape(v) && !strings.Contains(v, "://") && (scrambled(v) || chosenWord(v) && (signed(v) || changes(v) > 1))
}

var (
	// tailedHost matches the tail of a password with a host behind it that has no dots: what has some
	// looks like an address of mail.
	tailedHost = regexp.MustCompile(`([^\s"'` + "`" + `@/<>()\[\]{},;=]{3,64})@[A-Za-z][\w-]{0,62}(?::\d{1,5})?\b`)

	// hostBefore and hostBehind match what programs say of the name of a machine, or of the port that
	// they expect behind it.
	hostBefore = regexp.MustCompile(`(?i)(?:\bhost(?: ?name)?|\blookup|ENOTFOUND|EAI_AGAIN|ECONNREFUSED|getaddrinfo(?: for)?|\bresolve|\bresolving|server(?: at| on)?|base 10:|input string:|\baddress|for network|\bport|\bdial tcp:?|\bconnect(?:ing|ion)? to)[:=]? ?\\*["'` + "`" + `(]?$`)
	hostBehind = regexp.MustCompile(`(?i)^\\*["'` + "`" + `)]?:? ?(?:no such host|too many colons|missing port|to address|name or service not known|nodename nor servname|unknown|is not a valid (?:host|port)|failed: name)`)
)

// hostWords are in a line that is about finding or reaching a machine.
var hostWords = regexp.MustCompile(`(?i)name resolution|resolv|not known|\bhosts?\b|connect|lookup|getaddrinfo|ENOTFOUND|refused|unreachable|no route|timed? ?out|invalid ur[il]|parse ur[il]|escaped`)

// findHostTails takes what stands before an @ in the name of a machine that a program could not find.
func findHostTails(s string, f finding) finding {
	const near, behind = 32, 32
	f.work += 2 * len(s)
	about := -1 // whether the line is about a machine, once that is known
	for at := 0; at < len(s); {
		m := tailedHost.FindStringSubmatchIndex(s[at:])
		if m == nil {
			break
		}
		from, to, end := at+m[2], at+m[3], at+m[1]
		at = to + 1
		v := s[from:to]
		v = v[strings.LastIndexByte(v, ':')+1:]
		if len(v) < 3 || masked(v) || strings.HasPrefix(v, opening) || !chosenWord(v) && !scrambled(v) && !signed(v) {
			continue
		}
		f.work += near
		named := hostBefore.MatchString(s[max(0, to-len(v)-near):to-len(v)]) || hostBehind.MatchString(s[end:min(len(s), end+behind)])
		if !named && (signed(v) || strongWord(v)) {
			if about < 0 {
				about = len(hostWords.FindStringIndex(s))
			}
			named = about > 0
		}
		if named {
			f.add(to-len(v), to)
		}
	}
	return f
}

// strongWord reports whether a word mixes cases and digits more than the name of an account does.
func strongWord(v string) bool {
	upper, lower, _ := mixture(v)
	return upper > 0 && lower > 0 && changes(v) > 1
}

// bareAddress accepts the password of an address without a scheme. If the host has neither a dot nor a
// port, it must be a strong one.
func bareAddress(s string, from, to int) bool {
	if !chosenAt(s, from, to) {
		return false
	}
	v, host := s[from:to], s[to+1:]
	end := tokenEnd(host, 0)
	return end < len(host) && strings.IndexByte(".:/", host[end]) >= 0 || signed(v) || changes(v) > 1 || scrambled(v)
}
