package redact

import "strings"

// prefixedRules find the keys of services that are made like those of vendors: a prefix, a separator
// and a tail that chance made. The first rule lists tails that could also be a name or a check sum. The
// others take every prefix, because the tail alone says that a machine made it.
func prefixedRules() []rule {
	return []rule{
		{
			name: "vendor", gate: []string{
				"amzn0.oa0-cs.", "amzn.mws.", "Atza|", "Atzr|", "AVNS_", "bedrock-api-key-", "e0b_", "esecret_", "fw_", "AQ.Ab0", "signkey-", "slk_", "snyk_uat.", "snyk_sat.", "secret-live-", "secret-test-",
				"npg_", "v0.local.", "v0.public.", "SWMTKN-0-", "sha000~", "token-", "rpa_", "chpt_", "0:fx", "a:fx", "b:fx", "c:fx", "d:fx", "e:fx", "f:fx", "cs_", "ck_", "zpka_", "sntryi_", "sbp_oauth_", "live_0", "persona_", "tvly-prod-", "bb_live_", "JQQJ0", "AzSe", "AzFu",
			},
			expr: `amzn1\.oa2-cs\.v1\.[a-f0-9]{64}|amzn\.mws\.` + uuid + `|Atz[ar]\|[\w+/=-]{40,}|AVNS_[\w-]{15,}|bedrock-api-key-[\w+/=-]{40,}|e2b_[a-f0-9]{40}|esecret_[a-z0-9]{24,}|fw_[A-Za-z0-9]{22,}|AQ\.Ab8[\w-]{40,}|` +
				`signkey-(?:prod|test|branch)-[a-f0-9]{32,}|slk_[a-f0-9]{64}|snyk_[us]at\.[a-f0-9]{8}\.[\w.-]{40,}|secret-(?:live|test)-[\w=-]{30,}|npg_[A-Za-z0-9]{12,}|v[1-4]\.(?:local|public)\.[\w-]{60,}(?:\.[\w-]+)?|` +
				`SWMTKN-1-[a-z0-9]{40,}-[a-z0-9]{20,}|sha256~[\w-]{43}|token-[a-z0-9]{5}:[a-z0-9]{50,}|rpa_[A-Z0-9]{36,}|chpt_[a-f0-9]{12,}|` + uuid + `:fx|c[ks]_[a-f0-9]{40}|zpka_[a-f0-9]{32}_[a-f0-9]{8}|sntryi_[a-f0-9]{64}|sbp_oauth_[a-f0-9]{40}|` +
				`live_\d{6,12}_[A-Za-z0-9]{28,}|persona_(?:production|sandbox)_` + uuid + `|tvly-prod-[A-Za-z0-9-]{28,}|bb_live_[\w-]{24,}|[A-Za-z0-9]{52}JQQJ9[\w+/]{20,}|[A-Za-z0-9]{42}AzSe[A-D][A-Za-z0-9]{5}|[\w-]{44}AzFu[\w=-]{8}`,
			check: vendorKey,
		},
		{
			name: "cookie", of: "wordpress", refuses: never, gate: []string{"wordpress_logged_in_", "wordpress_sec_"},
			expr: `wordpress_(?:logged_in|sec)_[0-9a-f]{32}(?:=|%3D)([^\s;"',]{20,})`,
		},
		{name: "prefixed", count: "_", least: 1, find: findPrefixed('_'), refuses: never, guess: true},
		{name: "prefixed", of: "dashed", count: "-", least: 1, find: findPrefixed('-'), refuses: never, guess: true},
	}
}

// vendorKey wants a word of its own with digits in it, and letters of both cases behind the prefixes that are words.
func vendorKey(s string, from, to int) bool {
	v := s[from:to]
	if strings.HasPrefix(v, "fw_") || strings.HasPrefix(v, "npg_") || strings.HasPrefix(v, "AVNS_") {
		return mixedWord(s, from+strings.IndexByte(v, '_')+1, to) && firstWord(s, from, to)
	}
	_, _, digits := mixture(v)
	return begins(s, from) && digits > 1
}

// keyWords end the prefixes of keys.
var keyWords = wordSet("live prod production secret sec sk key pat token tok api private priv auth")

// keyNamed reports whether a prefix is the name of a key: tok_live, api.
func keyNamed(prefix string) bool {
	return keyWords[strings.ToLower(prefix[strings.LastIndexAny(prefix, "_-")+1:])]
}

// A tail of named characters is taken behind a name such as tok_live, one of unnamed behind any prefix.
const (
	namedTail   = 20
	unnamedTail = 32
)

// findPrefixed looks for a run of letters and digits that chance made, with a short prefix and a
// separator before it: acme_live_X. A run that is too short is stepped over in one go.
func findPrefixed(separator byte) finder {
	return func(s string, f finding) finding {
		for i := namedTail; i < len(s); {
			if !alphanumeric(s[i]) {
				i += namedTail
				continue
			}
			from, to := runAround(s, i)
			f.work += to - from
			if begin := prefixedKey(s, from, to, separator); begin < from {
				f.add(begin, tokenEnd(s, to))
			}
			i = to + namedTail
		}
		return f
	}
}

// runAround returns the run of letters and digits around i, which begins at most namedTail before it.
func runAround(s string, i int) (from, to int) {
	from, to = i, i
	for from > 0 && i-from <= namedTail && alphanumeric(s[from-1]) {
		from--
	}
	for to < len(s) && alphanumeric(s[to]) {
		to++
	}
	return from, to
}

// prefixedKey returns where the key begins whose tail lies from from to to, or len(s) if it is none.
func prefixedKey(s string, from, to int, separator byte) int {
	const judged = 64
	if to-from < namedTail || from == 0 || s[from-1] != separator {
		return len(s)
	}
	tail := s[from:min(to, from+judged)]
	if !strings.ContainsAny(tail, "0123456789") || !byChance(tail) || fileNamed(s, to) {
		return len(s)
	}
	begin := prefixBegin(s, from-1)
	if begin < from && (len(tail) >= unnamedTail && random(tail) || keyNamed(s[begin:from-1])) {
		return begin
	}
	return len(s)
}

// prefixBegin returns where the prefix of a key begins that ends at i: words of one case, of which the
// first begins with a letter. It returns len(s) if none ends there, as for a check sum (sha384-X) and
// the id of a payment page (cs_live_X).
func prefixBegin(s string, i int) int {
	const longest = 24
	from := i
	for from > 0 && i-from <= longest && tokenByte(s[from-1]) {
		from--
	}
	prefix := s[from:i]
	upper, lower, digits := mixture(prefix)
	switch {
	case len(prefix) > longest || prefix == "" || !letter(prefix[0]) || upper > 0 && lower > 0 || digits > 3:
		return len(s)
	case strings.HasPrefix(prefix, "sha") || strings.HasPrefix(prefix, "md5") || strings.HasPrefix(prefix, "cs_") || strings.HasPrefix(prefix, "etag"):
		return len(s)
	}
	return from
}

// fileNamed reports whether a word that ends at to is the name of a file: chunk-X.js.
func fileNamed(s string, to int) bool {
	return to+1 < len(s) && s[to] == '.' && letter(s[to+1])
}
