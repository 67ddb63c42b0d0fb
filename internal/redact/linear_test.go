package redact

import (
	"encoding/base64"
	"io"
	"iter"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/internal/redact/redacttest"
)

// hostile are the units of inputs made to be slow: near misses, and openings that
// are never closed.
func hostile() []string {
	units := slices.Concat(nearMisses(), placeMisses())
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
		"+1 ", "+1", "(1) ", "0171 ", "01 ", "0", "DE89", "DE89 ", "%", "%25", "%41", `\u0041`, `\u`, "&#6", "&#64;", "&", "&lt", "&lt;", "&amp;", "amp;", "&lt;token&gt;", "%26lt;", "\u200b", "ａ", "а", "YWFh", "cGFzc3dvcmQ9eA", "70617373", "curl ", "curl -u ", "curl -u a:b ", "mysql -p ", "login a ",
		"login a password b ", "password is ", "password is a1b2c3 ", "a.b.", "MIIEpAIBAAKCAQEA", "Private-Lines: 1\n", "-----END PRIVATE KEY-----", "?code=", "prompt: a b c ", `{"kty":"d":"`, "s.", "aws ", "twilio ",
		"token ", "api key ", "password for ", "password for user ", "key provided: ", "secret\n", "token \\\\\"", "AKIA", "AKIA a/", "app/x@", "sqlplus a/", "seed abcd ", "5Kabcdefgh", "api key a1b2", "PIN 1",
		"пароль", "otp ", "master_key=", `key="`, "seed:+", "secret_answer=", "magic_link: ",
		"code is your ", "your code ", "AUTH ", "AUTH a ", "LOGIN a ", "PASS ", "IDENTIFY a ", "session id ", "password, ", "password is as the ", "credentials a / ", "token ... ", "expected token a, got ", "codes: a1b2c3d4 ", "echo a | sudo -S", "response=", "for password ", "insert into a(b)values(", "insert into a(token)values('", "('a'),",
		"select token = ? ", "where token=$1 [", "update password=? args=", "where token in (", "where token=:a ", "where token=@p1 ", "insert into a(token)values(?) ['", "args=[\"", "where token=? binding parameter [1] as [a] - [", "where token = ? [[", "token=%(a)s, ", "select ", "where pin=? (", "where pin=? ; \"",
		"a,password\n", "a|token\n", "password,\"\n", "pin;\n1;", "password\t\"\"", "token,",
		"password=${", "password=${a1b2}", "password; ", "signing with key ", "aes key ", "enter 1234 to ", "a:b1234@", "password\n input_value='", "on field 'pin': rejected value [", "field 'pin' value: \"", "auth plain\n", "auth plain\n334\n", "webhook_url=", "sess=", "does not match the code ", "' (password)", "user a secret ", "is not a valid password ", "wrong password 123456", "passwords differ: ", "token a != ", "password a&b ", "password: a&b", "password a&", "api key a12345 not ",
		"password=a b;", "password = a\n", ";pwd=a ", "[admins]\na=b12345\n", "[admins]", "bad login a:b1234 ", "login failed for a:", "bind cn=a with ", "logged in as a with b", "//a:b@", "//a:", "a/b1234@//", "a/b1234@a:1/", "authorization -> ", `["authorization","`,
		"passwd <<<", "passwd <<< a ", "kinit a ", "echo a | ", "echo a|passwd ", `send "a" `, `password send "`, "snmpget -A ", "snmpget -A b1234 ", "tsql -P a ", "['curl', '-u', ", "curl \\\n", "curl '-u ", `curl "-u\" `, "curl [\n", "[curl, -u, a:b], ", "spawnargs: ['-p'\n", "password=null -> ", `password="a" -> "b" `, `session=null -> [ `, "password= ->", "identified by a replace ", "identified by a b1234 replace ", "sp_addlogin 'a',", "sp_addlinkedsrvlogin a,b,", "pragma key='", "a:5432:b:c:", "password....", "exp a/b1234 ", "expdp -a ", " catalog a/", "curl -b a=b ", "put-parameter --value a ", "K10aaaa::server:", "auth login YWRh\n", "stats auth a:", "isql a b c1234 ", "bundle config a b:", "steamcmd +login a ", "schtasks /rp ", `ConvertTo-SecureString "`, "attach a as b key '", "connect to a user b using ", "path: 'mysql'\nspawnargs: ['-pa1b2'] ", "credentials cn=a,", "credentials: dc=a / ",
		"login(", "login('a',", "login('a','b1234')", "crypt(login('", "sp_password '", "auth=Http('a',", `{"value":`, `{"name":"pin","value":"`, `"value":["`, `{"data":{`, "value=a ", "value='", "- value: a\n", "kind: Secret\ndata:\n a: b\n", "passwords:\n - a\n", " value: |\n", "<name>pin</name><value>", "<value>a</value><name>", "<a name='pin'>", "<name>",
		`invalid port ":a1`, `invalid port ":a1b2" `, "row contains (", "row contains (a1b2c,", "On instance['pin']: '", "On instance['pin']: 'a' ", `value "a" at path "`, "-- pin: AttemptedValue: ", "-- a: ", `key "a1b2c" too short`, "account.key.a=", "pwd:: ", "$ANSIBLE_VAULT;1.1;AES256\n", "/hooks/", "pass abcd efgh ",
	}
}

