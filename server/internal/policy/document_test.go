package policy_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/server/internal/policy"
)

// TestHostileFiles wants a short answer to files that are made to be long or
// deep, before the parser has to suffer them.
func TestHostileFiles(t *testing.T) {
	for name, row := range map[string]struct{ data, want string }{
		"too large":         {strings.Repeat("# comment\n", 30_000), "f:1:1: the file has 300000 bytes, expected at most 262144"},
		"too many tokens":   {strings.Repeat("a: b\n", 20_000), "f:6667:4: the file goes on after 20000 words and marks, expected fewer"},
		"brackets":          {strings.Repeat("[", 100_000), "the file goes on after 20000"},
		"a few brackets":    {strings.Repeat("[", 1000), "f:1:13: nested too deeply, expected at most 12 levels"},
		"braces":            {strings.Repeat("{a: ", 1000), "nested too deeply"},
		"dashes":            {strings.Repeat("- ", 1000), "nested too deeply"},
		"explicit keys":     {strings.Repeat("? ", 1000), "an explicit key (?) is not accepted"},
		"only null":         {"null\n", "f:1:1: the file is empty, expected a policy"},
		"only a text":       {"hello\n", "f:1:1: the policy is \"hello\", expected a Recoup policy"},
		"control character": {"version: \x00\n", "version is"},
	} {
		_, err := policy.Load("f", []byte(row.data), nil)
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %.300v\nwant %s", name, err, row.want)
		}
	}
}

// TestByteOrderMark accepts what some editors put before a text.
func TestByteOrderMark(t *testing.T) {
	if _, err := policy.Load("f", append([]byte("\ufeff"), policy.DefaultFile()...), nil); err != nil {
		t.Error(err)
	}
}

// TestMultiline accepts the other ways in which YAML writes a text.
func TestMultiline(t *testing.T) {
	text := string(read(t, "testdata/small.yaml"))
	text = strings.Replace(text, "{crm.old_errors: Remove it}", "\n  crm.old_errors: |\n    Remove it\n    some day\n  \"crm.older_errors\": 'Remove it'", 1)
	p, err := policy.Load("f", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(p.DeadTables); got != "[{crm.old_errors Remove it\nsome day} {crm.older_errors Remove it}]" {
		t.Errorf("dead tables are %s", got)
	}
}

func TestDurations(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0s": 0, "90s": 90 * time.Second, "15m": 15 * time.Minute, "24h": 24 * time.Hour, "7d": 7 * day,
		"365d": 365 * day, "100ms": 100 * time.Millisecond, "99999d": 99999 * day,
	} {
		if got, err := policy.ParseDuration(text); got != want || err != nil {
			t.Errorf("%s is %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "d", "7", "7 d", "-7d", "+7d", "1.5h", "1h30m", "7D", "1y", "100000d", "7dd", "0x7d", "٣d"} {
		if got, err := policy.ParseDuration(text); err == nil {
			t.Errorf("%q is accepted as %v", text, got)
		}
	}
	for d, want := range map[time.Duration]string{
		0: "0s", 90 * time.Second: "90s", 5 * time.Minute: "5m", 24 * time.Hour: "24h", 48 * time.Hour: "48h",
		7 * day: "7d", 100 * time.Millisecond: "100ms", 36 * time.Hour: "36h", time.Microsecond: "1µs",
	} {
		if got := policy.FormatDuration(d); got != want {
			t.Errorf("%v is written %s, want %s", d, got, want)
		}
	}
}
