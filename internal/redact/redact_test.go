package redact

import (
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/recoup-dev/recoup/internal/redact/redacttest"
)

// TestSecretsDoNotSurvive plants each sample in each context.
func TestSecretsDoNotSurvive(t *testing.T) {
	r, list := Default(), redacttest.Samples(1)
	if len(list) < 200 {
		t.Fatalf("only %d samples", len(list))
	}
	for name, context := range redacttest.Contexts() {
		t.Run(name, func(t *testing.T) {
			for _, sample := range list {
				text := context(sample.Text)
				clean, evidence := r.String(text)
				if strings.Contains(clean, sample.Secret) || strings.Contains(clean, sample.Secret[len(sample.Secret)/2:]) {
					t.Errorf("%s: %q survives in %q", sample.Rule, sample.Secret, clean)
				}
				if len(evidence) == 0 {
					t.Errorf("%s: %q leaves no evidence", sample.Rule, text)
				}
				if again, more := r.String(clean); again != clean || more != nil {
					t.Errorf("%s: cleaned twice: %q became %q (%v)", sample.Rule, clean, again, more)
				}
			}
		})
	}
}

// TestRuleNames expects each sample alone to be found by its own rule, once, and
// every rule to have a sample.
func TestRuleNames(t *testing.T) {
	r := Default()
	unused := map[string]bool{}
	for _, rule := range r.rules {
		unused[rule.name] = true
	}
	for _, sample := range redacttest.Samples(2) {
		delete(unused, sample.Rule)
		if clean, evidence := r.String("see " + sample.Text); len(evidence) != 1 || evidence[sample.Rule] != 1 {
			t.Errorf("%s: evidence %v in %q", sample.Rule, evidence, clean)
		}
		var refused *SecretError
		if !sample.Refusable() {
			if err := r.Identifier(sample.Text); err != nil {
				t.Errorf("%s: identifier %q refused with %v", sample.Rule, sample.Text, err)
			}
			continue
		}
		if err := r.Identifier(sample.Text); !errors.As(err, &refused) || refused.Rule != sample.Rule || strings.Contains(err.Error(), sample.Secret) {
			t.Errorf("%s: identifier refused with %v", sample.Rule, err)
		}
	}
	for name := range unused {
		t.Errorf("rule %s has no sample", name)
	}
}

