package cli

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"recoup/client"
)

// The jobs are listed as they go, and run until nothing is left to do.
func TestJobs(t *testing.T) {
	t.Parallel()
	n := startNode(t, false)
	var listed client.Jobs
	parse(t, n.must("jobs", "list", "--json"), &listed)
	table := n.must("jobs", "list")
	if len(listed.Jobs) == 0 || strings.Count(table, "\n") != len(listed.Jobs)+1 {
		t.Errorf("printed\n%s", table)
	}
	for _, j := range listed.Jobs {
		if !strings.Contains(table, j.Name) || j.About == "" {
			t.Errorf("%+v is not in\n%s", j, table)
		}
	}
	for args, want := range map[string]string{
		"ttl": "ttl: 0 rows moved\n", "ttl --dry-run": "ttl: 0 rows to move\n", "partitions --dry-run": "partitions: how much there is to do is not known before\n",
	} {
		if got := n.must(append([]string{"jobs", "run"}, strings.Fields(args)...)...); got != want {
			t.Errorf("%s: printed %q, want %q", args, got, want)
		}
	}
	if r := n.run("jobs", "run", "nothing"); r.status != ExitRefused || !strings.Contains(r.err, "There is no job of this name") {
		t.Errorf("ends with %d: %s", r.status, r.err)
	}
	if r := n.run("jobs", "run"); r.status != ExitUsage {
		t.Errorf("ends with %d: %s", r.status, r.err)
	}
}

// A server does a few seconds' worth of a job at a time; the command asks again.
func TestJobsRunAgain(t *testing.T) {
	t.Parallel()
	var asked []client.JobRun
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var ask client.JobRun
		_ = json.NewDecoder(r.Body).Decode(&ask)
		asked = append(asked, ask)
		ran := client.JobRan{Name: "ttl", DryRun: ask.DryRun, Rows: 1000, More: len(asked) < 4}
		_ = json.NewEncoder(w).Encode(ran)
	}))
	defer server.Close()
	n := &testNode{t: t, url: server.URL, key: "rdb_" + strings.Repeat("a", 32)}
	r := n.as(Streams{Terminal: true}, n.key, "jobs", "run", "ttl", "--reason", "make room")
	if r.status != ExitDone || r.out != "ttl: 3000 rows moved\n" || len(asked) != 4 || !asked[0].DryRun || asked[3] != (client.JobRun{Reason: "make room"}) {
		t.Errorf("ends with %d: %q %q after %+v", r.status, r.out, r.err, asked)
	}
}
