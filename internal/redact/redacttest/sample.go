package redacttest

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
)

// Sample is a text with a secret in it, and the rule that must find it. Secret is
// the part of the text that must not survive.
type Sample struct {
	Rule, Text, Secret string
	plain              *Sample // it without its disguise; nil: it has none
	disguise           string
}

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
func (m maker) vendor(s shape) Sample {
	made := Sample{Rule: s.rule}
	for _, p := range s.pieces {
		filler := m.filler(p.alphabet, p.length)
		made.Text += p.fixed + filler
		if len(filler) > 3 {
			made.Secret = filler
		}
	}
	return made
}

// general makes one sample of each kind that is no vendor's key.
func (m maker) general() []Sample {
	base64url := func(n int) string { return m.filler(wordlike, n) }
	password := m.filler(lower, 4) + m.filler("!#$^*_+~", 2) + m.filler(alnum, 6)
	basic := base64.StdEncoding.EncodeToString([]byte(m.filler(lower, 5) + ":" + m.filler(alnum, 11)))
	token, body := m.filler(alnum, 30)+"7", m.filler(alnum, 64)
	pem := func(newline string) Sample {
		return Sample{Rule: "pem", Text: "-----BEGIN RSA " + "PRIVATE KEY-----" + newline + body + newline + m.filler(alnum, 40) + newline + "-----END RSA " + "PRIVATE KEY-----", Secret: body}
	}
	keyed := func(rule, before, secret, after string) Sample {
		return Sample{Rule: rule, Text: before + secret + after, Secret: secret}
	}
	list := []Sample{
		keyed("jwt", "eyJ"+base64url(30)+".eyJ"+base64url(60)+".", token, ""),
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
		keyed("secret", "master_key=", token, ""),
		keyed("secret", "accessToken => '", password, "'"),
		keyed("secret", `"tokens":[{"token":["`, password+`","`+password, `"]}]`),
		keyed("email", "", m.filler(lower, 6)+"."+m.filler(lower, 5), "@example.org"),
		keyed("email", "", m.filler(lower, 9), "%40mail.example.org"),
		keyed("email", "/home/", m.filler(lower, 9), "@example.org/inbox"),
	}
	ssn := fmt.Sprintf("%03d-%02d-%04d", 1+m.IntN(665), 1+m.IntN(99), 1+m.IntN(9999))
	list = append(list, Sample{Rule: "ssn", Text: ssn, Secret: ssn})
	for _, a := range m.addresses() {
		list = append(list, Sample{Rule: a.Rule, Text: a.Text, Secret: a.Text})
	}
	for _, c := range m.cards() {
		list = append(list, Sample{Rule: "card", Text: c, Secret: c})
	}
	return list
}

func (m maker) addresses() []Sample {
	var raw [16]byte
	for i := range raw {
		raw[i] = byte(m.IntN(256))
	}
	raw[0], raw[1] = 0x20, 0x01
	v6 := netip.AddrFrom16(raw)
	v4 := fmt.Sprintf("%d.%d.%d.%d", 1+m.IntN(126), m.IntN(256), m.IntN(256), m.IntN(256))
	return []Sample{
		{Rule: "ipv4", Text: v4},
		{Rule: "ipv6", Text: v6.String()},
		{Rule: "ipv6", Text: strings.ToUpper(v6.StringExpanded())},
		{Rule: "ipv6", Text: fmt.Sprintf("2001:db8::%x", 1+m.IntN(0xffff))},
		{Rule: "ipv6", Text: fmt.Sprintf("fe80::%x%%eth0", 1+m.IntN(0xffff))},
		{Rule: "ipv6", Text: "::ffff:" + v4},
	}
}

// cards makes valid card numbers of several issuers, in one piece and in groups.
func (m maker) cards() []string {
	number := func(prefix string, n int) string {
		body := prefix + m.filler(digits, n-1-len(prefix))
		for check := byte('0'); ; check++ {
			if sum := body + string(check); luhn(sum) {
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

// Samples returns several hundred samples, the same for the same seed.
func Samples(seed uint64) []Sample {
	m := newMaker(seed)
	return slices.Concat(m.kinds(0), m.kinds(1), m.options(), m.read(), m.places(), m.prefixed())
}

// kinds makes one sample of every kind, and of every third sentence, which is another
// one in each of three rounds.
func (m maker) kinds(round int) []Sample {
	var list []Sample
	for _, shape := range slices.Concat(vendorShapes(), serviceShapes(), moreShapes()) {
		list = append(list, m.vendor(shape))
	}
	return slices.Concat(list, m.general(), m.person(), m.told(), m.stored(), m.telling(round))
}

// luhn reports whether the last digit of a number is the check of the others.
func luhn(number string) bool {
	sum := 0
	for i := range len(number) {
		d := int(number[len(number)-1-i] - '0')
		if d <<= i % 2; d > 9 {
			d -= 9
		}
		sum += d
	}
	return sum%10 == 0
}

// Refusable reports whether an identifier may not look like the sample. It may be
// the address of a machine, and a path may have a colon behind a word such as token.
func (s Sample) Refusable() bool {
	if s.plain != nil {
		return s.plain.Refusable()
	}
	switch s.Rule {
	case "ipv4", "ipv6", "cookie", "prefixed":
		return false
	case "body":
		return strings.HasPrefix(s.Text, "prompt=")
	case "authorization", "password", "secret", "phone", "person":
		before, _, _ := strings.Cut(s.Text, s.Secret)
		return strings.HasSuffix(before, "=") || before == ""
	}
	return true
}
