package endtoend

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/test/program"
)

// history is what recoup import errors --json prints.
type history struct {
	Rows, Recorded, Superseded, Expired, Orphaned, Repeated, Refused int
	DryRun                                                           bool `json:"dry_run"`
}

// failures is a file of 2,500 failures: 1,500 of as many entities, 500 older ones of the
// same, 400 that have expired, 90 of an unknown table, nine without a time and one that is
// too long.
func failures(now time.Time) string {
	var b strings.Builder
	b.WriteString("company,what,happened,tbl,text\n")
	for i := range 2500 {
		company, at, table := fmt.Sprint("CO-", i), now.Add(-time.Duration(i)*time.Second), "outreach.dol_errors"
		switch {
		case i < 1500:
		case i < 2000:
			company, at = fmt.Sprint("CO-", i-1500), now.Add(-20*time.Hour)
		case i < 2400:
			at = now.AddDate(-1, 0, 0)
		case i < 2490:
			table = "elsewhere.errors"
		case i < 2499:
			fmt.Fprintf(&b, "%s,NETWORK_TIMEOUT,,%s,\n", company, table)
			continue
		default:
			company = strings.Repeat("x", 65<<10)
		}
		fmt.Fprintf(&b, "%s,network_timeout,%s,%s,\"row, %d\"\n", company, at.Format("2006-01-02 15:04:05.999999Z07"), table, i)
	}
	return b.String()
}

// History is recorded once, row by row, although its client is killed in the middle, and
// ends as the policy has it as of then.
func TestImportErrorsSurvivesAKill(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		n := startNode(t, d)
		back, err := url.Parse(n.URL)
		if err != nil {
			t.Fatal(err)
		}
		proxy, calls, kill := httputil.NewSingleHostReverseProxy(back), 0, func() {}
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if calls++; calls == 2 { // its answer never comes
				kill()
			}
			proxy.ServeHTTP(w, r)
		}))
		defer server.Close()
		dir := t.TempDir()
		file, refused := filepath.Join(dir, "failures.csv"), filepath.Join(dir, "refused.ndjson")
		made, err := n.Client().Report(t.Context(), recoup.Report{Table: "people.people_errors", EntityID: "CO-1", Code: "NETWORK_TIMEOUT"})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(failures(made.Error.CreatedAt)), 0o600); err != nil {
			t.Fatal(err)
		}
		command := func(flag ...string) *exec.Cmd {
			cmd := exec.CommandContext(t.Context(), program.Path(t), append([]string{
				"import", "errors", file, "--map", "entity_id=company,code=what,created_at=happened,table=tbl,message=text",
				"--refused", refused, "--json", "--server", server.URL,
			}, flag...)...)
			cmd.Env = append(os.Environ(), "RECOUP_KEY="+n.Key)
			return cmd
		}
		run := func(flag ...string) (sum history) {
			out, err := command(flag...).Output()
			if json.Unmarshal(out, &sum) != nil {
				t.Fatalf("printed %s, %v", out, err)
			}
			if err == nil {
				t.Error("refused rows, and the exit status is 0")
			}
			return sum
		}
		calls = 2
		if sum := run("--dry-run"); sum != (history{2500, 2490, 0, 400, 90, 0, 10, true}) || len(openErrors(t, n)) > 1 {
			t.Errorf("tried: %+v; open: %v", sum, openErrors(t, n))
		}
		killed := command("--yes")
		kill = func() { _ = killed.Process.Kill() }
		calls = 0
		if err := killed.Run(); err == nil || killed.ProcessState.Exited() {
			t.Fatalf("it was not killed: %v", err)
		}
		if sum := run("--yes"); sum.Rows != 2500 || sum.Recorded+sum.Repeated != 2490 || sum.Repeated < 2000 || sum.Refused != 10 {
			t.Errorf("run again: %+v", sum)
		}
		if sum := run("--yes"); sum.Repeated != 2490 || sum.Recorded != 0 {
			t.Errorf("and once more: %+v", sum)
		}
		open := openErrors(t, n)
		if open["outreach.dol_errors"] != 1500 || open["public.shq_orphan_errors"] != 90 {
			t.Errorf("open: %v", open)
		}
		ended := map[recoup.ArchiveReason]int{}
		for e, err := range n.Client().Errors.AllArchived(t.Context(), "outreach.dol_errors") {
			if err != nil {
				t.Fatal(err)
			}
			ended[e.ArchiveReason]++
		}
		if ended[recoup.TTLExpired] != 400 || ended[recoup.SupersededByNext] != 500 {
			t.Errorf("archived: %v", ended)
		}
		if text, err := os.ReadFile(refused); err != nil || strings.Count(string(text), "\n") != 10 || !strings.Contains(string(text), `{"line":2492,"reason":"created_at is required: when it happened"}`) {
			t.Errorf("refused: %s, %v", text, err)
		}
	})
}

func openErrors(t *testing.T, n *node) map[string]int64 {
	t.Helper()
	counts, err := n.Client().Errors.Counts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	open := map[string]int64{}
	for _, c := range counts {
		open[c.Table] += c.N
	}
	return open
}
