package adoption_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/server/internal/adoption"
	"github.com/recoup-dev/recoup/server/internal/adoption/define"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// child is a table of mallory, whose rows go with those of a parent, with traps.
const child = `create table trap.child (id bigint references PARENT on delete cascade);
	create function trap.after() returns trigger language plpgsql as $f$ begin perform trap.run('cascade'); return null; end $f$;
	create trigger a after delete on trap.child for each row execute function trap.after();
	create constraint trigger b after delete on trap.child deferrable initially deferred for each row execute function trap.after();`

// cascades are ways in which mallory gets code to run when rows of a table of the schema's owner are deleted.
var cascades = map[string]struct{ parent, ddl, refused, then string }{
	"the right to create foreign keys": {"shop.failures", "grant references on shop.failures to mallory",
		"mallory may create foreign keys to shop.failures, and triggers behind them, which would run with the rights of recoup_owner", "revoke references on shop.failures from mallory"},
	"that right for a column": {"shop.failures", "grant references (id) on shop.failures to mallory",
		"REVOKE REFERENCES (id) ON shop.failures FROM mallory", "revoke references (id) on shop.failures from mallory"},
	"behind another table": {"shop.orders", "create table shop.orders (id bigint primary key references shop.failures on delete cascade); grant all on shop.orders to mallory",
		"mallory may create foreign keys to shop.orders", "revoke all on shop.orders from mallory"},
}

// TestForeignKeysOfOtherRoles adopts a table of the schema's owner whose rows nodes delete. Another role has a foreign
// key to it. Triggers behind that key do not run with the rights of the table's owner.
func TestForeignKeysOfOtherRoles(t *testing.T) {
	t.Parallel()
	for name, c := range cascades {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.follow("9.0.0", "{at_end: delete}")
			w.exec("insert into shop.failures (id, order_id, kind, note) values (1, 'o1', 'TIMEOUT', 'x')")
			w.adopt(mapping)
			w.settle()
			intrude(w, "")
			w.exec(c.ddl)
			w.exec("set role mallory;" + strings.ReplaceAll(child, "PARENT", c.parent) + "reset role")
			if c.parent != "shop.failures" {
				w.exec("insert into " + c.parent + " values (1)")
			}
			w.exec("set role mallory; insert into trap.child values (1); reset role")
			safe := w.ask("select current_setting('server_version_num')::int >= 180000") == "true" // there these triggers run as mallory
			w.end(1)
			w.Wait(366 * 24 * time.Hour)
			_, err := w.db.PurgeArchive(t.Context(), w.Now(), 100)
			w.Must(err)
			w.Wait(11 * time.Minute)
			refuse := func(why string) {
				t.Helper()
				plan, err := define.MakePlan(t.Context(), w.owner, define.Request{Source: "shop.failures"})
				w.Must(err)
				facts, err := w.db.Inspect(t.Context(), store.Inspection{})
				w.Must(err)
				doctor := adoption.FactsOf(&facts)[0].Foreign + ": " + adoption.FactsOf(&facts)[0].ForeignWay
				if plan := fmt.Sprint(plan.Refusals); !safe && (!strings.Contains(plan, why) || !strings.Contains(plan, doctor[:30])) || safe && plan+doctor != "[]: " {
					t.Errorf("the plan says %s, the doctor %q", plan, doctor)
				}
				if err := w.service.Settle(t.Context()); (err == nil) != safe {
					t.Errorf("settled: %v", err)
				}
			}
			refuse(c.refused)
			w.exec(c.then)
			refuse("trap.child belongs to mallory, whose triggers would run with the rights of recoup_owner when a foreign key changes its rows")
			w.want("select count(*) from trap.ran where who <> 'mallory'", "0")
			w.harmless()
			w.exec("drop table trap.child")
			w.sweep()
			w.want("select count(*) from shop.failures", "0")
		})
	}
}

// TestForeignKeysWithoutDeletes adopts a table of the schema's owner with a foreign key of another role. Nodes delete no rows.
func TestForeignKeysWithoutDeletes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	intrude(w, "")
	w.exec("grant references on shop.failures to mallory; set role mallory;" + strings.ReplaceAll(child, "PARENT", "shop.failures") + "reset role")
	w.adopt(mapping)
	w.settle()
}
