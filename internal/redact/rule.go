package redact

import (
	"encoding/base64"
	"regexp"
	"slices"
	"strings"
)

// rule finds one kind of secret.
type rule struct {
	name string // what stands in its place: several rules may share one
	of   string // tells rules of one name apart

	// The gate: the rule runs on a line that has one of these literals (letters
	// without case, 0 for any digit), or the byte count at least so many times.
	gate  []string
	count string
	least int

	// What it finds: the first group of expr that matched, or all of it, where check agrees.
	// find replaces both where a regular expression cannot say it.
	expr  string
	check func(s string, from, to int) bool
	find  finder

	// refuses says whether what it found makes an identifier refused; nil for always.
	refuses func(s string, from, to int) bool
	yields  bool // nor does what it found where another rule lets an identifier pass
	guess   bool // chance alone says that it is a secret: no other rule yields to it

	multiline bool                         // what it finds spans lines
	key       func(key string, v any) bool // whether it takes a value under a name in JSON
	exact     []string                     // the only names for which key is asked; nil for those that open the gate
}

// finder returns f with what it finds in s added.
type finder func(s string, f finding) finding

// finding gathers what the rules find. It is passed by value, so that looking at
// a clean text allocates nothing. Its work counts the bytes that finders stepped
// over: a test holds them to linear time.
type finding struct {
	spans []span
	work  int
}

func (f *finding) add(from, to int) { f.spans = append(f.spans, span{from: from, to: to}) }

// run lets the chosen rules look at a part of a text that begins at offset.
func (f finding) run(rules []rule, chosen set, part string, offset int) finding {
	for i := range chosen.all {
		n, refuses := len(f.spans), rules[i].refuses
		f = rules[i].find(part, f)
		for k := n; k < len(f.spans); k++ {
			sp := &f.spans[k]
			sp.lenient = refuses != nil && !refuses(part, sp.from, sp.to)
			sp.from, sp.to, sp.rule = sp.from+offset, sp.to+offset, i
		}
	}
	return f
}

// expression makes a finder of a regular expression and a check.
func expression(expr string, check func(s string, from, to int) bool) finder {
	re := regexp.MustCompile(expr)
	return func(s string, f finding) finding {
		for at := 0; at < len(s); {
			m := re.FindStringSubmatchIndex(s[at:])
			if m == nil {
				f.work += len(s) - at
				break
			}
			from, to := at+m[0], at+m[1]
			for g := len(m) - 2; g > 0; g -= 2 {
				if m[g] >= 0 {
					from, to = at+m[g], at+m[g+1]
				}
			}
			if check == nil || check(s, from, to) {
				f.add(from, to)
			}
			f.work += m[1]
			at += m[1]
		}
		return f
	}
}

// defaultRules is the table, from the specific to the general: where two rules
// find overlapping text, the earlier one names it.
func defaultRules() []rule {
	commands := slices.Concat(commandRules(), inputRules(), []rule{optionRule()}, programRules(), argumentRules())
	rules := slices.Concat(vendorRules(), webhookRules(), serviceRules(), besideRules(), prefixedRules(), generalRules(), personalRules(), commands, statementRules(), []rule{commandLinesRule(commands)},
		protocolRules(), storedRules(), tellingRules(), cardDataRules(), signedRules(), environmentRules(), addressRules(), []rule{splitCardRule(), rejectedRule(), continuationRule(), loginRule(), pairRule(), echoedRule(), settingRule()}, readRules())
	for _, family := range families() {
		rules = append(rules, family.rule())
	}
	rules = append(rules, tellingRule(), tellingNames(families()).rule())
	for i := range rules {
		if rules[i].find == nil {
			rules[i].find = expression(rules[i].expr, rules[i].check)
		}
	}
	return rules
}

