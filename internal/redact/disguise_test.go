package redact

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/internal/redact/redacttest"
)

// TestDisguisedSecretsDoNotSurvive hides every kind of secret in every way, and
// plants it in a log line.
func TestDisguisedSecretsDoNotSurvive(t *testing.T) {
	t.Parallel()
	list := redacttest.Samples(11)
	for _, name := range slices.Sorted(maps.Keys(redacttest.Disguises())) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, sample := range list {
				hidden := sample.Disguised(name)
				text := "2024-08-28T10:15:30.123Z ERROR dol: upstream refused " + hidden.Text + " after 3 tries"
				clean, evidence := Default().String(text)
				if strings.Contains(clean, hidden.Secret) || len(evidence) == 0 {
					t.Errorf("%s: %q survives in %q", sample.Rule, sample.Text, clean)
				}
				if again, more := Default().String(clean); again != clean || more != nil {
					t.Errorf("%s: cleaned twice: %q became %q", sample.Rule, clean, again)
				}
				if sample.Refusable() && Default().CheckIdentifier(hidden.Text, 1<<20) == nil {
					t.Errorf("%s: %q is taken for a name", sample.Rule, hidden.Text)
				}
			}
		})
	}
}

// TestUncover says what a disguise is and where what is behind it stood.
func TestUncover(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ in, want string }{
		{"plain text", ""}, {"100 % and a\\b & more", ""}, {"日本語", ""}, {"café", ""},
		{"a%40b", "a@b"}, {"a%2540b", "a@b"}, {"%e2%80%8bx", "x"}, {"%zz%4", ""}, {`\u0041\x42\/`, "AB/"}, {`\\u0041`, "A"}, {"&#64;&#x41;&amp;", "@A&"}, {"&lt;a&gt;&equals;&colon;&nbsp;", "<a>=: "},
		{"&amp;lt;&amp;amp;quot;&#38;lt;", "<\"<"}, {`%26lt;\u0026gt;`, "<>"}, {"a&b; &unknown; &; &#; &#x; &amp", ""}, {"&lt;&bsol;n", `<\n`},
		{"ＡＢＣ！", "ABC!"}, {"p\u200ba\u00ads", "pas"}, {"раss", "pass"}, {"𝐀𝟗", "A9"}, {`a\nb`, "a\nb"}, {"\xff%41", "\xffA"},
	} {
		v, changed := decodeLayer(test.in)
		if changed != (test.want != "") || v.text != test.want {
			t.Errorf("%q became %q (%v), want %q", test.in, v.text, changed, test.want)
		}
		if changed && (len(v.at) != len(v.text)+1 || int(v.at[len(v.text)]) != len(test.in) || !slices.IsSorted(v.at)) {
			t.Errorf("%q: the positions are %v", test.in, v.at)
		}
	}
}

// TestDisguiseKeepsTheRest replaces what was hidden and nothing around it.
func TestDisguiseKeepsTheRest(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ in, want string }{
		{"q=a%40example.org&x=1", "q=[redacted:email]&x=1"},
		{`{"m":"\u0070assword=hunter2","n":1}`, `{"m":"\u0070assword=[redacted:password]","n":1}`},
		{"see cGFzc3dvcmQ9aHVudGVyMg== now", "see [redacted:password] now"},
		{"see 70617373776f72643d68756e74657232 now", "see [redacted:password] now"},
		{"ｐａｓｓｗｏｒｄ＝ｈｕｎｔｅｒ２ ok", "ｐａｓｓｗｏｒｄ＝[redacted:password] ok"},
	} {
		if got, _ := Default().String(test.in); got != test.want {
			t.Errorf("got  %q\nwant %q", got, test.want)
		}
	}
}

// TestEncodedAfterAWord finds a text in base 64 that follows a word without a gap. Such a word is no
// identifier, although a name with a random tail is one.
func TestEncodedAfterAWord(t *testing.T) {
	t.Parallel()
	for _, s := range redacttest.Sentences(6) {
		for _, before := range []string{"req_", "id-", "x/", "trace"} {
			text := before + s.Sample().Disguised("base64url").Text
			if clean, evidence := Default().String(text); len(evidence) == 0 {
				t.Errorf("%q became %q", text, clean)
			}
			if refused := s.Sample().Disguised("base64url"); refused.Refusable() && Default().Identifier(before+refused.Text) == nil {
				t.Errorf("%q is taken for an identifier", text)
			}
		}
	}
}

// TestColoursDoNotHideSecrets has the control sequences of terminals around names and values.
func TestColoursDoNotHideSecrets(t *testing.T) {
	t.Parallel()
	const secret = "hunter" + "2X9"
	for _, text := range []string{
		"\x1b[36mDB_PASSWORD \x1b[0m=\x1b[33mVALUE\x1b[0m", "\x1b[36mpassword\x1b[0m=VALUE", "pass\x1b[1mword\x1b[0m: VALUE", `\u001b[36mpassword\u001b[0m=\u001b[33mVALUE`,
		"\x1b[1;38;5;208mpassword:\x1b[0m \x1b[2mVALUE\x1b[0m", "password=hun\x1b[0mter2X9",
	} {
		clean, _ := Default().String(strings.Replace(text, "VALUE", secret, 1))
		if strings.Contains(clean, "ter2X9") {
			t.Errorf("%q became %q", text, clean)
		}
	}
	for _, text := range []string{"\x1b[32mINFO\x1b[0m retry 3 of 5", "\x1b[", "\x1b", "\x1b[" + strings.Repeat("1;", 40) + "m"} {
		if clean, evidence := Default().String(text); clean != text || evidence != nil {
			t.Errorf("%q became %q", text, clean)
		}
	}
}
