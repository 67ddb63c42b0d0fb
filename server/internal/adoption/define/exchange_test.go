package define_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/retry"
	"github.com/recoup-dev/recoup/server/internal/adoption/define"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// exchanged is a world whose table is in a schema of another role. That role has a view with a trap, in a schema that can take
// the name of the first. The table's own code waits for an advisory lock when the table is read for the first time.
func exchanged(t *testing.T) (w *world, exchange, restore string) {
	t.Helper()
	w = newWorld(t, `create sequence shop.reads; create type shop.level as enum ('fatal');
		create function shop.as_text(shop.level) returns text language plpgsql as $f$ begin
			if nextval('shop.reads') = 1 then perform pg_advisory_xact_lock(4711); end if; return 'x'; end $f$;
		create cast (shop.level as text) with function shop.as_text(shop.level) as assignment;
		create table shop.failures (id int primary key, order_id text, status text, level shop.level, at text); insert into shop.failures values (1, 'a', 'open', 'fatal', '2026-01-01')`)
	other := w.role + "_other"
	w.exec(fmt.Sprintf(`create role %[1]s; grant %[1]s to recoup_owner; do $d$ begin execute format('grant create on database %%I to %[1]s', current_database()); end $d$;
		create schema trap authorization %[1]s; grant usage on schema trap to public; set role %[1]s; create sequence trap.ran; grant all on trap.ran to public;
		create function trap.note() returns void language plpgsql as $f$ begin perform nextval('trap.ran'); end $f$;
		create function trap.run(text) returns text language plpgsql immutable as $f$ begin if current_user = '%[2]s' then perform trap.note(); end if; return $1; end $f$;
		create schema evil; grant usage on schema evil to public; create type evil.level as enum ('fatal'); create table evil.rows (id int, order_id text, status text, level evil.level, at text);
		insert into evil.rows values (1, 'a', 'open', 'fatal', '2026-01-01');
		create view evil.failures as select id, trap.run(order_id) as order_id, trap.run('x') as status, level, trap.run(at) as at from evil.rows; grant all on evil.failures, evil.rows to public;
		reset role; grant usage, create on schema shop to %[2]s; alter schema shop owner to %[1]s; set role %[1]s; grant usage on schema shop to %[2]s; reset role`, other, w.role))
	exchange = "set role " + other + "; begin; alter schema shop rename to old; alter schema evil rename to shop; commit; reset role"
	restore = "set role " + other + "; begin; alter schema shop rename to evil; alter schema old rename to shop; commit; reset role"
	return w, exchange, restore
}

// TestTableIsExchangedDuringAPlan has the owner of a schema give the name of a table in it to a view, while the table is
// planned. The code behind the view does not run with the rights of the table's owner.
func TestTableIsExchangedDuringAPlan(t *testing.T) {
	t.Parallel()
	w, exchange, _ := exchanged(t)
	planner, holder := connect(t, w.url), connect(t, w.url)
	if _, err := holder.Exec(t.Context(), "select pg_advisory_lock(4711)"); err != nil {
		t.Fatal(err)
	}
	planned := make(chan error, 1)
	go func() {
		_, err := define.MakePlan(t.Context(), planner, define.Request{Source: "shop.failures", As: "shop.errors", Mapping: wire.Mapping{Entity: "order_id", CreatedAt: "at", TimeZone: "UTC", ResolvedWhen: "status = 'x'"}})
		planned <- err
	}()
	for waits := 0; ask(t, w.owner, "select from pg_locks where locktype = 'advisory' and not granted and database = (select oid from pg_database where datname = current_database())") == ""; waits++ {
		if waits > 1000 {
			t.Fatal("nobody waits")
		}
		if err := retry.Sleep(t.Context(), 5*time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
	w.exec(exchange)
	if _, err := holder.Exec(t.Context(), "select pg_advisory_unlock(4711)"); err != nil {
		t.Fatal(err)
	}
	if err := <-planned; err == nil || !strings.Contains(err.Error(), "was exchanged for another table meanwhile") {
		t.Errorf("planned: %v", err)
	}
	if got := ask(t, w.owner, "select is_called from trap.ran"); got != `{"is_called":false}` {
		t.Errorf("code behind the view ran with the rights of the table's owner: %s", got)
	}
}

// TestTableIsExchangedBeforeAStep has the owner of a schema give the name of a table in it to a view, while the table is
// adopted. No function is bound to the view.
func TestTableIsExchangedBeforeAStep(t *testing.T) {
	t.Parallel()
	w, exchange, restore := exchanged(t)
	plan, err := define.MakePlan(t.Context(), w.owner, define.Request{Source: "shop.failures", As: "shop.errors", NoMirror: true, Mapping: wire.Mapping{Entity: "order_id"}})
	if err != nil || len(plan.Refusals) > 0 {
		t.Fatal(err, plan.Refusals)
	}
	w.exec(exchange)
	if err := w.runner().Apply(t.Context(), plan); !errors.Is(err, define.ErrRefused) || !strings.Contains(err.Error(), "was exchanged for another table meanwhile") {
		t.Errorf("applied: %v", err)
	}
	if got := ask(t, w.owner, "select proname from pg_proc where proname ~ '^adopted_1_'"); got != "" {
		t.Errorf("functions: %s", got)
	}
	w.exec(restore)
	if err := w.runner().Apply(t.Context(), plan); err == nil {
		t.Error("a plan is applied twice")
	}
	again, err := define.MakePlan(t.Context(), w.owner, define.Request{Source: "shop.failures"})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.runner().Apply(t.Context(), again); err != nil {
		t.Error(err)
	}
	if got := ask(t, w.owner, "select is_called from trap.ran"); got != `{"is_called":false}` {
		t.Errorf("code behind the view ran with the rights of the table's owner: %s", got)
	}
}