func generalRules() []rule {
	return []rule{
		{name: "jwt", gate: []string{"eyJ"}, expr: `eyJ[\w-]{10,}\.[\w-]{10,}(?:\.[\w-]*){0,3}`},
		{name: "pem", gate: []string{"-----BEGIN"}, multiline: true, find: findPEM},
		{name: "bearer", gate: []string{"bearer"}, expr: `(?i)bearer(?:,?[ \t]|%20)+([\w.~+/=-]{8,})`, check: opaqueAt},
		{name: "basic", gate: []string{"basic"}, expr: `(?i)basic(?:[ \t]|%20)+([\w+/=-]{8,})`, check: basicCredentials},
		{
			// What follows the colon is a port if it has only digits, else a
			// password, in which people also write what a URL would escape. Repositories and
			// brokers also take a token alone.
			name: "url", gate: []string{"@"},
			expr: `://(?:([^\s/?#"'<>:@\[]*:(?:[^\s/?#"'<>]+|\d*[^\s\d/?#"'<>][^\s"'<>]*))|([\w.~%+-]{16,256}):?)@`, check: loneToken,
		},
		{
			// The form of Go's MySQL driver: user:password@tcp(host:port)/name.
			name: "url", of: "go-mysql", gate: []string{"@tcp", "@unix("},
			expr: `([^\s:/"'=,;]+:[^\s"']+)@(?:tcp6?|unix)\(`,
		},
		{
			// The form without a scheme: user:password@host:port.
			name: "url", of: "bare", gate: []string{"@"},
			expr: `(?:^|[\s"'(=,\[>])[\w.+-]{1,64}:([^\s:@/"'<>,;()\[\]]{5,64})@(?:[\w-]{1,64}\.[\w.-]{1,128}|[\w-]{1,64}:\d{1,5}\b|[a-z][\w-]{1,62}(?:/\w|["'\s]|$))`, check: bareAddress,
		},
		{
			name: "email", gate: []string{"@", "＠", "%40", "%2540", `\u0040`, "&#64;"},
			expr: `(?:\\*"[^"\s@]{1,64}(?: [^"\s@]{1,64}){0,3}"|[\p{L}\p{M}\p{N}._%+'-]+)(?:@|＠|%(?:25)*40|\\u0040|&#64;)` +
				`(?:[\p{L}\p{M}\p{N}_-]+\.)+\p{L}[\p{L}\p{M}\p{N}-]*[\p{L}\p{M}\p{N}]`,
			check: address,
		},
		{name: "ssn", gate: []string{"000-00-0000"}, expr: `\d{3}-\d{2}-\d{4}`, check: socialSecurity},
		{name: "iban", gate: ibanShapes(), find: findIBAN}, // before cards: a part of one may look like a card
		{name: "card", gate: cardShapes(), find: findCards},
		{name: "ipv6", gate: []string{"::"}, count: ":", least: 6, find: findIPv6, refuses: never},
		{name: "ipv4", gate: ipv4Shapes(), find: findIPv4, refuses: never},
	}
}

// opaque reports whether a word looks made by a machine: prose has no digits in
// the middle of words, and few words of more than 23 letters.
func opaque(v string) bool {
	return len(v) >= 8 && (strings.ContainsAny(v, "0123456789") || len(v) >= 24 || camel.MatchString(v))
}

func opaqueAt(s string, from, to int) bool { return opaque(s[from:to]) }

var camel = regexp.MustCompile(`[a-z][A-Z]`)

// basicCredentials tells the base64 of user:password from words such as
// "basic authentication".
func basicCredentials(s string, from, to int) bool {
	decoded, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(s[from:to], "="))
	return err == nil && strings.Contains(string(decoded), ":") || to-from >= 16 && opaque(s[from:to])
}

// loneToken tells a token in front of a host from the name of a user without a password.
func loneToken(s string, from, to int) bool {
	v := s[from:to]
	return strings.IndexByte(v, ':') >= 0 || machineMade(v, longHex) && (hexOnly(v) || mixedCase(v))
}

// notAddress matches what follows the @ in module versions (@v1.2.3), package
// versions (@4.17.21.tgz), pictures (@2x.png) and units (@tty1.service).
var notAddress = regexp.MustCompile(`^v?\d+\.\d+\.|^\dx\.\w+$|\.(?:service|socket|target|timer|mount|slice)$`)

// ownMachine matches the names that are only known within a network.
var ownMachine = regexp.MustCompile(`(?i)\.(?:internal|local|localdomain|lan|svc)$`)

func address(s string, from, to int) bool {
	match := s[from:to]
	if at := strings.LastIndexByte(match, '@'); at >= 0 {
		// git@host:path is where a repository lives, not a person.
		// Nor is the account at a machine of one's own: postgres://app@db.internal.
		account := strings.HasSuffix(s[:from], "://") && ownMachine.MatchString(match[at+1:])
		return match[:at] != "git" && !account && !notAddress.MatchString(match[at+1:])
	}
	return true
}

// socialSecurity knows the numbers that are never issued, and numbers that are
// part of a longer one.
func socialSecurity(s string, from, to int) bool {
	n := s[from:to]
	return n[:3] != "000" && n[:3] != "666" && n[0] != '9' && n[4:6] != "00" && n[7:] != "0000" &&
		begins(s, from) && ends(s, to) &&
		(from < 2 || s[from-1] != '-' || !digit(s[from-2])) &&
		(to+1 >= len(s) || s[to] != '-' || !digit(s[to+1]))
}

func never(string, int, int) bool { return false }

func digit(b byte) bool { return '0' <= b && b <= '9' }

func alphanumeric(b byte) bool { return digit(b) || 'a' <= b|0x20 && b|0x20 <= 'z' }

// begins reports whether a number or word can begin at i: nothing that belongs to
// it stands before. What an escape such as \n, \t or %20 ends with does not.
func begins(s string, i int) bool {
	return i == 0 || !alphanumeric(s[i-1]) ||
		i > 1 && s[i-2] == '\\' && strings.IndexByte("nrt", s[i-1]) >= 0 ||
		i > 2 && s[i-3] == '%'
}

func ends(s string, i int) bool { return i == len(s) || !alphanumeric(s[i]) }
