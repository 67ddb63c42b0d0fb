package redact

import (
	"regexp"
	"slices"
	"strings"
)

// pathRules finds the tokens that stand in the path of an address.
func pathRules() []rule {
	return []rule{
		{name: "parameter", of: "path", gate: pathGate(), find: findPathTokens},
		{
			name: "webhook", of: "ingest", gate: []string{"/receiver/v0/http/", "/v0/input/", "loggly.com/", "victorops.com/", "sctapi.ftqq.com/", "api.day.app/"},
			expr: `(?:/receiver/v\d/http/([A-Za-z0-9+/=_-]{40,})|/v\d/input/([0-9a-f]{32})|(?:loggly\.com/(?:inputs|bulk)|victorops\.com/integrations/[\w-]{1,32}/\d{1,12}/alert)/([\w-]{32,40})|sctapi\.ftqq\.com/(SCT\w{16,64})|api\.day\.app/([A-Za-z0-9]{20,32}))`,
		},
		{name: "secret", of: "signed", gate: []string{"eyJ", "BAh"}, expr: `(?:eyJ|BAh)[\w+/=%-]{16,}?--[0-9a-f]{40,64}`, check: ends40},
		{
			name: "secret", of: "session store", refuses: assigned, gate: []string{"sess_", "sessions/", "sessions.c", "sess:", "session:", "sessions:"},
			expr: `(?:\bsess_|/sessions/(?:sess_)?|contrib\.sessions\.(?:cached_db|cache)|\bsess(?:ions?)?:)([A-Za-z0-9_-]{20,})`, check: storedSession,
		},
	}
}

// pathWords are the parts of a path behind which a token stands, and how many parts may stand between.
var pathWords = map[string]int{
	"reset": 2, "verify": 2, "verification": 2, "confirm": 2, "confirmation": 2, "activate": 2, "activation": 2, "invite": 1, "invitation": 1,
	"magic": 1, "unsubscribe": 1, "unlock": 1, "share": 0, "shared": 0, "hook": 1, "webhook": 2, "private": 0, "ical": 1, "calendar": 1, "feed": 1, "callback": 1,
	"recover": 1, "recovery": 1, "login": 0, "accept": 1, "join": 0, "download": 0, "optout": 1,
}

func pathGate() []string {
	gate := []string{"private-"}
	for word := range pathWords {
		gate = append(gate, "/"+word, word+"/", word+"s/", "-"+word)
	}
	slices.Sort(gate)
	return gate
}

// pathSuffix matches how the last part of a path ends that is a feed or an answer.
var pathSuffix = regexp.MustCompile(`\.(?:ics|xml|rss|atom|json|txt)$`)

// findPathTokens reads the paths in a line. A part with the name of an action makes the next parts
// candidates: /reset-password/X, /email/verify/4711/X.
func findPathTokens(s string, f finding) finding {
	f.work += len(s)
	left := -1 // how many more parts may be the token
	for at := strings.IndexByte(s, '/'); at >= 0 && at < len(s); {
		from := at + 1
		to := from
		for to < len(s) && pathByte(s[to]) {
			to++
		}
		part := s[from:to]
		left--
		switch more := actionOf(part); {
		case more >= 0 && len(part) <= 40 && !strings.HasPrefix(part, "private-"):
			left = more + 1
		case strings.HasPrefix(part, "private-") && hexOnly(part[len("private-"):]) && len(part) >= len("private-")+32:
			f.add(from+len("private-"), to)
		case left >= 0 && !(left > 0 && to < len(s) && s[to] == '.') && pathToken(part):
			f.add(from, to-len(pathSuffix.FindString(part)))
		}
		if to < len(s) && s[to] == '/' {
			at = to
			continue
		}
		left = -1
		next := strings.IndexByte(s[to:], '/')
		if next < 0 {
			break
		}
		at = to + next
	}
	return f
}

func pathByte(b byte) bool { return alphanumeric(b) || strings.IndexByte("_-.~=%@+", b) >= 0 }

// actionOf returns how many parts may stand between an action and its token, or -1 for another part of
// a path. An action has words: reset-password, magic_link.
func actionOf(part string) int {
	const longest = 40
	if len(part) == 0 || len(part) > longest {
		return -1
	}
	most := -1
	for word := range strings.FieldsFuncSeq(part, func(r rune) bool { return r == '-' || r == '_' }) {
		if wordEnd(word, 0) != len(word) {
			return -1
		}
		if n, ok := pathWords[strings.TrimSuffix(strings.ToLower(word), "s")]; ok {
			most = max(most, n)
		}
	}
	return most
}

// pathToken reports whether a part of a path is a token: long and made by a machine. Names of files,
// ids in time order and words are none.
func pathToken(part string) bool {
	const shortest = 20
	part = part[:len(part)-len(pathSuffix.FindString(part))]
	if len(part) < shortest || plainShape(part) || uuidShape.MatchString(part) || strings.IndexByte(part, '.') >= 0 || strings.HasPrefix(part, "%") {
		return false
	}
	_, _, digits := mixture(part)
	if hexOnly(part) {
		return digits > 2 && digits < len(part)
	}
	return digits > 1 && madeWord(part)
}

// madeWord reports whether chance made one word of a text, which separators may divide.
func madeWord(v string) bool {
	for word := range strings.FieldsFuncSeq(v, func(r rune) bool { return r == '-' || r == '_' || r == '=' || r == '%' }) {
		if len(word) >= 12 && machineMade(word, 2*shortHex) && (changes(word) > 2 || irregularCase(word)) {
			return true
		}
	}
	return false
}

// storedSession accepts the id of a session, not the name of a file.
func storedSession(s string, from, to int) bool {
	v := s[from:to]
	_, _, digits := mixture(v)
	return digits > 1 && !plainShape(v) && !uuidShape.MatchString(v) && ends(s, to) && machineMade(v, 2*shortHex)
}
