package endtoend

import (
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"recoup/internal/store/postgres/pgtest"
	"recoup/internal/test/program"
)

// recoupCommand runs the program against the site's node.
func (s *site) recoupCommand(args ...string) string {
	s.Helper()
	args = append(args, "--server", "http://"+*s.address.Load(), "--key", s.key())
	out, _ := exec.CommandContext(s.Context(), program.Path(s.T), args...).CombinedOutput()
	return string(out)
}

// A node starts beside whatever has the names of its tables, says so, governs the errors
// of these tables all the same, and takes the names once they are free.
func TestStartBeside(t *testing.T) {
	t.Parallel()
	owner, nodes := pgtest.Migrated(t)
	ownerSQL(t, owner, `create schema outreach; create table outreach.dol_errors (id int); insert into outreach.dol_errors values (7);
		create sequence outreach.dol_errors_archive; create schema people; create materialized view people.people_errors as select 1 as id;
		create schema company; create view company.url_discovery_failures as select 1 as id`)
	sites := []*site{newSite(t, database{Nodes: nodes}), newSite(t, database{Nodes: nodes})}
	var both sync.WaitGroup
	for _, s := range sites {
		both.Go(s.start)
	}
	both.Wait()
	s := sites[0]
	if s.out.String() == "" { // the first key was the other's
		s = sites[1]
	}
	ready := s.ask(http.MethodGet, "/readyz", "")
	status, tables := s.recoupCommand("status"), s.ask(http.MethodGet, "/v1/tables", "").body
	metrics := s.ask(http.MethodGet, "/metrics", "").body
	for _, taken := range []struct{ name, kind string }{
		{"outreach.dol_errors", "table"}, {"outreach.dol_errors_archive", "sequence"},
		{"people.people_errors", "materialized view"}, {"company.url_discovery_failures", "view"},
	} {
		if ready.status != http.StatusOK || !strings.Contains(ready.body, taken.name+" is not adopted: the name is taken by a "+taken.kind) {
			t.Errorf("readyz says %d %s", ready.status, ready.body)
		}
		if !strings.Contains(tables, `"name":"`+taken.name+`","table":"`+strings.TrimSuffix(taken.name, "_archive")+`"`) {
			t.Errorf("%s is not in %s", taken.name, tables)
		}
		for _, s := range sites {
			if n := strings.Count(s.log.String(), "name="+taken.name+" "); n != 1 {
				t.Errorf("the log names %s %d times", taken.name, n)
			}
		}
	}
	if !strings.Contains(status, "! tables") || !strings.Contains(status, "4 names not adopted") {
		t.Errorf("status says %s", status)
	}
	if !strings.Contains(metrics, "recoup_tables_not_adopted 4") {
		t.Error("the metric is missing")
	}
	reported := s.ask(http.MethodPost, "/v1/errors", `{"table": "outreach.dol_errors", "entity_id": "E-1", "code": "VALIDATION_ERROR", "message": "m"}`)
	if gate := s.ask(http.MethodGet, "/v1/promotion/E-1", "").body; reported.status != http.StatusCreated || !strings.Contains(gate, "outreach.dol_errors") {
		t.Errorf("reported: %s, and the gate says %s", reported.body, gate)
	}
	ownerSQL(t, owner, `do $$ begin assert (select id from outreach.dol_errors) = 7; end $$;
		alter table outreach.dol_errors rename to old; drop sequence outreach.dol_errors_archive; drop materialized view people.people_errors; drop view company.url_discovery_failures`)
	if err := s.signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	s.start()
	if ready := s.ask(http.MethodGet, "/readyz", "").body; strings.Contains(ready, "warnings") {
		t.Errorf("free again, readyz says %s", ready)
	}
	ownerSQL(t, owner, `do $$ begin assert (select count(*) from outreach.dol_errors) = 1; perform from outreach.dol_errors_archive; end $$`)
}
