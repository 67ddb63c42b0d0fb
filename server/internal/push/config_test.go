package push_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/server/internal/gatezero"
	"github.com/recoup-dev/recoup/server/internal/push"
)

// A receiver is set up completely or not at all, and what is wrong is said without
// secrets.
func TestConfig(t *testing.T) {
	t.Parallel()
	good := map[string]string{"url": "https://render.example/hunter2", "secret": "hunter2hunter2hunter2"}
	for _, row := range []struct {
		name   string
		kind   string
		values string // name=value; name= takes it away
		want   string // empty: it is good
	}{
		{"render", push.Work, "lanes=criticizer/fetch", ""},
		{"render", push.Work, "lanes=a/b, c.d:e_f-g/h;concurrency=100;timeout=10m;lease=11m;public-only=true", ""},
		{"verify", gatezero.ReceiverKind, "", ""},
		{"verify", gatezero.ReceiverKind, "batch=2026-02;timeout=1s", ""},
		{"local", gatezero.ReceiverKind, "url=http://127.0.0.1:1/x", ""},

		{"Render", gatezero.ReceiverKind, "", "is no name of a receiver"},
		{"", gatezero.ReceiverKind, "", "is no name of a receiver"},
		{"x", "", "", "receiver x: kind must be one of [work gate_zero]"},
		{"x", "slack", "", "receiver x: kind must be one of [work gate_zero]"},
		{"x", push.Work, "", "receiver x: lanes is missing: which work it does"},
		{"x", push.Work, "lanes=criticizer", "receiver x: lanes must be of the form PIPELINE/STAGE"},
		{"x", push.Work, "lanes=a/b,,c/d", "receiver x: lanes must be of the form PIPELINE/STAGE"},
		{"x", push.Work, "lanes=a/b/c", "receiver x: lanes must be of the form PIPELINE/STAGE"},
		{"x", push.Work, "lanes=a/b;batch=b1", "receiver x: batch is nothing that a receiver of the kind work has"},
		{"x", gatezero.ReceiverKind, "lanes=a/b", "receiver x: lanes is nothing that a receiver of the kind gate_zero has"},
		{"x", gatezero.ReceiverKind, "url=", "receiver x: url is missing"},
		{"x", gatezero.ReceiverKind, "secret=", "receiver x: secret is missing"},
		{"x", gatezero.ReceiverKind, "secret=hunter2", "receiver x: secret must have 16 characters or more"},
		{"x", gatezero.ReceiverKind, "url=http://render.example/hunter2", "receiver x: url must begin with https://"},
		{"x", gatezero.ReceiverKind, "url=https://u:hunter2@render.example/", "receiver x: url must have no user"},
		{"x", gatezero.ReceiverKind, "concurrency=0", "receiver x: concurrency must be a whole number from 1 to 100"},
		{"x", gatezero.ReceiverKind, "concurrency=101", "receiver x: concurrency must be a whole number from 1 to 100"},
		{"x", gatezero.ReceiverKind, "timeout=0s", "receiver x: timeout must be a duration"},
		{"x", gatezero.ReceiverKind, "timeout=30", "receiver x: timeout must be a duration"},
		{"x", gatezero.ReceiverKind, "timeout=1h", "receiver x: timeout must be a duration"},
		{"x", gatezero.ReceiverKind, "lease=44s", "receiver x: lease must be at least 45s"},
		{"x", gatezero.ReceiverKind, "lease=61m", "receiver x: lease must be a duration"},
		{"x", gatezero.ReceiverKind, "public-only=yes", "receiver x: public-only must be true or false"},
	} {
		values := maps.Clone(good)
		for pair := range strings.SplitSeq(row.values, ";") {
			if name, value, ok := strings.Cut(pair, "="); ok {
				values[name] = value
			}
		}
		err := push.Config{Name: row.name, Kind: row.kind, Values: values}.Check([]push.Kind{push.WorkKind(), gatezero.Receivers()})
		text := ""
		if err != nil {
			text = err.Error()
		}
		if (row.want == "") != (err == nil) || !strings.Contains(text, row.want) || strings.Contains(text, "hunter2") {
			t.Errorf("%s %s %s: got %q, want %q", row.name, row.kind, row.values, text, row.want)
		}
	}
}

// No lease is longer than the policy allows, and so no time-out is.
func TestLeaseBound(t *testing.T) {
	t.Parallel()
	for timeout, want := range map[string]string{
		"14m45s": "", "14m46s": "receiver x: its lease of 15m1s is longer than the policy allows, which is 15m0s: timeout may be 14m45s at most",
	} {
		err := push.Config{Name: "x", Kind: push.Work, Values: map[string]string{"timeout": timeout}}.CheckLease(15 * time.Minute)
		if text := ""; err != nil && err.Error() != want || err == nil && want != text {
			t.Errorf("%s: %v", timeout, err)
		}
	}
}
