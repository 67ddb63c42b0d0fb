package command_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"recoup"
	"recoup/client"
	"recoup/internal/cli/clitest"
	"recoup/internal/cli/command"
)

// pages is a server with three pages of one silence each.
func pages(t *testing.T) string {
	t.Helper()
	return clitest.Stub(t, func(w http.ResponseWriter, r *http.Request) {
		at := r.URL.Query().Get("cursor")
		next := map[string]string{"": "b", "b": "c"}[at]
		page := client.SilencePage{Silences: []recoup.Silence{{Rule: "rule-" + at, Reason: "=1+1"}}, Next: next}
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
	} {
		out, stderr, status := clitest.Run(t, append([]string{"alerts", "silences", "--server", server}, strings.Fields(args)...)...)
		if !strings.Contains(out+stderr, want) || (status == command.ExitUsage) != strings.Contains(want, "expected") && args != "--cursor c -o x" {
			t.Errorf("%q: status %d, printed\n%s%s", args, status, out, stderr)
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
