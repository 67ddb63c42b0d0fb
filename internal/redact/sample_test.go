package redact

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
)

// The samples are made when the tests run, from a prefix and filler: no line of
// this repository looks like a credential.

const (
	lower    = "abcdefghijklmnopqrstuvwxyz"
	upper    = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits   = "0123456789"
	alnum    = lower + upper + digits
	hexa     = digits + "abcdef"
	wordlike = alnum + "_-"
)

// piece is a fixed text followed by filler from an alphabet.
type piece struct {
	fixed, alphabet string
	length          int
}

// shape says how the secrets of a rule are made.
type shape struct {
	rule   string
	pieces []piece
}

func vendorShapes() []shape {
	one := func(rule, prefix, alphabet string, length int) shape {
		return shape{rule, []piece{{prefix, alphabet, length}}}
	}
	return []shape{
		one("recoup", "rdb_", alnum, 32),
		one("age", "AGE-SECRET-KEY-1", upper+digits, 58),
		one("alibaba", "LTAI", alnum, 20),
		one("anthropic", "sk-ant-api03-", wordlike, 95),
		one("atlassian", "ATATT3xFfGF0", wordlike, 180),
		one("atlassian", "ATBB", alnum, 32),
		one("aws", "AKIA", upper+digits, 16),
		one("aws", "ASIA", upper+digits, 16),
		{"azure", []piece{{"AccountKey=", alnum, 86}, {"==", "", 0}}},
		{"azure", []piece{{"https://x.blob.core.windows.net/c?sv=2022-11-02&sig=", alnum, 44}, {"%3D", "", 0}}},
		{"braintree", []piece{{"access_token$production$", lower + digits, 16}, {"$", hexa, 32}}},
		one("databricks", "dapi", hexa, 32),
		one("digitalocean", "dop_v1_", hexa, 64),
		{"discord", []piece{{"https://discord.com/api/webhooks/", "123456789", 18}, {"/", wordlike, 68}}},
		one("docker", "dckr_pat_", wordlike, 27),
		one("doppler", "dp.pt.", alnum, 43),
		{"dynatrace", []piece{{"dt0c01.", upper + digits, 24}, {".", upper + digits, 64}}},
		one("figma", "figd_", wordlike, 40),
		one("fly", "fo1_", wordlike, 43),
		one("github", "ghp_", alnum, 36),
		one("github", "ghs_", alnum, 36),
		{"github", []piece{{"github_pat_", alnum, 22}, {"_", alnum, 59}}},
		one("gitlab", "glpat-", wordlike, 20),
		one("gitlab", "glrt-", wordlike, 20),
		one("google", "AIza", wordlike, 35),
		one("google", "ya29.", wordlike, 60),
		one("google", "GOCSPX-", wordlike, 28),
		{"grafana", []piece{{"glsa_", alnum, 32}, {"_", hexa, 8}}},
		one("groq", "gsk_", alnum, 52),
		one("heroku", "HRKU-", wordlike, 60),
		one("huggingface", "hf_", alnum, 34),
		one("linear", "lin_api_", alnum, 40),
		{"mailchimp", []piece{{"", hexa, 32}, {"-us", "123456789", 1}}},
		one("mailgun", "key-", hexa, 32),
		one("newrelic", "NRAK-", upper+digits, 27),
		one("notion", "ntn_", alnum, 46),
		one("npm", "npm_", alnum, 36),
		one("openai", "sk-proj-", wordlike, 48),
		{"openai", []piece{{"sk-", alnum, 20}, {"T3BlbkFJ", alnum, 20}}},
		one("planetscale", "pscale_tkn_", wordlike, 43),
		{"postman", []piece{{"PMAK-", hexa, 24}, {"-", hexa, 34}}},
		one("pulumi", "pul-", hexa, 40),
		one("pypi", "pypi-AgEIcHlwaS5vcmc", wordlike, 80),
		one("rubygems", "rubygems_", hexa, 48),
		{"sendgrid", []piece{{"SG.", wordlike, 22}, {".", wordlike, 43}}},
		one("sentry", "sntrys_", alnum, 60),
		one("shopify", "shpat_", hexa, 32),
		{"slack", []piece{{"xoxb-", digits, 12}, {"-", digits, 12}, {"-", alnum, 24}}},
		{"slack", []piece{{"https://hooks.slack.com/services/T", upper, 8}, {"/B", upper, 8}, {"/", alnum, 24}}},
		one("square", "sq0csp-", wordlike, 43),
		one("stripe", "sk_live_", alnum, 24),
		one("stripe", "rk_test_", alnum, 24),
		one("stripe", "whsec_", alnum, 32),
		one("supabase", "sbp_", hexa, 40),
		{"telegram", []piece{{"", "123456789", 9}, {":AA", wordlike, 33}}},
		{"terraform", []piece{{"", alnum, 14}, {".atlasv1.", alnum, 67}}},
		one("vault", "hvs.", wordlike, 90),
	}
}

