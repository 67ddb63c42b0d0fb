package server_test

import (
	"path/filepath"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/app"
	"github.com/recoup-dev/recoup/server/internal/cli/clitest"
)

// A demo runs with a policy that has none of its tables.
func TestDemoOfAnotherPolicy(t *testing.T) {
	t.Parallel()
	node, err := app.Open(t.Context(), app.Options{
		Database: "sqlite:" + filepath.Join(t.TempDir(), "demo.db"), Listen: "127.0.0.1:0", Demo: true, Policy: "../../policy/testdata/small.yaml",
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := node.AddSamples(t.Context()); err != nil {
		t.Error(err)
	}
	if err := node.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// The demo has something to show for each row of the README.
func TestDemoTranscript(t *testing.T) {
	t.Parallel()
	n := clitest.Start(t, true)
	clitest.Golden(t, "demo.golden", n.Transcript(
		[]string{"dead-letters", "groups"},
		[]string{"dead-letters", "list"},
		[]string{"dead-letters", "replay", "--pipeline", "newsletter", "--dry-run"},
		[]string{"gate-zero", "status"},
		[]string{"gate-zero", "eligible"},
		[]string{"gate-zero", "exhausted"},
	))
}

// What is not there is looked for in the right list.
func TestNotFoundNamesTheList(t *testing.T) {
	t.Parallel()
	n := clitest.Start(t, false)
	const id = "0198c0de-0000-7000-8000-000000000001"
	clitest.Golden(t, "not_found.golden", n.Transcript(
		[]string{"errors", "show", id},
		[]string{"dead-letters", "show", id},
		[]string{"replays", "show", id},
		[]string{"gate-zero", "status", "no_such_batch"},
		[]string{"jobs", "run", "no-such-job"},
		[]string{"channels", "test", "chat"},
		[]string{"work", "unpause", "--pipeline", "criticizer"},
		[]string{"keys", "payload", "wrap"},
	))
}
