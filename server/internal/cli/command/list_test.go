package command_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/server/internal/cli/clitest"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// pages is a server with three pages of one silence each.
func pages(t *testing.T) string {
	t.Helper()
	return clitest.Stub(t, func(w http.ResponseWriter, r *http.Request) {
		at := r.URL.Query().Get("cursor")
		next := map[string]string{"": "b", "b": "c"}[at]
		page := wire.SilencePage{Silences: []wire.Silence{{Rule: "rule-" + at, Reason: "=1+1", Until: clitest.Morning.Add(time.Hour)}}, Next: next}
		if err := json.NewEncoder(w).Encode(page); err != nil {
			t.Error(err)
		}
	}).URL
}

// Every list has pages, and every form of output, by the same flags.
func TestLists(t *testing.T) {
	t.Parallel()
	server := pages(t)
	for args, want := range map[string]string{
		"":                "1 silence; there are more: --limit N or --all lists them.",
		"--cursor b":      "rule-b",
		"--cursor c":      "1 silence.",
		"--all":           "3 silences.",
		"-o csv":          "id,silenced,until,by,reason\n,rule-,",
		"-o csv --all":    ",'=1+1\n",
		"-o yaml":         "next: b\nsilences:\n",
		"-o json --all":   `"rule": "rule-c"`,
		"--json":          `"next": "b"`,
		"-o wide":         "SILENCED",
		"--limit 0":       "--limit is 0: expected a number from 1 to 1000; --all lists every page",
		"-o xml":          `unknown output format "xml": expected one of table, wide, json, yaml, csv`,
		"-o yaml --json":  "--json and -o yaml are given: expected one of the two",
		"--cursor c -o x": "unknown output format",
		"-o csv --utc":    "2026-02-05T09:00:00Z",
		"--utc":           "2026-02-05 09:00:00",
		"--sort day":      `unknown column of --sort "day": expected one of id, silenced, until, by, reason`,
		"--sort -":        `--sort "-" names no column: expected one of id,`,
		"--watch soon":    `--watch "soon" is not possible: expected a duration`,
	} {
		out, stderr, status := clitest.Run(t, append([]string{"alerts", "silences", "--server", server}, strings.Fields(args)...)...)
		if !strings.Contains(out+stderr, want) || (status == command.ExitUsage) != strings.Contains(want, "expected") && args != "--cursor c -o x" {
			t.Errorf("%q: status %d, printed\n%s%s", args, status, out, stderr)
		}
	}
}

// A list is sorted by what a column means: times by time, numbers by number, and what is
// missing comes last in either direction; JSON has the same order.
func TestSort(t *testing.T) {
	t.Parallel()
	at := clitest.Morning
	list := []wire.Notice{
		{To: "b", Attempts: 2, CreatedAt: at.Add(-90 * time.Minute), LastError: "x"}, {To: "c", Attempts: 10, CreatedAt: at.Add(-30 * time.Hour)},
		{To: "a", Attempts: 1, CreatedAt: at.Add(-2 * time.Minute), LastError: "y"},
	}
	server := clitest.Stub(t, func(w http.ResponseWriter, _ *http.Request) {
		if err := json.NewEncoder(w).Encode(wire.NoticePage{Notices: list}); err != nil {
			t.Error(err)
		}
	}).URL
	for by, want := range map[string]string{
		"": "bca", "to": "abc", "-TO": "cba", "tries": "abc", "-tries": "cba", "created": "cba", "-created": "abc", "last-error": "bac", "-last_error": "abc",
	} {
		out, stderr, _ := clitest.Run(t, "notifications", "list", "--server", server, "--sort", by, "--json")
		var page wire.NoticePage
		clitest.Parse(t, out, &page)
		got := ""
		for i := range page.Notices {
			got += page.Notices[i].To
		}
		if got != want {
			t.Errorf("--sort %q: %s, want %s\n%s", by, got, want, stderr)
		}
	}
}

// A list that is watched is drawn again on a cleared screen, through failures of the
// server, until it is interrupted. In a pipe nothing is cleared.
func TestWatch(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	server := clitest.Stub(t, func(w http.ResponseWriter, _ *http.Request) {
		n := asked.Add(1)
		if n%3 == 2 {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		if err := json.NewEncoder(w).Encode(wire.SilencePage{Silences: []wire.Silence{{Rule: fmt.Sprintf("rule-%d", n)}}}); err != nil {
			t.Error(err)
		}
	}).URL
	for _, width := range []int{80, 0} {
		asked.Store(0)
		screens := 0
		r := clitest.At(t, server).As(command.Streams{Width: width, Sleep: func(_ context.Context, d time.Duration) error {
			if screens++; screens == 3 || d != 10*time.Second {
				return context.Canceled
			}
			return nil
		}}, "", "alerts", "silences", "--watch", "10s")
		cleared := strings.Count(r.Out, "\x1b[H\x1b[2J")
		if r.Status != command.ExitDone || !strings.Contains(r.Out, "rule-1") || !strings.Contains(r.Out, "rule-3") || !strings.Contains(r.Err, "The next try is in 10s") ||
			cleared != map[int]int{80: 2, 0: 0}[width] {
			t.Errorf("on a width of %d: status %d, %d cleared\n%s%s", width, r.Status, cleared, r.Out, r.Err)
		}
	}
}

// Help is wrapped by paragraphs; what is indented stays.
func TestWrapHelp(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 20)
	got := command.WrapHelp(long + "\nmore\n\n  an   example\n\nend")
	want := strings.TrimSpace(strings.Repeat("word ", 16)) + "\n" + strings.Repeat("word ", 4) + "more\n\n  an   example\n\nend"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
