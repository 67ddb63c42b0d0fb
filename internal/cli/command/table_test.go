package command_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"recoup/internal/cli/clitest"
	"recoup/internal/cli/command"
)

func sampleTable(s command.Streams) *command.Table {
	t := command.NewTable(s, "ID", "TABLE", "STATE", "REASON").Drop("TABLE")
	t.Add("0198c0de-0000-7000-8000-000000000001", "outreach.company_target_errors", "RETRY_PENDING", "the server did not answer at all")
	t.Add("0198c0de-0000-7000-8000-000000000002", "x", "PARKED", "")
	return t
}

func TestTableInAFile(t *testing.T) {
	t.Parallel()
	const want = `ID                                    TABLE                           STATE          REASON
0198c0de-0000-7000-8000-000000000001  outreach.company_target_errors  RETRY_PENDING  the server did not answer at all
0198c0de-0000-7000-8000-000000000002  x                               PARKED         -
`
	if got := sampleTable(command.Streams{}).String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// On a narrow terminal columns give way in their order, what is left is whole, and
// the last one goes on below itself. States have colours unless somebody does not
// want them.
func TestTableOnATerminal(t *testing.T) {
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "1")
	const want = `ID                                    STATE          REASON
0198c0de-0000-7000-8000-000000000001  RETRY_PENDING  the server did not
                                                     answer at all
0198c0de-0000-7000-8000-000000000002  PARKED         -
`
	if got := sampleTable(command.Streams{Width: 76}).String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	for width := 70; width < 140; width++ {
		text := sampleTable(command.Streams{Width: width}).String()
		for line := range strings.Lines(text) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("a line of %d on a terminal of %d: %q", n, width, line)
			}
		}
		if !strings.Contains(strings.Join(strings.Fields(text), " "), "at all") || strings.Contains(text, "…") {
			t.Errorf("cut on a terminal of %d:\n%s", width, text)
		}
	}
	t.Setenv("NO_COLOR", "")
	colored := sampleTable(command.Streams{Width: 76}).String()
	if !strings.Contains(colored, "\x1b[33mRETRY_PENDING\x1b[0m  the") || !strings.Contains(colored, "\x1b[35mPARKED\x1b[0m         -") {
		t.Errorf("%q", colored)
	}
	if plain := sampleTable(command.Streams{}).String(); strings.Contains(plain, "\x1b") {
		t.Errorf("colours in a file: %q", plain)
	}
	t.Setenv("TERM", "dumb")
	if plain := sampleTable(command.Streams{Width: 76}).String(); plain != want {
		t.Errorf("%q", plain)
	}
}

// Nothing that a stranger has reported steers the reader's terminal.
func TestPrintable(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"plain text, ünïcode ✓": "plain text, ünïcode ✓",
		"a\x1b[31mred\x07":      "a [31mred ",
		"two\nlines\r\tand":     "two lines  and",
		"abc\u202edef\u200b":    "abc def ",
		"\xff":                  "\ufffd",
	} {
		if got := command.Printable(given); got != want {
			t.Errorf("%q: %q, want %q", given, got, want)
		}
	}
}

func TestAges(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 0: "0s", 59 * time.Second: "59s", time.Minute: "1m", 59*time.Minute + 59*time.Second: "59m",
		time.Hour: "1h", 47*time.Hour + 59*time.Minute: "47h", 48 * time.Hour: "2d", 400 * 24 * time.Hour: "400d",
	} {
		if got := command.Age(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
	s := command.Streams{Now: func() time.Time { return clitest.Morning }}
	for d, want := range map[time.Duration]string{
		30*24*time.Hour - time.Second: "in 30d", 15*time.Minute - 300*time.Millisecond: "in 15m",
		-3 * time.Hour: "3h ago", 0: "0s ago",
	} {
		if got := s.Relative(clitest.Morning.Add(d)); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}

func TestInstants(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]time.Time{
		"":                          {},
		"48h":                       clitest.Morning.Add(-48 * time.Hour),
		"7d":                        clitest.Morning.Add(-7 * 24 * time.Hour),
		"2026-02-01":                time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC),
		"2026-02-01 14:30":          time.Date(2026, 2, 1, 14, 30, 0, 0, time.UTC),
		"2026-02-01T14:30:05":       time.Date(2026, 2, 1, 14, 30, 5, 0, time.UTC),
		"2026-02-01T14:30:05+02:00": time.Date(2026, 2, 1, 12, 30, 5, 0, time.UTC),
	} {
		if got, err := command.ParseInstant("from", given, clitest.Morning); err != nil || !got.Equal(want) {
			t.Errorf("%q: %v, %v, want %v", given, got, err, want)
		}
	}
	for _, bad := range []string{"now", "48", "h", "-2h", "2026-13-01", "14:30"} {
		if got, err := command.ParseInstant("from", bad, clitest.Morning); err == nil {
			t.Errorf("%q: %v", bad, got)
		}
	}
}