// readAhead are units after each of which a value is read up to a cap: they cost more, and the
// same for each byte.
func readAhead() []string {
	return []string{"密码:+", "password+", "+AD0-secret=", "otp=+", "密码+", "key=[", "key={", "backup_codes:[a1,"}
}

// fragments are the words that rules look for and the marks around them. The hostile inputs of
// [pairs] are made of them.
func fragments() (words, marks []string) {
	words = []string{"master_key", "backup_codes", "password=", "token", "prompt", "cookie: a", "arn:secret", "pass:a", "unseal", "credentials", "q1", "PuTTY-User-Key-File-", "Private-MAC:", "http", "密码"}
	for _, f := range families() {
		words = append(words, f.keys[0])
	}
	byKind := map[secretKind]string{}
	for word, kind := range tellingWords() {
		if first, ok := byKind[kind]; !ok || word < first {
			byKind[kind] = word
		}
	}
	words = slices.AppendSeq(words, maps.Values(byKind))
	slices.Sort(words)
	marks = []string{
		" ", "\t", "\n", "+", "=", ":", ": ", ":\t", "=\n", "|\n", `"`, "'", "`", `\`, `\"`, `\\"`, `""`, "[", "]", "{", "}", "(", ")", "<", ">", "&quot;", "%22", "%20", "%5b", `\n`, `\u0022`,
		".", ",", ";", "-", "_", "/", "*", "#", "|", "&", "@", "%", "a1",
	}
	return slices.Compact(words), marks
}

// pairs yields inputs of a size that repeat a word with marks around it.
func pairs(size int) iter.Seq2[string, string] {
	words, marks := fragments()
	repeated := func(unit string) string { return strings.Repeat(unit, size/len(unit)) }
	return func(yield func(name, text string) bool) {
		for _, word := range words {
			for i, mark := range marks {
				other := marks[(i+1)%len(marks)]
				for _, unit := range []string{word + mark, mark + word + other} {
					if !yield(unit, repeated(unit)) {
						return
					}
				}
			}
		}
	}
}

// readings is how often the rules together may step over a byte.
const readings = 16

// TestWorkIsLinear counts the bytes that finders step over. Twice the input may
// cost twice the work, and no input more than a few readings by every rule that
// looks at it.
func TestWorkIsLinear(t *testing.T) {
	const size = 1 << 12
	r := Default()
	work := func(s string) int {
		return max(finding{}.run(r.rules, r.gate.scan(s), s, 0).work, r.find(s).work)
	}
	for _, unit := range slices.Concat(hostile(), readAhead()) {
		limit := readings * 2 * size
		if slices.Contains(readAhead(), unit) {
			limit *= 4
		}
		half, full := work(strings.Repeat(unit, size/len(unit))), work(strings.Repeat(unit, 2*size/len(unit)))
		if full > half*5/2+100 || full > limit {
			t.Errorf("%q: %d bytes of work for %d bytes, %d for %d", unit, half, size, full, 2*size)
		}
	}
}

// TestWorkBeforeLongValueIsLinear has many names in front of one long value.
func TestWorkBeforeLongValueIsLinear(t *testing.T) {
	const size = 1 << 12
	work := func(name string, n int) int {
		return Default().find(strings.Repeat(name, n/2/len(name)) + strings.Repeat("a1b2", n/8)).work
	}
	for _, name := range []string{"пароль", "пароль+", "password+", "otp=+", "master_key=", "key=[", "key=\"", "seed:+"} {
		if half, full := work(name, size), work(name, 2*size); full > half*5/2+100 {
			t.Errorf("%q: %d bytes of work for %d bytes, %d for %d", name, half, size, full, 2*size)
		}
	}
}

// TestWorkOnPairsIsLinear counts the work on words with marks around them. A cap on a look-ahead
// makes each word cost more, so the bound is on the growth and, more loosely, on the sum.
func TestWorkOnPairsIsLinear(t *testing.T) {
	t.Parallel()
	const size = 1 << 10
	r := Default()
	var expressions set
	for i, rule := range r.rules {
		if one := single(i); rule.expr != "" { // TestExpressionsReadAhead covers them
			expressions.add(&one)
		}
	}
	for unit, text := range pairs(2 * size) {
		work := func(s string) int { return finding{}.run(r.rules, r.gate.scan(s).without(expressions), s, 0).work }
		half, full := work(text[:len(unit)*(size/len(unit))]), work(text)
		if full > half*13/5+400 || full > 8*readings*2*size {
			t.Errorf("%q: %d bytes of work for %d bytes, %d for %d", unit, half, size, full, 2*size)
		}
	}
}

// TestNamesReadAhead counts what the expression after a name reads, also where it does not match.
func TestNamesReadAhead(t *testing.T) {
	t.Parallel()
	const size = 1 << 10
	plain, tagged := regexp.MustCompile(afterName.String()), regexp.MustCompile(afterTag.String())
	name := regexp.MustCompile(`token|password|prompt|cookie`)
	for unit, text := range pairs(size) {
		read := 0
		for _, m := range name.FindAllStringIndex(text, -1) {
			re := plain
			if _, tag := opened(text, m[1]); tag {
				re = tagged
			}
			counting := &countingReader{RuneReader: strings.NewReader(text[m[1]:])}
			re.FindReaderIndex(counting)
			read += counting.runes
		}
		if read > 32*size {
			t.Errorf("%q: %d runes read after the names in %d bytes", unit, read, size)
		}
	}
}

// TestPaddingIsReadOnce has many secrets in one encoded text with a long padding.
func TestPaddingIsReadOnce(t *testing.T) {
	const size = 1 << 12
	text := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("a@b.cc ", size/7)))
	work := func(padding int) int { return Default().find(text + strings.Repeat("=", padding)).work }
	if more := work(size) - work(0); more > readings*size {
		t.Errorf("%d bytes of work for %d bytes of padding", more, size)
	}
}

// TestExpressionsReadAhead counts what the regular expressions read: the matcher
// is linear in one search, so a repeated search is too unless each reads far
// beyond what it matches.
func TestExpressionsReadAhead(t *testing.T) {
	const size = 1 << 10
	samples := redacttest.Samples(6)
	for _, rule := range Default().rules {
		if rule.expr == "" {
			continue
		}
		re := regexp.MustCompile(rule.expr)
		for _, unit := range slices.Concat(nearMisses(), placeMisses(), rule.gate, alternatives(&rule, samples)) {
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

// alternatives returns what a rule finds with each of its literals in front: an expression with
// alternatives must not look for the end of one after each match of another.
func alternatives(r *rule, samples []redacttest.Sample) (units []string) {
	for _, sample := range samples {
		if sample.Rule != r.name || len(r.find(sample.Text, finding{}).spans) == 0 || len(sample.Text) > 200 {
			continue
		}
		for _, literal := range r.gate {
			units = append(units, literal+" "+sample.Text+" ")
		}
	}
	return units
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

// TestOverlaps compares the search with a comparison of each span with each.
func TestOverlaps(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 1))
	drawn := func() span {
		from := random.IntN(40)
		return span{from: from, to: from + 1 + random.IntN(4)}
	}
	for range 1000 {
		spans := make([]span, random.IntN(6))
		for i := range spans {
			spans[i] = drawn()
		}
		sp := drawn()
		want := slices.ContainsFunc(spans, func(o span) bool { return sp.from < o.to && o.from < sp.to })
		if got := overlaps(merge(slices.Clone(spans)), sp); got != want {
			t.Fatalf("%v in %v: got %v, want %v", sp, spans, got, want)
		}
	}
}
