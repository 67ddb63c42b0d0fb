package endtoend

import (
	"encoding/json"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/test/program"
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

// Tables of Gate Zero that are there already are taken over by 'recoup migrate', which
// says what it left; what was taken is claimed, verified and recovered through the API.
func TestGateZeroTakenOver(t *testing.T) {
	t.Parallel()
	owner := pgtest.New(t)
	ownerSQL(t, owner, `create schema cl;
		create table cl.gate_zero_intake (intake_id uuid primary key, batch_id text, company_name text, status text, notes text, created_at timestamptz, updated_at timestamptz);
		create table cl.gate_zero_recovery (recovery_id uuid primary key default gen_random_uuid(), intake_id uuid, batch_id text, failure_reason text, attempt_count integer,
		  next_eligible_at timestamptz, status text, created_at timestamptz default now() - interval '30 days', updated_at timestamptz default now() - interval '9 days');
		insert into cl.gate_zero_intake select ('00000000-0000-4000-8000-00000000000' || i)::uuid, 'old', 'Company ' || i, case when i < 4 then 'FAILED' else 'PENDING' end, 'note ' || i,
		  now() - interval '30 days', now() - interval '9 days' from generate_series(1, 4) i;
		insert into cl.gate_zero_recovery (intake_id, batch_id, failure_reason, attempt_count, next_eligible_at, status)
		  select intake_id, 'old', 'STATE_MISMATCH', (array[1, 3, 7])[right(company_name, 1)::int], now() - interval '9 days' + (array[interval '24 hours', '168 hours', '1 hour'])[right(company_name, 1)::int], 'ACTIVE'
		  from cl.gate_zero_intake where status = 'FAILED'`)
	out, err := exec.CommandContext(t.Context(), program.Path(t), "migrate", "up", "--database", owner).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "took over 3 intakes and 2 recoveries") || !strings.Contains(string(out), "its attempt_count is 7, not 1 to 3") {
		t.Fatalf("migrate said %s (%v)", out, err)
	}
	s := newSite(t, database{Nodes: owner})
	s.start()
	var claimed struct {
		Work []recoup.GateZeroWork `json:"work"`
	}
	answer := s.ask(http.MethodPost, "/v1/gate-zero/claim", `{"worker": "w", "what": "recoveries"}`)
	if err := json.Unmarshal([]byte(answer.body), &claimed); err != nil || len(claimed.Work) != 2 {
		t.Fatalf("claimed: %s (%v)", answer.body, err)
	}
	for _, w := range claimed.Work {
		result := w.Result(recoup.VerdictPass, "")
		if w.Attempt == 3 {
			result = w.Result(recoup.VerdictFail, "TIMEOUT")
		}
		body, _ := json.Marshal(map[string]any{"results": []recoup.GateZeroResult{result}})
		if got := s.ask(http.MethodPost, "/v1/gate-zero/results", string(body)); got.status >= 300 || strings.Contains(got.body, "error_code") {
			t.Errorf("the result was answered %s", got.body)
		}
	}
	if batch := s.ask(http.MethodGet, "/v1/gate-zero/batches/old", "").body; !strings.Contains(batch, `"REENTER_SUCCEEDED":1`) || !strings.Contains(batch, `"EXHAUSTED":1`) || !strings.Contains(batch, `"PENDING":1`) {
		t.Errorf("the batch is %s", batch)
	}
	ownerSQL(t, owner, `do $$ begin
		assert (select count(*) = 3 and bool_and(notes = 'note ' || right(company_name, 1)) from cl.gate_zero_intake where previous_intake_id is null);
		assert (select string_agg(event, ' ' order by air_id) = 'FAIL AUTH REENTER' from cl.gate_zero_air where intake_id = '00000000-0000-4000-8000-000000000001');
		assert (select count(*) from cl_before.gate_zero_recovery) = 3;
	end $$`)
}

// Beside somebody else's things 'recoup migrate' and a first start change nothing, and
// list what is in the way.
func TestMigrateBeside(t *testing.T) {
	t.Parallel()
	owner := pgtest.New(t)
	ownerSQL(t, owner, `create schema cl; create table cl.gate_zero_batch (id int); create view cl.gate_zero_recovery as select 1 as id`)
	for _, args := range [][]string{{"migrate", "up"}, {"serve", "--listen", "127.0.0.1:0"}} {
		out, err := exec.CommandContext(t.Context(), program.Path(t), append(args, "--database", owner)...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "table cl.gate_zero_batch") || !strings.Contains(string(out), "view cl.gate_zero_recovery") || !strings.Contains(string(out), "Nothing was changed") {
			t.Errorf("%s said %s (%v)", args[0], out, err)
		}
		ownerSQL(t, owner, `do $$ begin assert not exists (select from pg_namespace where nspname = 'recoup'); end $$`)
	}
}
