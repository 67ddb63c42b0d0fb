package command_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/cli/clitest"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/internal/cli/stream"
)

// id is the id whose end is given.
func id(t *testing.T, end string) recoup.ID {
	t.Helper()
	const whole = "0198c0de-0000-7000-8000-000000000000"
	i, err := recoup.ParseID(whole[:len(whole)-len(end)] + end)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func sampleTable(t *testing.T, s command.Streams) *command.Table {
	t.Helper()
	table := command.NewTable(s, command.Column{Name: "ID"}, command.Column{Name: "TABLE", Drop: 1}, command.Column{Name: "STATE", State: true},
		command.Column{Name: "TRIES", Drop: 2}, command.Column{Name: "REASON", Wrap: true})
	table.Add(id(t, "1a2b3c"), "outreach.company_target_errors", recoup.RetryPending, 12, "the server did not answer at all, and PARKED is a word of the reason")
	table.Add(id(t, "2a2b3c"), "x", recoup.Parked, 3, "")
	return table
}

func TestTableInAFile(t *testing.T) {
	t.Parallel()
	const want = `ID                                    TABLE                           STATE          TRIES  REASON
0198c0de-0000-7000-8000-0000001a2b3c  outreach.company_target_errors  RETRY_PENDING     12  the server did not answer at all, and PARKED is a word of the reason
0198c0de-0000-7000-8000-0000002a2b3c  x                               PARKED             3  -
`
	if got := sampleTable(t, command.Streams{}).String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// On a narrow terminal text wraps, and columns give way by their priority; what is left
// is whole. States have colours unless somebody does not want them, and nothing else
// does.
func TestTableOnATerminal(t *testing.T) {
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "1")
	const want = `ID      STATE          TRIES  REASON
1a2b3c  RETRY_PENDING     12  the server did not answer at all, and
                              PARKED is a word of the reason
2a2b3c  PARKED             3  -
`
	if got := sampleTable(t, command.Streams{Width: 70}).String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	const below = `ID      STATE          TRIES
1a2b3c  RETRY_PENDING     12
    reason: the server did not
    answer at all, and PARKED
    is a word of the reason
2a2b3c  PARKED             3
`
	if got := sampleTable(t, command.Streams{Width: 30}).String(); got != below {
		t.Errorf("got\n%swant\n%s", got, below)
	}
	for width := 24; width < 160; width++ {
		text := sampleTable(t, command.Streams{Width: width}).String()
		for line := range strings.Lines(text) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("a line of %d on a terminal of %d: %q", n, width, line)
			}
		}
		if !strings.Contains(strings.Join(strings.Fields(text), " "), "RETRY_PENDING") || !strings.Contains(text, "reason\n") {
			t.Errorf("cut on a terminal of %d:\n%s", width, text)
		}
	}
	t.Setenv("NO_COLOR", "")
	colored := sampleTable(t, command.Streams{Width: 70}).String()
	if !strings.Contains(colored, "\x1b[33mRETRY_PENDING\x1b[0m     12") || !strings.Contains(colored, "\x1b[35mPARKED\x1b[0m             3") || strings.Count(colored, "\x1b[0m") != 2 {
		t.Errorf("%q", colored)
	}
	if plain := sampleTable(t, command.Streams{}).String(); strings.Contains(plain, "\x1b") {
		t.Errorf("colours in a file: %q", plain)
	}
	t.Setenv("TERM", "dumb")
	if plain := sampleTable(t, command.Streams{Width: 70}).String(); plain != want {
		t.Errorf("%q", plain)
	}
}

// Ids are as long as it takes to tell them apart, six characters at least, and whole if
// their last group does not.
func TestShortIDs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ids  []string
		want string
	}{
		{[]string{"aaaaaa"}, "aaaaaa"},
		{[]string{"aaaaaa", "aaaaaa"}, "aaaaaa"},
		{[]string{"1aaaaaa", "2aaaaaa", "bbbbbb"}, "1aaaaaa"},
		{[]string{"8001-000000aaaaaa", "8002-000000aaaaaa"}, "0198c0de-0000-7000-8001-000000aaaaaa"},
	} {
		table := command.NewTable(command.Streams{Width: 80}, command.Column{Name: "ID"})
		for _, end := range c.ids {
			table.Add(id(t, end))
		}
		if got := strings.Split(table.String(), "\n")[1]; got != c.want {
			t.Errorf("%v: the first is %s, want %s", c.ids, got, c.want)
		}
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
		if got := stream.Age(d); got != want {
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

// A dead letter among what blocks an entity is marked as one, at every width.
func TestGateTableMarksADeadLetter(t *testing.T) {
	t.Parallel()
	gate := recoup.PromotionStatus{EntityID: "CO-1", Blocked: true, Blockers: []recoup.Blocker{
		{Table: "pipeline.dead_letters", Code: "NETWORK_TIMEOUT", State: recoup.Parked, Owner: "platform-team", DeadLetter: true},
		{Table: "outreach.dol_errors", Code: "NETWORK_TIMEOUT", State: recoup.Parked, Owner: "dol-team"},
		{Table: "pipeline.dead_letters", Owner: "platform-team", DeadLetter: true}, // of a hub that the key is not for
	}}
	for _, width := range []int{60, 80, 200} {
		screen := command.GateTable(command.Streams{Width: width}, gate).String()
		if strings.Count(screen, "dead letter") != 2 || !strings.Contains(screen, "PARKED dead letter") {
			t.Errorf("at %d columns:\n%s", width, screen)
		}
	}
}
