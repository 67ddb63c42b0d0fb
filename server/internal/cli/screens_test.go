package cli_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/goccy/go-yaml"

	"github.com/recoup-dev/recoup/server/internal/cli/clitest"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// screens are the commands that list something, with their arguments; some of them are
// tables that are part of a page.
var screens = []string{
	"bus quarantine list",
	"errors list", "errors list --parked", "errors list --archived --table outreach.dol_errors", "errors list --utc",
	"errors history 019c2a00-8800-7b22-9d02-b1c2d3e4f506", "promotion check CO-20260204-000131",
	"groups list", "views list",
	"dead-letters list", "dead-letters groups", "operations list", "replays list", "replays show 019c2b00-1c00-7a11-8c01-aabbccddee01 --items FAILED", "work paused",
	"alerts list", "alerts silences", "providers list", "notifications list", "channels list", "receivers list",
	"events", "top", "audit", "keys list", "keys tenant list", "keys payload list", "jobs list", "workers",
	"gate-zero eligible", "gate-zero exhausted", "gate-zero status", "gate-zero status 2026_trial",
	"codes list", "policy show",
}

// scripted is a server that answers with what a file says.
func scripted(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("testdata/screens.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var answers map[string]any
	if err := yaml.Unmarshal(text, &answers); err != nil {
		t.Fatal(err)
	}
	answers["/v1/policy"] = wire.Policy{Version: "1.0.0", Text: string(policy.DefaultFile())}
	return clitest.Stub(t, func(w http.ResponseWriter, r *http.Request) {
		answer, ok := answers[r.URL.Path]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}).URL
}

// TestScreens compares every list with how it looked before, on three terminals: no line
// is wider than the terminal, and nothing is cut. A list that it does not know fails it.
func TestScreens(t *testing.T) {
	t.Setenv("NO_COLOR", "1")
	server := scripted(t)
	for _, width := range []int{80, 120, 200} {
		var all strings.Builder
		for _, line := range screens {
			r := clitest.At(t, server).As(command.Streams{Width: width}, "", strings.Fields(line)...)
			if r.Status != command.ExitDone && !strings.HasPrefix(line, "promotion check ") {
				t.Fatalf("%s ends with %d: %s", line, r.Status, r.Err)
			}
			shown := strings.ReplaceAll(r.Out+r.Err, server, "http://127.0.0.1:8080")
			for text := range strings.Lines(shown) {
				if n := utf8.RuneCountInString(strings.TrimSuffix(text, "\n")); n > width {
					t.Errorf("%s on a terminal of %d: a line of %d: %q", line, width, n, text)
				}
			}
			if strings.Contains(shown, "\x1b") {
				t.Errorf("%s has colours, which NO_COLOR forbids", line)
			}
			fmt.Fprintf(&all, "$ recoup %s\n%s\n", line, shown)
		}
		clitest.Golden(t, fmt.Sprintf("screens_%d.golden", width), all.String())
	}
}

// TestEveryListIsAScreen proves that no list is left out above.
func TestEveryListIsAScreen(t *testing.T) {
	for _, path := range everyCommand() {
		out, _, _ := clitest.Run(t, append(strings.Fields(path), "--help")...)
		if strings.Contains(out, "--sort COLUMN") && !slices.ContainsFunc(screens, func(s string) bool {
			return s == strings.TrimSpace(path) || strings.HasPrefix(s, strings.TrimSpace(path)+" ")
		}) {
			t.Errorf("'recoup%s' is a list without a screen", path)
		}
	}
}