// sample is a text with a secret in it, and the rule that must find it.
type sample struct{ rule, text, secret string }

type maker struct{ *rand.Rand }

func newMaker(seed uint64) maker { return maker{rand.New(rand.NewPCG(seed, 0))} }

func (m maker) filler(alphabet string, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[m.IntN(len(alphabet))]
	}
	return string(b)
}

// vendor makes a key. What must not survive is its last filler.
func (m maker) vendor(s shape) sample {
	made := sample{rule: s.rule}
	for _, p := range s.pieces {
		filler := m.filler(p.alphabet, p.length)
		made.text += p.fixed + filler
		if len(filler) > 3 {
			made.secret = filler
		}
	}
	return made
}

// general makes one sample of each kind that is no vendor's key.
func (m maker) general() []sample {
	base64url := func(n int) string { return m.filler(wordlike, n) }
	password := m.filler(lower, 4) + m.filler("!#$^*_+~", 2) + m.filler(alnum, 6)
	basic := base64.StdEncoding.EncodeToString([]byte(m.filler(lower, 5) + ":" + m.filler(alnum, 11)))
	token, body := m.filler(alnum, 30)+"7", m.filler(alnum, 64)
	pem := func(newline string) sample {
		return sample{"pem", "-----BEGIN RSA " + "PRIVATE KEY-----" + newline + body + newline + m.filler(alnum, 40) + newline + "-----END RSA " + "PRIVATE KEY-----", body}
	}
	keyed := func(rule, before, secret, after string) sample { return sample{rule, before + secret + after, secret} }
	list := []sample{
		{"jwt", "eyJ" + base64url(30) + ".eyJ" + base64url(60) + "." + token, token},
		pem("\n"), pem(`\n`), pem("\r\n"),
		keyed("bearer", "Bearer ", token, ""),
		keyed("bearer", "bearer ", token, ""),
		keyed("basic", "Basic ", basic, ""),
		keyed("authorization", "Authorization: Token ", token, ""),
		keyed("authorization", `"authorization":"`, password, `"`),
		keyed("authorization", `Authorization: Digest username="x", response="`, body, `"`),
		keyed("cookie", "Cookie: theme=dark; sid=", token, ""),
		keyed("cookie", "Set-Cookie: sid=", token, "; Path=/; HttpOnly"),
		keyed("url", "postgres://app:", password, "@db.internal:5432/recoup"),
		keyed("url", "redis://:", password, "@cache:6379"),
		keyed("url", "app:", password, "@tcp(db:3306)/recoup"),
		keyed("password", "password=", password, ""),
		keyed("password", "DB_PASSWORD=", password, ""),
		keyed("password", "userPassword: ", password, ""),
		keyed("password", "{Name:ada Passwd:", password, "}"),
		keyed("password", "user[password]=", password, ""),
		keyed("password", "--password ", password, ""),
		keyed("password", "<password>", password, "</password>"),
		keyed("password", "WITH PASSWORD '", password, "'"),
		keyed("password", `{"password": "`, password+`\"`+password, `"}`),
		keyed("password", `{\"password\":\"`, password+`\\\"`+password, `\",\"n\":1}`),
		keyed("password", "smtp_pass=", password, ""),
		keyed("password", "Server=db;Uid=sa;Pwd=", password, ";"),
		keyed("secret", "client_secret=", password, ""),
		keyed("secret", "x-api-key: ", token, ""),
		keyed("secret", "accessToken => '", password, "'"),
		keyed("secret", `"tokens":[{"token":["`, password+`","`+password, `"]}]`),
		keyed("email", "", m.filler(lower, 6)+"."+m.filler(lower, 5), "@example.org"),
		keyed("email", "", m.filler(lower, 9), "%40mail.example.org"),
		keyed("email", "/home/", m.filler(lower, 9), "@example.org/inbox"),
	}
	ssn := fmt.Sprintf("%03d-%02d-%04d", 1+m.IntN(665), 1+m.IntN(99), 1+m.IntN(9999))
	list = append(list, sample{"ssn", ssn, ssn})
	for _, a := range m.addresses() {
		list = append(list, sample{a.rule, a.text, a.text})
	}
	for _, c := range m.cards() {
		list = append(list, sample{"card", c, c})
	}
	return list
}

