package benchcli_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/cli/clitest"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/test/benchcli"
	"github.com/recoup-dev/recoup/server/test/load"
)

const table = "outreach.dol_errors"

// key makes a key of a node.
func key(n *clitest.Node, flags ...string) string {
	n.T.Helper()
	return strings.TrimSpace(n.Must(append([]string{"keys", "create", "--name", "b"}, flags...)...))
}

// run executes a command line and returns what it printed.
func run(t *testing.T, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	var out, said bytes.Buffer
	status = benchcli.Run(t.Context(), args, command.Streams{In: new(bytes.Buffer), Out: &out, Err: &said})
	return out.String(), said.String(), status
}

// clean removes from a node what runs have left.
func clean(t *testing.T, n *clitest.Node, flags ...string) string {
	t.Helper()
	out, said, status := run(t, append([]string{"clean", "--server", n.URL, "--key", n.Key}, flags...)...)
	if status != command.ExitDone {
		t.Fatalf("clean %v ends with %d: %s", flags, status, said)
	}
	return out
}

// A benchmark that could not be done, or cleaned up, is refused before anything is written.
func TestRefused(t *testing.T) {
	t.Parallel()
	n := clitest.Start(t, false)
	worker, operator, reader, hub := key(n, "--role", "worker"), key(n, "--role", "operator"), key(n, "--role", "reader"), key(n, "--role", "operator", "--hub", "dol-filings")
	n.Must("report", "--table", "people.people_errors", "--entity", "CO-1", "--code", "NETWORK_TIMEOUT")
	for _, row := range []struct {
		key, flags, want string
	}{
		{n.Key, "--table nobody.knows", `unknown error table "nobody.knows"; tables are: outreach.dol_errors, `},
		{n.Key, "--table public.shq_master_error_log", "the table public.shq_master_error_log keeps its errors for ever"},
		{n.Key, "--table people.people_errors", "the table people.people_errors has open errors that are not a benchmark's, such as "},
		{n.Key, "--table people.people_errors", ", and claims would take them: choose --table outreach.dol_errors or "},
		{reader, "--table " + table, "a key of the role reader may not do report: ingest, worker, operator or admin may"},
		{reader, "--mix events=1", "a key of the role reader may not do events"},
		{worker, "--table " + table, "a key of the role worker may not clean up: operator or admin may; use another key, or --keep"},
		{operator, "--table " + table, "a key of the role operator may not do claim: worker or admin may; leave it out of --mix"},
		{hub, "--mix gate=1", "is for the hubs dol-filings: a benchmark needs one for all hubs"},
		{"rdb_nonsense", "--mix gate=1", "INVALID_API_KEY"},
	} {
		out, said, status := run(t, append([]string{"--server", n.URL, "--key", row.key}, strings.Fields(row.flags)...)...)
		if status != command.ExitRefused || !strings.Contains(said, row.want) || out != "" {
			t.Errorf("recoup-bench %s ends with %d, and says %q: expected %q", row.flags, status, said, row.want)
		}
	}
	if left := n.IDs(); len(left) != 1 {
		t.Errorf("something was written: %v", left)
	}
}

// An error of others is not claimed and resolved because its entity begins with bench-.
func TestNamesake(t *testing.T) {
	t.Parallel()
	n := clitest.Start(t, false)
	n.Must("report", "--table", table, "--entity", "bench-press-7", "--code", "NETWORK_TIMEOUT")
	_, said, status := run(t, "--server", n.URL, "--key", n.Key, "--table", table, "--rate", "1", "--duration", "1s", "--keep")
	if status != command.ExitRefused || !strings.Contains(said, "has open errors that are not a benchmark's") {
		t.Errorf("it ends with %d, and says %q", status, said)
	}
}

// A result that could not be written to its file is not measured.
func TestOutIsCheckedFirst(t *testing.T) {
	t.Parallel()
	n := clitest.Start(t, false)
	file := filepath.Join(t.TempDir(), "none", "result.json")
	out, said, status := run(t, "--server", n.URL, "--key", n.Key, "--table", table, "--mix", "report=1", "--duration", "1s", "--keep", "--out", file)
	if status != command.ExitRefused || !strings.Contains(said, file) || out != "" {
		t.Errorf("it ends with %d, prints %q and says %q", status, out, said)
	}
	if left := n.IDs(); len(left) != 0 {
		t.Errorf("something was written: %v", left)
	}
}

