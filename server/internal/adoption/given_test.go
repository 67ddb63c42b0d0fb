package adoption_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/adopt"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// TestTablesOfNewOwners gives an adopted table, or a partition of one, to another role. That role sets traps and
// lets the owner before write the table. Nodes do not run the traps with the rights of the owner before.
func TestTablesOfNewOwners(t *testing.T) {
	t.Parallel()
	for name, table := range map[string]struct{ ddl, given string }{
		"table": {"", "shop.failures"},
		"partition": {`drop table shop.failures; create table shop.failures (id bigint, order_id text, kind text, note text, level text, status text default 'open', at timestamptz default now(),
			primary key (id)) partition by range (id); create table shop.part partition of shop.failures for values from (0) to (1000)`, "shop.part"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.exec(table.ddl)
			w.adopt(mapping)
			w.settle()
			w.exec("do 'begin create role mallory; exception when duplicate_object or unique_violation then null; end'; grant mallory to recoup_owner; grant usage, create on schema shop to mallory")
			w.exec("do $d$ begin execute format('grant create on database %I to mallory', current_database()); end $d$")
			w.exec("alter table " + table.given + " owner to mallory; set role mallory; grant all on " + table.given + " to recoup_owner;" + intruder +
				"create trigger a before update on " + table.given + " for each row execute function trap.on_update(); reset role")
			w.exec("insert into shop.failures (id, order_id, kind, note, disposition) values (1, 'o1', 'TIMEOUT', 'x', 'PARKED')")
			for range 3 {
				if err := w.service.Settle(t.Context()); err == nil || !strings.Contains(err.Error(), table.given+" belongs to mallory, whose code would run with the rights of recoup_owner") {
					t.Errorf("settled: %v", err)
				}
			}
			w.harmless()
			w.want("select * from trap.ran", "")
			facts, err := w.db.Inspect(t.Context(), store.Inspection{})
			w.Must(err)
			if !facts.Adoptions[0].Given {
				t.Error("the doctor is not told that another role owns it")
			}
		})
	}
}

// TestTriggersOfOtherRoles adopts a table of the schema's owner on which another role can create triggers. The plan
// refuses it until that right is revoked.
func TestTriggersOfOtherRoles(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.exec("do 'begin create role mallory; exception when duplicate_object or unique_violation then null; end'; grant usage on schema shop to mallory; grant all on shop.failures to mallory")
	plan := func() string {
		t.Helper()
		plan, err := adopt.MakePlan(t.Context(), w.owner, adopt.Request{Source: "shop.failures", As: "outreach.dol_errors", Mapping: mapping})
		w.Must(err)
		return fmt.Sprint(plan.Refusals)
	}
	if refused := plan(); !strings.Contains(refused, "mallory may create triggers on shop.failures, which would run with the rights of recoup_owner") ||
		!strings.Contains(refused, "REVOKE TRIGGER ON shop.failures FROM mallory") {
		t.Errorf("refused: %s", refused)
	}
	w.exec("revoke trigger on shop.failures from mallory")
	if refused := plan(); refused != "[]" {
		t.Errorf("refused after the right was revoked: %s", refused)
	}
}
