package redact

import (
	"strings"
)

// loginRule finds a password behind the name of its user, where a login is reported and no word for
// a password stands next to it: bad login ada:X, logged in as ada with X.
func loginRule() rule {
	const (
		verdict = `(?:bad|invalid|failed|wrong|rejected|denied|incorrect|unknown)`
		login   = `(?:auth(?:entication|orization)?|log[io]n|logon|sign-?in|bind)`
		user    = `[\w.+@=,\\-]{1,80}`
	)
	return rule{
		name: "told", of: "login", gate: []string{"auth ", "auth: ", "authenticat", "login", "logon", "logged in", "log in", "logging in", "sign in", "signed in", "signin", "bind ", " account", "t user", "n user"},
		expr: `(?i)\b(?:basic auth|` + verdict + ` ` + login + `|` + login + ` (?:failed|failure|error|rejected|denied|refused)|log(?:ged|ging)?[ -]?(?:in|on)|sign(?:ed|ing)? in|authenticat(?:ed?|ing)|bind|(?:default|test|demo|staging|admin|temporary|initial|guest) (?:login|logon|account|user)(?: is| was)?)` +
			`(?: for| of| with| as| to)?(?: user)?[ :=("']{1,3}` + user + `["']?(?::| ?/ ?| \(?(?:with|using|tried|gave|sent) )["']?([^\s"'` + "`" + `\\]{5,64}?)(?:@(?-i:[a-z0-9.-]{1,128})(?::\d{1,5})?(?:/[\w./-]{0,64})?)?[)\]}>]{0,3}[:.,;!?]{0,3}(?:[\s"'` + "`" + `\\]|$)`,
		check: loginValue,
	}
}

// fieldsOfLogin stand before the values of other fields: auth failed for host:node17.
var fieldsOfLogin = wordSet("user username uid gid id host hostname node server svc service realm db database port code status app client role group ns namespace tenant region zone arn urn http https tcp tls method type kind scheme sha at pod container job task ip")

// loginValue tells a password behind a user from a port, a time, a role and other fields.
func loginValue(s string, from, to int) bool {
	v := s[from:to]
	if addressed := strings.HasPrefix(s[to:], "@"); addressed && len(v) > 5 && groupEnd(v, 0) == len(v) {
		return true // ada:48291573@db
	}
	if !chosenAt(s, from, to) && !scrambled(v) {
		return false
	}
	before := strings.TrimRight(s[max(0, from-8):from], `"'`)
	sign := strings.TrimRight(before, " ")
	word, _ := previousWord(s, max(0, from-32), from-len(before)+len(sign)-1)
	switch {
	case fieldsOfLogin[word]:
		return false
	case strings.HasSuffix(before, ":"):
		return strings.IndexByte(v, ':') < 0
	}
	return changes(v) > 1 || signed(v) || scrambled(v) || len(v) > shortestNumbered && numberBehindWord(v, 2)
}

// shortestNumbered is how many characters a word with a number at its end has at least to be a password
// behind a login.
const shortestNumbered = 7

// pairRule finds a user and a password behind the words for such a pair: bad user name or password
// (ada, X).
func pairRule() rule {
	const (
		pair    = `\b(?:user ?names?|users?|logins?|accounts?|e-?mail)(?:\(s\))?(?: ?[-/:&,+] ?| (?:and|or) )(?:the )?pass(?:word|wd|phrase)?s?(?: (?:pair|combination|combo|tuple))?`
		verdict = `(?:(?: (?:is|are|was|were))?(?: not)? (?:allowed|accepted|rejected|failed|invalid|incorrect|wrong|denied|refused|valid|mismatch|correct|recognized|recognised|bad|unknown)|(?: do(?:es)?n?.?t?(?: not)?)? (?:match|mismatch))?`
	)
	return rule{
		name: "told", of: "pair", gate: []string{
			"name-pass", "name/pass", "user/pass", "user:pass", "name:pass", "name or pass", "name and pass", "user or pass", "user and pass", "login/pass", "login or pass", "login and pass",
			"name & pass", "name, pass", "email or pass", "email and pass", "email/pass", "user+pass", "name+pass", "basic auth pair", "credential pair", "names or pass", "names and pass",
		},
		expr: `(?i)(?:` + pair + `|\b(?:basic auth|credential) pair)` + verdict + `(?:\.? (?:for|of|from|given|got|tried|received|provided|supplied|sent))?[ :=("'\[{]{1,5}[\w.+@\\-]{1,64}["']?(?::|/|, ?| / ?| and )["']?` +
			`([^\s"'` + "`" + `\\]{5,64}?)(?:["']|[)\]}>]{0,3}[.,;?]{0,3}(?:[\s"'\\]|$))`,
		check: pairValue,
	}
}

// pairValue tells a password from the word that stands in its place.
func pairValue(s string, from, to int) bool { return chosenAt(s, from, to) || scrambled(s[from:to]) }

// sectionless is what may stand before an address without a scheme.
const sectionless = `(?:^|[\s"'(=,\[>])`

// addressRules finds passwords in addresses that have no scheme.
func addressRules() []rule {
	return []rule{
		{
			name: "url", of: "no scheme", gate: []string{"@"},
			expr: `(?:^|[\s"'(=,\[>]|\b[a-z][a-z0-9+]{2,20}|\b[a-z][a-z0-9+]{2,20}:)//?[^\s/?#"'<>:@\[]{0,64}:([^\s/"'<>]{1,128})@[\w.\[-]`, check: addressPassword,
		},
		{
			// A user of a domain: domain/user:password@host.
			name: "url", of: "domain", gate: []string{"@"},
			expr: sectionless + `[A-Za-z][\w.-]{0,63}/[\w.-]{1,64}:([^\s:@/"'<>,;()\[\]]{4,64})@[\w.-]`, check: domainLogin,
		},
		{
			// The easy connect of Oracle: user/password@//host:port/service.
			name: "url", of: "oracle", gate: []string{"@//", "@"},
			expr: sectionless + `[\w$#.]{1,30}/([^\s"'/:]{1,64})@(?://[\w.\[-]|[\w.-]{1,128}:\d{1,5}/\w)`, check: easyConnect,
		},
	}
}

// addressPassword tells a password from the tag of an image: app/web:build17@sha256:9e107d…
func addressPassword(s string, from, to int) bool {
	return notMaskedAt(s, from, to) && !strings.HasPrefix(s[to:], "@sha256:")
}

// domainLogin accepts a password between a user of a domain and a host.
func domainLogin(s string, from, to int) bool {
	v := s[from:to]
	return addressPassword(s, from, to) && chosenAt(s, from, to) && (changes(v) > 1 || signed(v) || numberBehindWord(v, 2))
}

func notMaskedAt(s string, from, to int) bool { return !masked(s[from:to]) }

// easyConnect wants a password that looks like one, unless two slashes follow: a path may stand
// before an @.
func easyConnect(s string, from, to int) bool {
	return strings.HasPrefix(s[to:], "@//") && !masked(s[from:to]) || chosenAt(s, from, to)
}