func (m maker) addresses() []sample {
	var raw [16]byte
	for i := range raw {
		raw[i] = byte(m.IntN(256))
	}
	raw[0], raw[1] = 0x20, 0x01
	v6 := netip.AddrFrom16(raw)
	v4 := fmt.Sprintf("%d.%d.%d.%d", 1+m.IntN(126), m.IntN(256), m.IntN(256), m.IntN(256))
	return []sample{
		{rule: "ipv4", text: v4},
		{rule: "ipv6", text: v6.String()},
		{rule: "ipv6", text: strings.ToUpper(v6.StringExpanded())},
		{rule: "ipv6", text: fmt.Sprintf("2001:db8::%x", 1+m.IntN(0xffff))},
		{rule: "ipv6", text: fmt.Sprintf("fe80::%x%%eth0", 1+m.IntN(0xffff))},
		{rule: "ipv6", text: "::ffff:" + v4},
	}
}

// cards makes valid card numbers of several issuers, in one piece and in groups.
func (m maker) cards() []string {
	number := func(prefix string, n int) string {
		body := prefix + m.filler(digits, n-1-len(prefix))
		for check := byte('0'); ; check++ {
			if sum := body + string(check); cardNumber(sum) {
				return sum
			}
		}
	}
	group := func(s, separator string, sizes ...int) string {
		var parts []string
		for _, n := range sizes {
			parts, s = append(parts, s[:n]), s[n:]
		}
		return strings.Join(parts, separator)
	}
	return []string{
		number("4", 16), number("4", 13), number("4", 19), number("51", 16), number("2221", 16), number("37", 15),
		number("36", 14), number("6011", 16), number("3530", 16), number("62", 17), number("5018", 16),
		group(number("4", 16), " ", 4, 4, 4, 4), group(number("55", 16), "-", 4, 4, 4, 4),
		group(number("34", 15), " ", 4, 6, 5), group(number("4", 16), ".", 4, 4, 4, 4),
		group(number("62", 19), "-", 4, 4, 4, 4, 3),
		group(number("4", 16), "%20", 4, 4, 4, 4), group(number("4", 16), "+", 4, 4, 4, 4), group(number("4", 16), "\u00a0", 4, 4, 4, 4),
		group(number("4", 16), "  ", 4, 4, 4, 4), group(number("4", 16), "–", 4, 4, 4, 4), group(number("34", 15), "/", 4, 6, 5),
		group(number("4", 16), "_", 4, 4, 4, 4),
	}
}

// samples returns several hundred samples, the same for the same seed.
func samples(seed uint64) []sample {
	m := newMaker(seed)
	var list []sample
	for range 3 {
		for _, shape := range vendorShapes() {
			list = append(list, m.vendor(shape))
		}
		list = append(list, m.general()...)
	}
	return list
}

// contexts are the places where a text turns up.
func contexts() map[string]func(string) string {
	quoted := func(s string) string {
		b, err := json.Marshal(s)
		if err != nil {
			panic(err)
		}
		return string(b)
	}
	return map[string]func(string) string{
		"alone": func(s string) string { return s },
		"log line": func(s string) string {
			return "2024-08-28T10:15:30.123Z ERROR dol: upstream refused " + s + " after 3 tries"
		},
		"json":         func(s string) string { return `{"level":"error","count":3,"message":` + quoted(s) + `,"ok":false}` },
		"json in json": func(s string) string { return `{"body":` + quoted(`{"message":`+quoted(s)+`,"n":1}`) + `}` },
		"url":          func(s string) string { return "GET https://api.example.org/v1/x?page=2&q=" + s + "&sort=asc HTTP/1.1" },
		"key=value":    func(s string) string { return "level=error status=502 upstream=" + s + " dur=31ms" },
		"path":         func(s string) string { return "open /srv/data/" + s + "/part-0001: no such file" },
		"brackets":     func(s string) string { return "rejected (" + s + "), [" + s + "]: see the log." },
		"stack": func(s string) string {
			return "panic: " + s + "\n\ngoroutine 1 [running]:\nmain.fetch(" + quoted(s) + ")\n\t/srv/app/main.go:23 +0x1d\nmain.main()\n\t/srv/app/main.go:11 +0x65\n"
		},
		"escaped stack": func(s string) string { return `trace="panic: x\n` + s + `\nmain.main()\n\t/srv/app/main.go:11"` },
	}
}