// What is wrong with the flags is said before a server is asked.
func TestUsage(t *testing.T) {
	t.Setenv("RECOUP_SERVER", "http://127.0.0.1:9")
	const here = "--server http://127.0.0.1:9 "
	for flags, want := range map[string]string{
		"":                                 "--server is missing: a benchmark writes to its server, so it must be named here; $RECOUP_SERVER does not count",
		"--server recoup.example":          `--server is "recoup.example": expected a URL such as http://127.0.0.1:8080`,
		"--server https://recoup.example/": "Repeat it with --allow-host recoup.example if that server is there to be tested",
		"--server http://[::2]:8080 --allow-host ::3": `--allow-host is "::3", and the host of --server is "::2": expected the same`,
		here:                                   "--table is missing",
		here + "--mix ack=1 --table a.b":       "--mix has ack without claim",
		here + "--mix gate=x":                  `--mix: the weight of gate is "x"`,
		here + "--mix gate=1 --rate 0":         "--rate is 0: expected a number from 1 to 50000",
		here + "--mix gate=1 --clients 1001":   "--clients is 1001: expected a number from 1 to 1000",
		here + "--mix gate=1 --duration 2h":    `--duration is "2h": expected a duration up to 1h`,
		here + "--mix gate=1 --timeout 0s":     `--timeout is "0s"`,
		"clean":                                "--server is missing",
		"clean --server http://recoup.example": "--allow-host recoup.example",
		"compare a.json":                       "B.json is missing",
	} {
		out, said, status := run(t, strings.Fields(flags)...)
		if status != command.ExitUsage || !strings.Contains(said, want) || out != "" {
			t.Errorf("recoup-bench %s ends with %d, and says %q: expected %q", flags, status, said, want)
		}
	}
}

// The roles that a benchmark asks for are those of the API.
func TestRolesAreThoseOfTheAPI(t *testing.T) {
	t.Parallel()
	n := clitest.Start(t, false)
	resp, err := http.Get(n.URL + "/openapi.json") //nolint:noctx // of the test's own server
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var document struct {
		Paths map[string]map[string]struct {
			Roles []string `json:"x-roles"`
		}
	}
	if err := json.NewDecoder(resp.Body).Decode(&document); err != nil {
		t.Fatal(err)
	}
	for op, call := range map[string][2]string{
		"report": {"/v1/errors", "post"}, "gate": {"/v1/promotion/{entity}", "get"}, "events": {"/v1/events", "post"},
		"claim": {"/v1/retries/claim", "post"}, "ack": {"/v1/retries/results", "post"}, "dead-letter": {"/v1/dead-letters", "post"}, "clean": {"/v1/errors/resolve", "post"},
	} {
		want := append(slices.Clone(benchcli.Roles()[op]), "admin")
		if got := document.Paths[call[0]][call[1]].Roles; !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))) {
			t.Errorf("%s may be called by %v: here by %v", op, got, want)
		}
	}
}

// What a run has kept is removed later, of one run or of all, and nothing else is.
func TestKeptAndCleaned(t *testing.T) {
	t.Parallel()
	n := clitest.Start(t, false)
	n.Must("report", "--table", table, "--entity", "bench-mark", "--code", "NETWORK_TIMEOUT")
	var tags [2]string
	for i := range tags {
		out, said, status := run(t, "--server", n.URL, "--key", n.Key, "--table", table, "--mix", "report=1,dead-letter=1", "--rate", "20", "--duration", "1s", "--keep", "--json")
		var r struct{ Tag string }
		if clitest.Parse(t, out, &r); status != command.ExitDone || r.Tag == "" {
			t.Fatalf("it ends with %d: %s", status, said)
		}
		tags[i] = r.Tag
	}
	open := func() (first, second, others int) {
		for e, err := range n.Client().Errors.All(t.Context(), recoup.ErrorFilter{}) {
			switch {
			case err != nil:
				t.Fatal(err)
			case !e.State.Open():
			case strings.HasPrefix(e.EntityID, "bench-"+tags[0]+"-"):
				first++
			case strings.HasPrefix(e.EntityID, "bench-"+tags[1]+"-"):
				second++
			default:
				others++
			}
		}
		return first, second, others
	}
	if first, second, others := open(); first != 20 || second != 20 || others != 1 {
		t.Fatalf("%d of the first run, %d of the second, %d others", first, second, others)
	}
	clean(t, n, "--run", tags[0])
	if first, second, others := open(); first != 0 || second != 20 || others != 1 {
		t.Errorf("one run cleaned: %d of the first, %d of the second, %d others", first, second, others)
	}
	if out := clean(t, n); !strings.Contains(out, " resolved, ") {
		t.Errorf("it says %q", out)
	}
	if first, second, others := open(); first != 0 || second != 0 || others != 1 {
		t.Errorf("all runs cleaned: %d of the first, %d of the second, %d others", first, second, others)
	}
}

