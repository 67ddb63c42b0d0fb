package endtoend

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/retry"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/test/tier"
)

// policyOf is a body with the default policy under a version, changed, and a reason if
// it is to be in force.
func policyOf(t *testing.T, version, reason string, change func(string) string) string {
	t.Helper()
	text := change(strings.Replace(string(policy.DefaultFile()), "version: 1.0.0", "version: "+version, 1))
	fields := map[string]any{"text": text}
	if reason != "" {
		fields["reason"] = reason
	}
	body, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// A policy that no longer has the table under which another is adopted is refused, and says
// what to do: to move the adoption, whose errors then go on under the new name, or to
// release it.
func TestAdoptedUnderAnotherName(t *testing.T) {
	tier.Only(t, tier.Adoption)
	t.Parallel()
	owner, nodes := pgtest.Migrated(t)
	ownerSQL(t, owner, `create schema shop; create table shop.failures (id bigint primary key, outreach_id text, error_code text, status text, created_at timestamptz default now());
		insert into shop.failures values (1, 'CO-1', 'NETWORK_TIMEOUT', ''), (2, 'CO-2', 'VALIDATION_ERROR', ''), (3, null, 'NETWORK_TIMEOUT', ''), (4, 'CO-4', 'NETWORK_TIMEOUT', '')`)
	s := newSite(t, database{Nodes: nodes})
	s.start()
	c := &adopter{T: t, url: owner}
	run := func(wanted string, args ...string) {
		t.Helper()
		if out, err := c.command(args...).CombinedOutput(); err != nil && wanted == "" || !strings.Contains(string(out), wanted) {
			t.Fatalf("%v: %v\n%s\nwant %q", args, err, out, wanted)
		}
	}
	eventually := func(sql string) {
		t.Helper()
		for try := 0; !c.ask("select " + sql); try++ {
			if try == patience || retry.Sleep(t.Context(), 20*time.Millisecond) != nil {
				t.Fatalf("it is still not so: %s\n%s", sql, s.log.String())
			}
		}
	}
	run("", "adopt", "shop.failures", "--entity", "outreach_id", "--as", "outreach.dol_errors", "--apply", "--yes")
	eventually("(select count(*) = 4 from recoup.adopted_row) and recoup.is_blocked('CO-1') and (select state = 'GOVERNED' from recoup.adoption)")
	const before, after = "outreach.dol_errors", "outreach.dol_failures"
	renamed := func(text string) string { return strings.ReplaceAll(text, before, after) }
	refused := s.ask(http.MethodPut, "/v1/policy", policyOf(t, "2.0.0", "a better name", renamed))
	for _, want := range []string{"BUSINESS_RULE_VIOLATION", "no table outreach.dol_errors", "recoup adopt shop.failures --as TABLE --apply", "recoup adopt release shop.failures"} {
		if refused.status != http.StatusUnprocessableEntity || !strings.Contains(refused.body, want) {
			t.Errorf("a policy without the table: %d %s, want %s", refused.status, refused.body, want)
		}
	}
	if plan := s.ask(http.MethodPost, "/v1/policy/plan", policyOf(t, "2.0.0", "", renamed)); !strings.Contains(plan.body, `"adopted":[{"table":"outreach.dol_errors","source":"shop.failures"}]`) {
		t.Errorf("its plan is %d %s", plan.status, plan.body)
	}
	both := func(text string) string {
		_, block, _ := strings.Cut(text, "  outreach.dol_errors:\n")
		block, _, _ = strings.Cut(block, "\n\n")
		return strings.Replace(text, "  outreach.dol_errors:\n", "  outreach.dol_failures:\n"+renamed(block)+"\n\n  outreach.dol_errors:\n", 1)
	}
	if got := s.ask(http.MethodPut, "/v1/policy", policyOf(t, "2.0.0", "a better name", both)); got.status != http.StatusOK {
		t.Fatalf("%d %s", got.status, got.body)
	}
	c.exec("update shop.failures set id = 5 where id = 4") // while it moves, its writers go on
	run("It moves to outreach.dol_failures", "adopt", "shop.failures", "--as", after)
	run("", "adopt", "shop.failures", "--as", after, "--apply", "--yes")
	eventually(`(select coalesce(array_agg(entity_id || ' ' || state order by entity_id) = '{CO-1 RETRY_PENDING,CO-2 PARKED,CO-4 RETRY_PENDING}', false) from recoup.error where table_name = 'outreach.dol_failures')`)
	eventually("not exists (select from recoup.error where table_name = 'outreach.dol_errors' and state <> 'RESOLVED') and recoup.is_blocked('CO-1')")
	if !c.ask("select count(*) = 1 from recoup.error where table_name = 'public.shq_orphan_errors'") {
		t.Error("the row without an entity did not stay where it was")
	}
	if got := s.ask(http.MethodPut, "/v1/policy", policyOf(t, "3.0.0", "a better name", renamed)); got.status != http.StatusOK {
		t.Errorf("%d %s", got.status, got.body)
	}
	c.exec("insert into shop.failures values (6, 'CO-6', 'NETWORK_TIMEOUT', '')")
	eventually("exists (select from recoup.error where entity_id = 'CO-6' and table_name = 'outreach.dol_failures')")
	run("", "adopt", "release", "shop.failures", "--yes")
}
