package endtoend

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/retry"
	"github.com/recoup-dev/recoup/server/internal/archive/s3/s3test"
	"github.com/recoup-dev/recoup/server/internal/test/tier"
	"github.com/recoup-dev/recoup/server/test/program"
)

// filer is a site whose days of events become files.
type filer struct {
	*site
	place  string         // as commands name it
	folder string         // in which it keeps its files
	store  *s3test.Server // nil: the place is that folder
	today  time.Time
}

// onPlaces runs a test on both databases, with a folder and with a bucket.
func onPlaces(t *testing.T, test func(*testing.T, *filer)) {
	t.Run("folder", func(t *testing.T) {
		onEither(t, func(t *testing.T, d database) {
			folder := filepath.Join(t.TempDir(), "events")
			test(t, &filer{site: newSite(t, d), place: folder, folder: folder})
		})
	})
	t.Run("bucket", func(t *testing.T) {
		onEither(t, func(t *testing.T, d database) { test(t, inBucket(t, d)) })
	})
}

// inBucket is a site whose files are in a bucket.
func inBucket(t *testing.T, d database) *filer {
	t.Helper()
	f := &filer{site: newSite(t, d), place: "s3://acme/recoup/events", store: s3test.Start(t, "acme")}
	f.folder = f.store.Path("acme", "recoup/events")
	f.env = append(f.env, f.store.Env()...)
	return f
}

// begin runs a node, and has n events happen in the five days before yesterday.
func (f *filer) begin(n int, flags ...string) {
	f.Helper()
	t := f.T
	f.flags = append(f.flags, flags...)
	f.start()
	var made struct{ Error recoup.Error }
	if got := f.report("E-1"); json.Unmarshal([]byte(got.body), &made) != nil || made.Error.CreatedAt.IsZero() {
		t.Fatalf("%d %s", got.status, got.body)
	}
	f.today = made.Error.CreatedAt.UTC().Truncate(24 * time.Hour)
	var lines []string
	for i := range n {
		code := []string{"DNS_TIMEOUT", "NETWORK_TIMEOUT", "NEVER_SEEN", "RATE_LIMIT_EXCEEDED"}[i*i%4]
		ts := f.today.AddDate(0, 0, -7).Add(time.Duration(i) * 5 * 24 * time.Hour / time.Duration(n))
		e := map[string]any{"code": code, "service": fmt.Sprint("s", i%3), "ts": ts, "endpoint": fmt.Sprint("/e/", i%7), "http_status": 500 + i%5, "tenant": fmt.Sprint("t", i%4), "details": map[string]any{"limit": i}}
		if i%3 == 0 {
			e = map[string]any{"code": code, "service": "s0", "ts": ts}
		}
		lines = append(lines, f.line(e))
	}
	for batch := range slices.Chunk(lines, 500) {
		f.send(batch...)
	}
}

func (f *filer) line(e map[string]any) string {
	text, err := json.Marshal(e)
	if err != nil {
		f.Fatal(err)
	}
	return string(text)
}

func (f *filer) send(lines ...string) {
	f.Helper()
	if got := f.ask(http.MethodPost, "/v1/events", `{"durable": true, "events": [`+strings.Join(lines, ",")+"]}"); got.status >= http.StatusMultipleChoices {
		f.Fatalf("%d %s", got.status, got.body)
	}
}

// recoup runs the program against the site, and returns what it prints and whether that
// went well.
func (f *filer) recoup(args ...string) (out, stderr string, err error) {
	cmd := exec.CommandContext(f.Context(), program.Path(f.T), args...)
	var said bytes.Buffer
	cmd.Stderr = &said
	cmd.Env = append(append(os.Environ(), f.env...), "RECOUP_SERVER=http://"+*f.address.Load(), "RECOUP_KEY="+f.key(), "RECOUP_DATABASE="+f.database)
	printed, err := cmd.Output()
	return string(printed), said.String(), err
}

// events lists events by the command line.
func (f *filer) events(args ...string) []recoup.StoredEvent {
	f.Helper()
	out, said, err := f.recoup(append([]string{"events", "--all", "--json"}, args...)...)
	var page recoup.EventPage
	if err != nil || json.Unmarshal([]byte(out), &page) != nil {
		f.Fatalf("%v: %v: %s%s", args, err, out, said)
	}
	return page.Events
}

