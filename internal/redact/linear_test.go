package redact

import (
	"io"
	"regexp"
	"strings"
	"testing"
)

// hostile are the units of inputs made to be slow: near misses, and openings that
// are never closed.
func hostile() []string {
	units := nearMisses()
	for _, rule := range Default().rules {
		if len(rule.gate) > 0 {
			units = append(units, rule.gate[0])
		}
	}
	return units
}

func nearMisses() []string {
	return []string{
		"1", "4", "4242 ", "4242-", "1.", "1.1.1.", "123-45-", "@", "a@", "a@b.", "a@b.c@", "%40", "a%40b.", "eyJ", "eyJ.", "eyJaaaaaaaaaa.",
		`"`, `\"`, `\`, `'`, "`", ":", "::", "1:", "a:b:", "f::", "://", "://a:", "://a:@", "a:b@tcp", "-", "-----BEGIN ", "-----BEGIN A-----", "-----BEGIN A-----x",
		"bearer ", "basic ", "basic aaaaaaaa ", "<", "<token>", `\u003ctoken\u003e`, "[", "{", "password", "password ", "password=", `password="`, `password=\"`, "password=[", "password={", "password: ",
		"--password ", "--", "token=' ", "cookie: a;", "cookie=a; ", "authorization: digest ", "[redacted:", "[redacted:email]", "password=[redacted:email]", "password%22%3A%22", "password=&quot;", `password="""`, "password=[x]", "password[", "<password a", "passwords1_value", "tokens=[1", "auth", "-----BEGIN PRIVATE KEY-----", "4242%20", "card4242", `"a `, `"a"@`, " ", "é", "\xff",
		"+1 ", "+1", "(1) ", "0171 ", "01 ", "0", "DE89", "DE89 ", "%", "%25", "%41", `\u0041`, `\u`, "&#6", "&#64;", "\u200b", "ａ", "а", "YWFh", "cGFzc3dvcmQ9eA", "70617373", "curl ", "curl -u ", "curl -u a:b ", "mysql -p ", "login a ",
		"login a password b ", "password is ", "password is a1b2c3 ", "a.b.", "MIIEpAIBAAKCAQEA", "Private-Lines: 1\n", "-----END PRIVATE KEY-----", "?code=", "prompt: a b c ", `{"kty":"d":"`, "s.", "aws ", "twilio ",
		"token ", "api key ", "password for ", "password for user ", "key provided: ", "secret\n", "token \\\\\"", "AKIA", "AKIA a/", "app/x@", "sqlplus a/", "seed abcd ", "5Kabcdefgh", "api key a1b2", "PIN 1",
		"code is your ", "your code ", "AUTH ", "AUTH a ", "LOGIN a ", "PASS ", "IDENTIFY a ", "session id ", "password, ", "password is as the ", "credentials a / ", "token ... ", "expected token a, got ", "codes: a1b2c3d4 ", "echo a | sudo -S", "response=", "for password ", "insert into a(b)values(", "insert into a(token)values('", "('a'),",
	}
}

// TestWorkIsLinear counts the bytes that finders step over. Twice the input may
// cost twice the work, and no input more than a few readings by every rule that
// looks at it.
func TestWorkIsLinear(t *testing.T) {
	const size = 1 << 12
	r := Default()
	work := func(s string) int {
		return max(finding{}.run(r.rules, r.gate.scan(s), s, 0).work, r.find(s).work)
	}
	for _, unit := range hostile() {
		half, full := work(strings.Repeat(unit, size/len(unit))), work(strings.Repeat(unit, 2*size/len(unit)))
		if full > half*5/2+100 || full > 12*2*size {
			t.Errorf("%q: %d bytes of work for %d bytes, %d for %d", unit, half, size, full, 2*size)
		}
	}
}

// TestExpressionsReadAhead counts what the regular expressions read: the matcher
// is linear in one search, so a repeated search is too unless each reads far
// beyond what it matches.
func TestExpressionsReadAhead(t *testing.T) {
	const size = 1 << 10
	for _, rule := range Default().rules {
		if rule.expr == "" {
			continue
		}
		re := regexp.MustCompile(rule.expr)
		for _, unit := range append(nearMisses(), rule.gate...) {
			s := strings.Repeat(unit, size/len(unit))
			read := 0
			for at := 0; at < len(s); {
				counting := &countingReader{RuneReader: strings.NewReader(s[at:])}
				m := re.FindReaderIndex(counting)
				read += counting.runes
				if m == nil {
					break
				}
				at += m[1]
			}
			if read > 4*size {
				t.Errorf("%s reads %d runes of %d bytes of %q", rule.name, read, size, unit)
			}
		}
	}
}

type countingReader struct {
	io.RuneReader
	runes int
}

func (c *countingReader) ReadRune() (rune, int, error) {
	c.runes++
	return c.RuneReader.ReadRune()
}

// TestHostileInput runs a mebibyte of each of the worst.
func TestHostileInput(t *testing.T) {
	for _, unit := range []string{"7", "@", "eyJ", `"`, `\`} {
		s := strings.Repeat(unit, 1<<20/len(unit))
		if clean, evidence := Default().String(s); clean != s || evidence != nil {
			t.Errorf("%q…: %v", unit, evidence)
		}
	}
}
