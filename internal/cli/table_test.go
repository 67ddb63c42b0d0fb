package cli

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func sampleTable(s Streams) *table {
	t := newTable(s, "ID", "TABLE", "STATE", "WHY")
	t.add("0198c0de-0000-7000-8000-000000000001", "outreach.company_target_errors", "RETRY_PENDING", "the server did not answer at all")
	t.add("0198c0de-0000-7000-8000-000000000002", "x", "PARKED", "")
	return t
}

func TestTableInAFile(t *testing.T) {
	t.Parallel()
	const want = `ID                                    TABLE                           STATE          WHY
0198c0de-0000-7000-8000-000000000001  outreach.company_target_errors  RETRY_PENDING  the server did not answer at all
0198c0de-0000-7000-8000-000000000002  x                               PARKED         -
`
	if got := sampleTable(Streams{}).String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// A column whose name says that it is whole elsewhere may hold text.
func TestProseIsCut(t *testing.T) {
	t.Parallel()
	for want, prose := range map[string]string{"ID     ERROR\n12345  the channel refused the message\n": "", "ID     ERROR\n12345  the channel…\n": "ERROR"} {
		table := newTable(Streams{Width: 19}, "ID", "ERROR").prose(prose)
		table.add("12345", "the channel refused the message")
		if got := table.String(); got != want {
			t.Errorf("got\n%swant\n%s", got, want)
		}
	}
}

// On a terminal no line is longer than it is wide, ids and states are whole, and
// states have colours unless somebody does not want them.
func TestTableOnATerminal(t *testing.T) {
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "1")
	const want = `ID                                    TABLE       STATE          WHY
0198c0de-0000-7000-8000-000000000001  outre…rors  RETRY_PENDING  the server…
0198c0de-0000-7000-8000-000000000002  x           PARKED         -
`
	if got := sampleTable(Streams{Width: 76}).String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	for width := 67; width < 140; width++ {
		for line := range strings.Lines(sampleTable(Streams{Width: width}).String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("a line of %d on a terminal of %d: %q", n, width, line)
			}
		}
	}
	t.Setenv("NO_COLOR", "")
	colored := sampleTable(Streams{Width: 76}).String()
	if !strings.Contains(colored, "\x1b[33mRETRY_PENDING\x1b[0m  the") || !strings.Contains(colored, "\x1b[35mPARKED\x1b[0m         -") {
		t.Errorf("%q", colored)
	}
	if plain := sampleTable(Streams{}).String(); strings.Contains(plain, "\x1b") {
		t.Errorf("colours in a file: %q", plain)
	}
	t.Setenv("TERM", "dumb")
	if plain := sampleTable(Streams{Width: 76}).String(); plain != want {
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
		if got := printable(given); got != want {
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
		if got := age(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
	s := Streams{Now: func() time.Time { return morning }}
	for d, want := range map[time.Duration]string{
		30*24*time.Hour - time.Second: "in 30d", 15*time.Minute - 300*time.Millisecond: "in 15m",
		-3 * time.Hour: "3h ago", 0: "0s ago",
	} {
		if got := s.relative(morning.Add(d)); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}

func TestInstants(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]time.Time{
		"":                          {},
		"48h":                       morning.Add(-48 * time.Hour),
		"7d":                        morning.Add(-7 * 24 * time.Hour),
		"2026-02-01":                time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC),
		"2026-02-01 14:30":          time.Date(2026, 2, 1, 14, 30, 0, 0, time.UTC),
		"2026-02-01T14:30:05":       time.Date(2026, 2, 1, 14, 30, 5, 0, time.UTC),
		"2026-02-01T14:30:05+02:00": time.Date(2026, 2, 1, 12, 30, 5, 0, time.UTC),
	} {
		if got, err := parseInstant("from", given, morning); err != nil || !got.Equal(want) {
			t.Errorf("%q: %v, %v, want %v", given, got, err, want)
		}
	}
	for _, bad := range []string{"now", "48", "h", "-2h", "2026-13-01", "14:30"} {
		if got, err := parseInstant("from", bad, morning); err == nil {
			t.Errorf("%q: %v", bad, got)
		}
	}
}
