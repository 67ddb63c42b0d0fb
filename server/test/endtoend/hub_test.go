package endtoend

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/app"
	"github.com/recoup-dev/recoup/server/internal/test/live"
	"github.com/recoup-dev/recoup/server/test/program"
)

// builtHub builds examples/hub once for all tests of this process. The example imports the SDK
// only, so the tests that need a node are here.
var builtHub = sync.OnceValues(func() (string, error) {
	folder, err := program.Folder()
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, "hub")
	cmd := exec.Command("go", "build", "-o", path, "./examples/hub")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the example: %w\n%s", err, out)
	}
	return path, nil
})

// hub runs examples/hub and returns what it prints.
func hub(t *testing.T, args ...string) string {
	t.Helper()
	path, err := builtHub()
	if err != nil {
		t.Fatal(err)
	}
	var out, log bytes.Buffer
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Stdout, cmd.Stderr = &out, &log
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s%s", err, &out, &log)
	}
	return out.String()
}

// demoNode runs what recoup demo runs, until the test ends, and returns its address.
func demoNode(t *testing.T) string {
	t.Helper()
	return live.Start(t, app.Options{Demo: true}, (*app.Node).AddSamples).URL
}

// TestHub takes ten companies through the pipeline: every third fails once, every
// fifth for good. The second time nothing is reported or promoted again.
func TestHub(t *testing.T) {
	t.Parallel()
	server := demoNode(t)
	for range 2 {
		out := hub(t, "-server", server, "-batch", "test")
		for _, want := range []string{
			"CO-test-0001 has the number 12-0001", "CO-test-0001 promoted to outreach",
			"CO-test-0003 promoted to outreach", "CO-test-0005 blocked: VALIDATION_ERROR is PARKED, owned by dol-filings-team",
			"8 of 10 promoted, 2 wait for a person",
		} {
			if !strings.Contains(out, want+"\n") {
				t.Errorf("%q is missing in\n%s", want, out)
			}
		}
	}
}

// TestHubREADME compares the output that README.md of the example shows with that of a run.
func TestHubREADME(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join(root, "examples/hub/README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, shown, _ := strings.Cut(string(page), "```text\n")
	shown, _, found := strings.Cut(shown, "```")
	if !found {
		t.Fatal("the page shows no output")
	}
	out := hub(t, "-server", demoNode(t), "-batch", "1")
	if got, want := hubLines(out), hubLines(shown); !slices.Equal(got, want) {
		t.Errorf("it prints\n%sand the page shows\n%s", strings.Join(got, ""), strings.Join(want, ""))
	}
}

// hubLines returns what was printed of the run's own companies, sorted: retries come
// in any order, and the worker may be given errors of the demo too.
func hubLines(s string) []string {
	return slices.DeleteFunc(slices.Sorted(strings.Lines(s)), func(line string) bool { return strings.HasPrefix(line, "CO-2026") })
}
