package app

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/internal/redact/redacttest"
	"github.com/recoup-dev/recoup/server/internal/policy"
)

// What a log line or a policy says of the secrets of the corpus is nothing.
func TestSecretsAreNotLogged(t *testing.T) {
	t.Parallel()
	for _, asJSON := range []bool{false, true} {
		var log bytes.Buffer
		o := Options{LogJSON: asJSON}
		o.LogTo(&log)
		for _, s := range redacttest.Samples(8) {
			if s.Rule == "ipv4" || s.Rule == "ipv6" {
				continue
			}
			log.Reset()
			o.Logger.With("who", s.Text).Warn("it says "+s.Text, "cause", errors.New(s.Text), "context", struct{ Agent string }{s.Text})
			if strings.Contains(log.String(), s.Secret) {
				t.Errorf("%s: %s", s.Rule, &log)
			}
		}
	}
}

func TestSecretsInPolicies(t *testing.T) {
	t.Parallel()
	text := string(policy.DefaultFile())
	if found := secretsInPolicy(text); found != nil {
		t.Errorf("the default policy: %v", found)
	}
	if found := secretsInPolicy("# password:\n#   " + "hunter2trombone\n" + text); len(found) != 1 {
		t.Errorf("a password behind the name on the line before, in a comment: %v", found)
	}
	for _, s := range append(redacttest.Samples(9), redacttest.Planted(7, 300)...) {
		if s.Rule == "ipv4" || s.Rule == "ipv6" {
			continue
		}
		quoted, err := json.Marshal(s.Text)
		if err != nil {
			t.Fatal(err)
		}
		if len(secretsInPolicy(strings.Replace(text, `"Passing trouble`, string(quoted[:len(quoted)-1])+" Passing trouble", 1))) == 0 {
			t.Errorf("%s in quotes: %s", s.Rule, quoted)
		}
		found := secretsInPolicy("# one\n# " + strings.ReplaceAll(s.Text, "\n", "\n# ") + "\n" + text)
		if len(found) == 0 || strings.Contains(found[0].Message, s.Secret) || !strings.Contains(s.Text, "\n") && !strings.HasPrefix(found[0].Message, "line 2 ") {
			t.Errorf("%s: %v", s.Rule, found)
		}
	}
}