// duckdb asks DuckDB about all files, and returns the rows of its answers.
func (f *filer) duckdb(questions ...string) (answers [][]map[string]any) {
	f.Helper()
	if _, err := os.Stat("duckdb/node_modules/@duckdb/node-api"); err != nil {
		f.Fatalf("DuckDB is not installed: run make setup (%v)", err)
	}
	args := []string{"ask.mjs"}
	for _, q := range questions {
		args = append(args, strings.ReplaceAll(q, "FILES", "'"+filepath.Join(f.folder, "*.parquet")+"'"))
	}
	out, err := nodeCommand("duckdb", args...).Output()
	if err != nil {
		f.Fatalf("%v: %s", err, out)
	}
	for decoder := json.NewDecoder(bytes.NewReader(out)); decoder.More(); {
		var rows []map[string]any
		if err := decoder.Decode(&rows); err != nil {
			f.Fatalf("%v: %s", err, out)
		}
		answers = append(answers, rows)
	}
	return answers
}

// names lists the files of the folder.
func (f *filer) names(pattern string) []string {
	paths, err := filepath.Glob(filepath.Join(f.folder, pattern))
	if err != nil {
		f.Fatal(err)
	}
	for i := range paths {
		paths[i] = filepath.Base(paths[i])
	}
	return paths
}

// A node that is told to files its days by itself: what the files hold is what the ledger
// lists, DuckDB reads the same out of them, and events that come late make a new version.
func TestEventFiles(t *testing.T) {
	tier.Only(t, tier.Archive)
	t.Parallel()
	onPlaces(t, func(t *testing.T, f *filer) {
		f.begin(1500, "--event-files", f.place)
		f.fiveDays()
		f.compare()
		counts := f.duckdb("select code, count(*)::int as n from FILES group by code order by code",
			"select count(distinct event_id)::int as ids, count(tenant_hash)::int as tenants, sum((details->>'limit')::int)::int as sum, typeof(any_value(event_id)) as id, typeof(any_value(ts)) as ts from FILES",
			"select count(*)::int as n from FILES where ts < '"+f.today.AddDate(0, 0, -6).Format(time.DateOnly)+"'")
		want := [][]map[string]any{
			{{"code": "DNS_TIMEOUT", "n": 750.0}, {"code": "NETWORK_TIMEOUT", "n": 750.0}},
			{{"ids": 1500.0, "tenants": 1000.0, "sum": float64(1499*1500/2 - 3*(499*500/2)), "id": "UUID", "ts": "TIMESTAMP WITH TIME ZONE"}},
			{{"n": 300.0}},
		}
		if !reflect.DeepEqual(counts, want) {
			t.Errorf("DuckDB reads %v, want %v", counts, want)
		}
		f.late()
		f.tamper()
	})
}

// fiveDays has the job run until the five days are filed.
func (f *filer) fiveDays() {
	f.Helper()
	for try := 0; len(f.names("*.json")) < 5; try++ {
		if _, said, err := f.recoup("jobs", "run", "event-files"); err != nil || try == patience || retry.Sleep(f.Context(), 20*time.Millisecond) != nil {
			f.Fatalf("there are %v: %v %s", f.names("*"), err, said)
		}
	}
}

// compare lists what is in the files from the ledger and from them.
func (f *filer) compare() {
	f.Helper()
	span := []string{"--from", f.today.AddDate(0, 0, -7).Format(time.DateOnly), "--to", f.today.AddDate(0, 0, -2).Format(time.DateOnly)}
	for _, filter := range [][]string{nil, {"--code", "dns_timeout"}, {"--code", "never_seen"}, {"--service", "s1"}} {
		args := append(slices.Clone(span), filter...)
		ledger, files := f.events(args...), f.events(append(args, "--from-archive", f.place)...)
		if !reflect.DeepEqual(ledger, files) {
			f.Errorf("%v: the ledger has %d events and the files %d, or they differ", filter, len(ledger), len(files))
		}
	}
}

// late has an event come late, and exports the days by hand.
func (f *filer) late() {
	f.Helper()
	first := f.today.AddDate(0, 0, -7)
	f.send(f.line(map[string]any{"code": "DNS_TIMEOUT", "service": "late", "ts": first.Add(time.Hour)}))
	var done struct {
		Files []struct {
			File    string
			Version int
			Rows    int
			Changed bool
		}
	}
	out, said, err := f.recoup("export", "parquet", "--to-dir", f.place, "--to", f.today.AddDate(0, 0, -5).Format(time.DateOnly), "--json")
	if err != nil || json.Unmarshal([]byte(out), &done) != nil || len(done.Files) != 2 || done.Files[0].Version != 2 || done.Files[0].Rows != 301 || !done.Files[0].Changed || done.Files[1].Changed {
		f.Fatalf("%v: %s%s", err, out, said)
	}
	if names := f.names("events-" + first.Format(time.DateOnly) + ".*"); len(names) != 2 || names[1] != done.Files[0].File {
		f.Errorf("of the first day there are %v", names)
	}
	f.compare()
	if got := f.ask(http.MethodGet, "/v1/audit?limit=20", ""); !strings.Contains(got.body, `"events.export"`) || !strings.Contains(got.body, `"events.file"`) {
		f.Errorf("the audit does not know it: %s", got.body)
	}
}

