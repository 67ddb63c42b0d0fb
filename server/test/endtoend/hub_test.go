package endtoend

import (
	"bytes"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/server/internal/app"
	"github.com/recoup-dev/recoup/server/internal/test/live"
)

// demo runs what recoup demo runs, until the test ends, and returns its address.
func demo(t *testing.T) string {
	t.Helper()
	return live.Start(t, app.Options{Demo: true}, (*app.Node).AddSamples).URL
}

// TestHub takes ten companies through the pipeline: every third fails once, every
// fifth for good. The second time nothing is reported or promoted again.
func TestHub(t *testing.T) {
	t.Parallel()
	server := demo(t)
	for range 2 {
		var out, log bytes.Buffer
		err := run(t.Context(), []string{"-server", server, "-batch", "test"}, noEnvironment, time.Now, &out, &log)
		if err != nil {
			t.Fatalf("%v\n%s%s", err, &out, &log)
		}
		for _, want := range []string{
			"CO-test-0001 has the number 12-0001", "CO-test-0001 promoted to outreach",
			"CO-test-0003 promoted to outreach", "CO-test-0005 blocked: VALIDATION_ERROR is PARKED, owned by dol-filings-team",
			"8 of 10 promoted, 2 wait for a person",
		} {
			if !strings.Contains(out.String(), want+"\n") {
				t.Errorf("%q is missing in\n%s", want, &out)
			}
		}
	}
}

func noEnvironment(string) string { return "" }

func TestWrongUsage(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"-server", "nowhere"}, {"-companies", "many"}} {
		if err := run(t.Context(), args, noEnvironment, time.Now, io.Discard, io.Discard); err == nil {
			t.Errorf("%v is taken", args)
		}
	}
}

// TestREADME compares the output that README.md shows with that of a run.
func TestREADME(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, shown, _ := strings.Cut(string(page), "```text\n")
	shown, _, found := strings.Cut(shown, "```")
	if !found {
		t.Fatal("the page shows no output")
	}
	var out bytes.Buffer
	if err := run(t.Context(), []string{"-server", demo(t), "-batch", "1"}, noEnvironment, time.Now, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	if got, want := lines(out.String()), lines(shown); !slices.Equal(got, want) {
		t.Errorf("it prints\n%sand the page shows\n%s", strings.Join(got, ""), strings.Join(want, ""))
	}
}

// lines returns what was printed of the run's own companies, sorted: retries come
// in any order, and the worker may be given errors of the demo too.
func lines(s string) []string {
	return slices.DeleteFunc(slices.Sorted(strings.Lines(s)), func(line string) bool { return strings.HasPrefix(line, "CO-2026") })
}
