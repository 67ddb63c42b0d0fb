package redact

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/internal/redact/redacttest"
)

// TestPlantedSecrets plants drawn secrets between drawn words: none survives, each
// is counted once, and a second cleaning finds nothing. Under which rule is not asserted: by
// chance, a key can contain the id of an AWS key or the prefix of another service.
func TestPlantedSecrets(t *testing.T) {
	words := strings.Fields("retry of dol filing failed: timeout after 31ms (attempt 3/5) in stage-2, https://docs.example.org/errors/NETWORK_TIMEOUT v1.2.3")
	rapid.Check(t, func(t *rapid.T) {
		list := redacttest.Samples(rapid.Uint64().Draw(t, "seed"))
		var text strings.Builder
		var secrets []string
		for range rapid.IntRange(1, 5).Draw(t, "secrets") {
			sample := rapid.SampledFrom(list).Draw(t, "sample")
			text.WriteString(rapid.SampledFrom(words).Draw(t, "word") + "\n" + sample.Text + "\n")
			secrets = append(secrets, sample.Secret)
		}
		clean, evidence := Default().String(text.String())
		for _, secret := range secrets {
			if strings.Contains(clean, secret) {
				t.Fatalf("%q survives in %q", secret, clean)
			}
		}
		counted := 0
		for _, n := range evidence {
			counted += n
		}
		if counted != len(secrets) {
			t.Fatalf("evidence %v for %d secrets in %q", evidence, len(secrets), text.String())
		}
		if again, more := Default().String(clean); again != clean || more != nil {
			t.Fatalf("cleaned twice: %q became %q (%v)", clean, again, more)
		}
	})
}

// TestIdentifiersOfEveryKindPass draws identifiers as Recoup makes them.
func TestIdentifiersOfEveryKindPass(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.OneOf(
			rapid.Custom(func(t *rapid.T) string {
				return recoup.ID(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "bytes")).String()
			}),
			// All digits: the hardest case for card numbers.
			rapid.StringMatching(`[0-9]{8}-[0-9]{4}-[0-9]{4}-[0-9]{4}-[0-9]{12}`),
			rapid.StringMatching(`[0-7][0-9A-HJKMNP-TV-Z]{25}`),
			rapid.StringMatching(`[0-7][0-9]{25}`),
			rapid.StringMatching(`(?:CO|PE|SL-CO)-20[0-9]{6}-[0-9]{6}(?:-(?:CEO|CFO))?`),
			rapid.StringMatching(`worker-[0-9]{1,3}-[0-9]{1,3}-[0-9]{1,3}-[0-9]{1,3}`),
		).Draw(t, "id")
		if err := Default().Identifier(id); err != nil {
			t.Fatalf("%q: %v", id, err)
		}
	})
}

// TestGateIsExact compares the automaton with a search for each literal.
func TestGateIsExact(t *testing.T) {
	rules := Default().rules
	var literals []string
	for _, rule := range rules {
		literals = append(literals, rule.gate...)
	}
	folded := func(s string) string {
		b := []byte(s)
		for i := range b {
			b[i] = fold(b[i])
		}
		return string(b)
	}
	rapid.Check(t, func(t *rapid.T) {
		line := strings.Join(rapid.SliceOfN(rapid.OneOf(
			rapid.SampledFrom(literals),
			rapid.Custom(func(t *rapid.T) string { // a part of one
				s := rapid.SampledFrom(literals).Draw(t, "literal")
				return s[:rapid.IntRange(0, len(s)).Draw(t, "length")]
			}),
			rapid.StringMatching(`[ -~]{0,6}`),
		), 0, 4).Draw(t, "parts"), "")
		hits := Default().gate.scan(line)
		for i, rule := range rules {
			want := rule.least > 0 && strings.Count(line, rule.count) >= rule.least
			for _, literal := range rule.gate {
				want = want || strings.Contains(folded(line), folded(literal))
			}
			if got := !hits.and(single(i)).empty(); got != want {
				t.Fatalf("%s in %q: got %v, want %v", rule.name, line, got, want)
			}
		}
	})
}

// TestGateLetsSecretsThrough runs every rule without the gate: it must hide
// nothing that a rule would find.
func TestGateLetsSecretsThrough(t *testing.T) {
	r := Default()
	for _, sample := range redacttest.Samples(3) {
		if sample.Rule == "beside" {
			continue
		}
		var every set
		for i, rule := range r.rules {
			if rule.name != "beside" { // here the gate is what makes it a secret
				every[i/64] |= 1 << (i % 64)
			}
		}
		all := finding{}.run(r.rules, every, sample.Text, 0)
		gated := merge(r.lines(sample.Text).spans)
		ungated := merge(all.spans)
		if !slices.EqualFunc(ungated, gated, func(a, b span) bool {
			return a.from == b.from && a.to == b.to && r.rules[a.rule].name == r.rules[b.rule].name
		}) {
			t.Errorf("%s: with the gate %v, without %v", sample.Rule, gated, ungated)
		}
	}
}

func FuzzRedact(f *testing.F) {
	for _, sample := range redacttest.Samples(4) {
		f.Add(sample.Text)
	}
	for _, sentence := range redacttest.Sentences(4) {
		f.Add(sentence.Text)
	}
	for _, context := range redacttest.Contexts() {
		f.Add(context("password=" + "x" + "\n4242 4242 4242 4242 a@example.org"))
	}
	f.Fuzz(func(t *testing.T, s string) {
		clean, evidence := Default().String(s)
		if again, more := Default().String(clean); again != clean || more != nil {
			t.Errorf("%q became %q, then %q (%v)", s, clean, again, more)
		}
		if utf8.ValidString(s) && !utf8.ValidString(clean) {
			t.Errorf("%q became invalid: %q", s, clean)
		}
		// The shortest finding is pass=x, the longest replacement has 24 bytes.
		if len(clean) > 8*len(s)+len(Replacement(unstable)) {
			t.Errorf("%d bytes became %d", len(s), len(clean))
		}
		if (len(evidence) == 0) != (clean == s) {
			t.Errorf("%q became %q with evidence %v", s, clean, evidence)
		}
		if Default().Identifier(s) != nil && len(evidence) == 0 {
			t.Errorf("%q: refused as an identifier and yet clean", s)
		}
	})
}