// tamper changes a byte of a file in the middle.
func (f *filer) tamper() {
	f.Helper()
	name := f.names("*.parquet")[1]
	path := filepath.Join(f.folder, name)
	body, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	body[len(body)/3] ^= 1
	if err := os.WriteFile(path, body, 0o600); err != nil {
		f.Fatal(err)
	}
	out, said, err := f.recoup("events", "--from-archive", f.place, "--all")
	if err == nil || out != "" || !strings.Contains(said, name+": the file is not what its manifest says") {
		f.Errorf("%v: %s%s", err, out, said)
	}
}

// An export that is killed leaves whole files and nothing that is taken for one; the next
// goes on where it was.
func TestExportSurvivesAKill(t *testing.T) {
	tier.Only(t, tier.Archive)
	t.Parallel()
	onPlaces(t, func(t *testing.T, f *filer) {
		f.begin(20_000)
		export := func() *exec.Cmd {
			cmd := exec.Command(program.Path(t), "export", "parquet", "--to-dir", f.place, "--database", f.database)
			cmd.Env = append(os.Environ(), f.env...)
			return cmd
		}
		killed := 0
		for moment := 1; moment <= 8; moment++ { // so many names the folder has at least
			cmd := export()
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			for over := false; !over && len(f.names("*"))+len(f.names(".*.part")) < moment; {
				select {
				case err := <-ended:
					ended <- err
					over = true
				default:
				}
			}
			if err := cmd.Process.Signal(syscall.SIGKILL); err == nil {
				killed++
			}
			<-ended
			f.whole()
		}
		if killed == 0 {
			t.Error("no export was killed")
		}
		if out, err := export().CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		f.compare()
		if got := len(f.events("--from-archive", f.place)); got != 20_000 || len(f.names("*.parquet")) != 5 {
			t.Errorf("%d events are in %v", got, f.names("*.parquet"))
		}
	})
}

// whole reads every file that has a manifest.
func (f *filer) whole() {
	f.Helper()
	if len(f.names("*.json")) == 0 {
		return
	}
	if _, said, err := f.recoup("events", "--from-archive", f.place, "--all"); err != nil {
		f.Errorf("after a kill: %v: %s", err, said)
	}
}

// A node with a place says what it cannot do, and one without says that another promised.
func TestEventFilesMisused(t *testing.T) {
	tier.Only(t, tier.Archive)
	t.Parallel()
	onPlaces(t, func(t *testing.T, f *filer) {
		f.begin(10, "--event-files", f.place)
		if err := f.signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		f.flags = nil
		f.start()
		if out, said, err := f.recoup("jobs", "run", "event-files"); err == nil || !strings.Contains(f.log.String(), "started without --event-files") {
			t.Errorf("%v: %s%s", err, out, said)
		}
		if err := f.signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		f.flags = []string{"--event-files", "off"}
		f.start()
		if out, said, err := f.recoup("jobs", "run", "event-files"); err == nil {
			t.Errorf("%s%s", out, said)
		}
		for _, row := range []struct{ args, want string }{
			{"export parquet", "--to-dir is missing"},
			{"export parquet --to-dir x --from 2026-02-05 --to 2026-02-05", "is not before --to"},
			{"export parquet --to-dir " + program.Path(t), "not a directory"},
			{"export parquet --to-dir x --database sqlite:missing.db", "there is no database file of that name: missing.db"},
			{"events --from-archive missing", "there is no folder missing"},
			{"events --from-archive duckdb", "has no files of events"},
			{"events --from-archive . --tenant t", "--tenant cannot be used with --from-archive"},
		} {
			if _, said, err := f.recoup(strings.Fields(row.args)...); err == nil || !strings.Contains(said, row.want) {
				t.Errorf("%s: %v: %s", row.args, err, said)
			}
		}
	})
}