// shown is what a command prints on a terminal of 80 columns, no line of which is longer.
func shown(t *testing.T, args ...string) string {
	t.Helper()
	var out, said bytes.Buffer
	if status := benchcli.Run(t.Context(), args, command.Streams{In: new(bytes.Buffer), Out: &out, Err: &said, Width: 80}); status != command.ExitDone {
		t.Fatalf("%v ends with %d: %s", args, status, &said)
	}
	return narrow(t, out.String()+said.String())
}

func narrow(t *testing.T, text string) string {
	t.Helper()
	for line := range strings.Lines(text) {
		if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > 80 {
			t.Errorf("a line is too long: %q", line)
		}
	}
	return text
}

// While a server stalls no latency grows, because nothing is answered: what waits is shown.
func TestStallIsShown(t *testing.T) {
	t.Parallel()
	stalled := &load.Figures{Elapsed: 5, Planned: 500, All: load.Kind{Sent: 295, Skipped: 5}}
	line, bar := benchcli.Shown(stalled, 16, 80)
	if !strings.Contains(line, ", 184 waiting") || !strings.HasSuffix(bar, ", 184 waiting") || len(bar) > 80 {
		t.Errorf("%q, %q", line, bar)
	}
	steady := &load.Figures{Elapsed: 5, Planned: 500, All: load.Kind{Sent: 490}}
	if line, bar := benchcli.Shown(steady, 16, 80); strings.Contains(line+bar, "waiting") {
		t.Errorf("%q, %q", line, bar)
	}
}

// A result as people see it, good and bad, and two of them side by side.
func TestScreens(t *testing.T) {
	t.Setenv("NO_COLOR", "1")
	clitest.Golden(t, "good.golden", narrow(t, benchcli.Text(t, "testdata/a.json", 80)))
	clitest.Golden(t, "bad.golden", narrow(t, benchcli.Text(t, "testdata/b.json", 80)))
	clitest.Golden(t, "compare.golden", shown(t, "compare", "testdata/a.json", "testdata/b.json"))
	var same struct {
		Ratios []struct {
			Operation string
			P99       float64
			PerSecond float64 `json:"per_second"`
		}
	}
	clitest.Parse(t, shown(t, "compare", "testdata/a.json", "testdata/a.json", "--json"), &same)
	for _, r := range same.Ratios {
		if r.P99 != 1 || r.PerSecond != 1 {
			t.Errorf("a run compared with itself: %+v", r)
		}
	}
	if len(same.Ratios) != 7 {
		t.Errorf("%d ratios", len(same.Ratios))
	}
}

// A run that is a thousand times as fast is compared as one without figures is not.
func TestCompareTinyRatio(t *testing.T) {
	t.Setenv("NO_COLOR", "1")
	var files [2]string
	for i, p90 := range []string{"6000", "5.5"} {
		files[i] = filepath.Join(t.TempDir(), "run.json")
		text := `{"format": 1, "started_at": "2026-11-16T09:10:00Z", "settings": {"rate": 1, "seconds": 1, "mix": "gate=1"}, "load": {"planned": 1, "operations": [], ` +
			`"all": {"operation": "all", "sent": 1, "per_second": 1, "latency": {"p90_ms": ` + p90 + `}}}}`
		if err := os.WriteFile(files[i], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out := shown(t, "compare", files[0], files[1]); !strings.Contains(out, "<0.01x") {
		t.Errorf("it says %s", out)
	}
}

// A file that is no result is refused by its name.
func TestCompareRefuses(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	other, empty := filepath.Join(folder, "other.json"), filepath.Join(folder, "empty.json")
	for file, text := range map[string]string{other: `{"format": 7}`, empty: `{"format": 1}`} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"testdata/good.golden", other, empty, "testdata/none.json"} {
		if _, said, status := run(t, "compare", "testdata/a.json", file); status != command.ExitRefused || !strings.Contains(said, file) {
			t.Errorf("%s: status %d, %s", file, status, said)
		}
	}
}
