package server_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/cli/clitest"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// The jobs are listed as they go, and run until nothing is left to do.
func TestJobs(t *testing.T) {
	t.Parallel()
	n := clitest.Start(t, false)
	var listed wire.Jobs
	clitest.Parse(t, n.Must("jobs", "list", "--json"), &listed)
	table := n.Must("jobs", "list")
	if len(listed.Jobs) == 0 || strings.Count(table, "\n") != len(listed.Jobs)+1 {
		t.Errorf("printed\n%s", table)
	}
	for _, j := range listed.Jobs {
		if !strings.Contains(table, j.Name) || j.About == "" {
			t.Errorf("%+v is not in\n%s", j, table)
		}
	}
	for args, want := range map[string]string{
		"ttl": "ttl: 0 rows changed\n", "ttl --dry-run": "ttl: 0 rows to change\n", "partitions --dry-run": "partitions: cannot be counted beforehand\n",
	} {
		if got := n.Must(append([]string{"jobs", "run"}, strings.Fields(args)...)...); got != want {
			t.Errorf("%s: printed %q, want %q", args, got, want)
		}
	}
	if r := n.Run("jobs", "run", "nothing"); r.Status != command.ExitRefused || !strings.Contains(r.Err, "There is no job of this name") {
		t.Errorf("ends with %d: %s", r.Status, r.Err)
	}
	if r := n.Run("jobs", "run"); r.Status != command.ExitUsage {
		t.Errorf("ends with %d: %s", r.Status, r.Err)
	}
}

// A server does a few seconds' worth of a job at a time; the command asks again.
func TestJobsRunAgain(t *testing.T) {
	t.Parallel()
	var asked []wire.JobRunRequest
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var ask wire.JobRunRequest
		_ = json.NewDecoder(r.Body).Decode(&ask)
		asked = append(asked, ask)
		ran := wire.JobRun{Name: "ttl", DryRun: ask.DryRun, Rows: 1000, More: len(asked) < 4}
		_ = json.NewEncoder(w).Encode(ran)
	}))
	defer server.Close()
	n := clitest.At(t, server.URL)
	r := n.As(command.Streams{Terminal: true}, n.Key, "jobs", "run", "ttl", "--reason", "make room")
	if r.Status != command.ExitDone || r.Out != "ttl: 3000 rows changed\n" || len(asked) != 4 || !asked[0].DryRun || asked[3] != (wire.JobRunRequest{Reason: "make room"}) {
		t.Errorf("ends with %d: %q %q after %+v", r.Status, r.Out, r.Err, asked)
	}
}
