package api_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// A job can be looked at by those who read, and run by an admin, who sees before
// what it would do and is written down.
func TestJobs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.report("outreach.dol_errors", "e1")
	w.wait(40 * 24 * time.Hour)
	run := func(ask wire.JobRunRequest, want wire.JobRun) {
		t.Helper()
		var got wire.JobRun
		w.post("/v1/jobs/"+want.Name+"/run", ask).ok(&got)
		if got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	state := func() recoup.State {
		t.Helper()
		var shown recoup.Error
		w.get("/v1/errors/" + e.ID.String()).ok(&shown)
		return shown.State
	}
	run(wire.JobRunRequest{DryRun: true}, wire.JobRun{Name: "ttl", DryRun: true, Rows: 1})
	run(wire.JobRunRequest{DryRun: true}, wire.JobRun{Name: "partitions", DryRun: true, Uncounted: true})
	if got := state(); got != recoup.RetryPending {
		t.Fatalf("a dry run made it %s", got)
	}
	run(wire.JobRunRequest{Reason: "now"}, wire.JobRun{Name: "ttl", Rows: 1})
	if got := state(); got != recoup.Archived {
		t.Fatalf("it is %s", got)
	}
	run(wire.JobRunRequest{}, wire.JobRun{Name: "ttl"})

	var jobs wire.Jobs
	w.do("reader", http.MethodGet, "/v1/jobs", nil).ok(&jobs)
	if i := slices.IndexFunc(jobs.Jobs, func(j wire.Job) bool { return j.Name == "ttl" }); i < 0 || jobs.Jobs[i].Every != 1 || jobs.Leader != "" {
		t.Errorf("the jobs are %+v", jobs)
	}
	var audit wire.AuditPage
	w.get("/v1/audit?act=job.run").ok(&audit)
	if len(audit.Entries) != 2 || audit.Entries[1].Target != "ttl" || audit.Entries[1].Reason != "now" {
		t.Errorf("the audit tells of %+v", audit.Entries)
	}
	w.post("/v1/jobs/nothing/run", wire.JobRunRequest{}).failed(http.StatusNotFound, fault.CodeNotFound)
	w.post("/v1/jobs/alerts/run", wire.JobRunRequest{}).failed(http.StatusConflict, fault.CodeConflict) // this node does not lead
}