func TestString(t *testing.T) {
	visa := strings.Repeat("4242", 4)
	for _, test := range []struct{ name, in, want string }{
		{"several on a line", "a@example.org b@example.org", "[redacted:email] [redacted:email]"},
		{"keeps the rest of a URL", "postgres://app:" + "x1@db:5432/recoup?sslmode=require", "postgres://[redacted:url]@db:5432/recoup?sslmode=require"},
		{"keeps other parameters", "/cb?token=" + "abc&page=2", "/cb?token=[redacted:secret]&page=2"},
		{"keeps JSON valid", `{"password":"` + `a\"b","n":1}`, `{"password":"[redacted:password]","n":1}`},
		{"keeps JSON in JSON valid", `"{\"password\":\"` + `ab\\\"c\",\"n\":1}"`, `"{\"password\":\"[redacted:password]\",\"n\":1}"`},
		{"a cut-off string", `{"n":1,"password":"` + `hun`, `{"n":1,"password":"[redacted:password]`},
		{"the specific rule names it", "token=" + "rdb_" + strings.Repeat("k", 32), "token=[redacted:recoup]"},
		{"the general rule widens it", "password=" + "a@example.org+tail", "password=[redacted:email]"},
		{"a card between numbers", "7 12 " + visa[:4] + " " + visa[:4] + " " + visa[:4] + " " + visa[:4] + " 1724840130", "7 12 [redacted:card] 1724840130"},
		{"a card after an encoded space", "q=a%20" + visa, "q=a%20[redacted:card]"},
		{"a card glued to a word", "card" + visa + ",xcafe" + visa + " abc" + visa, "card[redacted:card],xcafe[redacted:card] abc" + visa},
		{"a card in columns", strings.Repeat(visa[:4]+"\t", 4) + "x", "[redacted:card]\tx"},
		{"addresses that are rare", "jose\u0301@example.org b@my_host.example.org \"ada l\"@example.org c＠example.org", "[redacted:email] [redacted:email] [redacted:email] [redacted:email]"},
		{"an address with a port", "dial 203.0.113.9:443 and [2001:db8::7]:443", "dial [redacted:ipv4]:443 and [[redacted:ipv6]]:443"},
		{"a made-up replacement hides nothing", "password=[redacted:" + "hunter2]", "password=[[redacted:password]]"},
		{"an address with a zone", "dial fe80::7%eth0 failed", "dial [redacted:ipv6] failed"},
		{"an address with a ninth group", "cafe:0:0:0:0:0:ffff:203.0.113.9 and 2001:db8:1:2:3:4:5:6:65535", "[redacted:ipv6] and [redacted:ipv6]"},
		{"bytes of Python", "login(password=b'" + "hunter2')", "login(password=b'[redacted:password]')"},
		{"nested brackets", `{"secret":{"a":{"b":"` + `c"},"d":"e"},"n":1}`, `{"secret":{[redacted:secret]},"n":1}`},
		{"headers of Go", "map[Accept:[*/*] Authorization:[Bearer " + "abc12345]]", "map[Accept:[*/*] Authorization:[[redacted:bearer]]]"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, _ := Default().String(test.in)
			if got != test.want {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}

func TestIdentifiersPass(t *testing.T) {
	for _, id := range []string{
		"", "0190a6f2-1b2c-7def-8abc-0123456789ab", "41111111-1111-4111-8111-111111111111", "01JAH8ZJ0Z8Z0N7M1X6JZ8QW0T",
		"CO-20240828-000001", "SL-CO-20240828-000001-CEO", "PE-20240801-000123", "worker-10-0-0-1", "db-1.eu-west-1.internal",
		"ip-10-0-0-1.ec2.internal", "outreach.dol_errors", "POST /v1/errors/{id}/park", "eu-central-1", "batch-2024-08-28", "password_reset",
		"GET /oauth/token", "RATE_LIMIT_EXCEEDED", "127.0.0.1:8080", "/v1/token:refresh", "/v1/users/password:reset", "arn:aws:secretsmanager:eu:1:secret:name",
		"k8s:default:secret:tls", "urn:token:1", "10.0.3.17:8080", "[2001:db8::7]:443",
	} {
		if err := Default().Identifier(id); err != nil {
			t.Errorf("%q: %v", id, err)
		}
	}
}

func TestEvidence(t *testing.T) {
	var sum Evidence
	for _, text := range []string{"clean", "a@example.org, b@example.org", "c@example.org from 203.0.113.9"} {
		_, evidence := Default().String(text)
		sum.Merge(evidence)
	}
	if got, err := json.Marshal(sum); err != nil || string(got) != `{"email":3,"ipv4":1}` {
		t.Errorf("got %s, %v", got, err)
	}
}

// TestCleanTextIsFree wants no allocation for a clean text.
func TestCleanTextIsFree(t *testing.T) {
	for _, text := range []string{cleanLine, strings.Repeat(cleanLine+"\n", 100)} {
		if n := testing.AllocsPerRun(100, func() { Default().String(text) }); n != 0 {
			t.Errorf("%v allocations for %d clean bytes", n, len(text))
		}
	}
}

// TestConcurrentUse is for the race detector.
func TestConcurrentUse(t *testing.T) {
	var all sync.WaitGroup
	for seed := range uint64(4) {
		all.Go(func() {
			for _, sample := range redacttest.Samples(seed) {
				if clean, _ := Default().String(sample.Text); strings.Contains(clean, sample.Secret) {
					t.Errorf("%s survives", sample.Rule)
				}
			}
		})
	}
	all.Wait()
}

// TestUnstableTextIsGivenUp has a rule that finds only the last of its secrets, so
// that every cleaning uncovers another.
func TestUnstableTextIsGivenUp(t *testing.T) {
	last := func(s string, f finding) finding {
		if at := strings.LastIndexByte(s, 'z'); at >= 0 {
			f.add(at, at+1)
		}
		return f
	}
	r := newRedactor([]rule{{name: "last", gate: []string{"z"}, find: last}})
	for _, test := range []struct{ in, want string }{
		{"zz", "[redacted:last][redacted:last]"},
		{strings.Repeat("z", maxPasses+1), "[redacted:unstable]"},
	} {
		got, _ := r.String(test.in)
		if again, evidence := r.String(got); got != test.want || again != got || evidence != nil {
			t.Errorf("%q became %q, then %q (%v)", test.in, got, again, evidence)
		}
	}
}
