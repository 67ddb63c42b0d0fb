package adoption_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/server/internal/adoption"
	"github.com/recoup-dev/recoup/server/internal/adoption/define"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// more adopts another table, as the first table of the policy that has no adoption yet.
func (w *world) more(table, owner string) {
	w.Helper()
	w.exec(fmt.Sprintf("create table %[1]s (id bigint primary key, order_id text); alter table %[1]s owner to %[2]s", table, owner))
	plan, err := define.MakePlan(w.Context(), w.owner, define.Request{
		Source: table, As: w.ask(`select min(table_name) from recoup.error_table t where table_name <> 'outreach.dol_errors' and not retired and not dead_letter
			and not exists (select from recoup.adoption a where a.table_name = t.table_name)`),
		Mapping: wire.Mapping{Entity: "order_id"}, NoMirror: true,
	})
	w.Must(err)
	if len(plan.Refusals) > 0 {
		w.Fatal(plan.Refusals)
	}
	w.Must(w.runner().Apply(w.Context(), plan))
}

// TestSlowTablesDoNotStarveOthers has one owner make three adopted tables slow, as many as a node
// works at together. A table of another owner is governed while the node waits for them.
func TestSlowTablesDoNotStarveOthers(t *testing.T) {
	t.Parallel()
	w := trapped(t)
	w.exec("alter schema shop owner to recoup_owner; grant all on schema shop to mallory")
	for i := 1; i <= 3; i++ {
		w.more(fmt.Sprintf("shop.slow%d", i), "mallory")
	}
	w.more("shop.fast", "recoup_owner")
	w.settle()
	for i := 1; i <= 3; i++ {
		w.exec(fmt.Sprintf(`grant create on schema recoup to mallory; set role mallory; create or replace function recoup.adopted_%[1]d_read(keys text[]) returns setof recoup.source_row
			language plpgsql as 'begin perform pg_sleep(30); end'; reset role; revoke create on schema recoup from mallory; insert into shop.slow%[1]d values (1, 'o1')`, i))
	}
	ctx, cancel := context.WithCancel(t.Context())
	w.Must(w.service.Run(ctx))
	w.await("select count(*) >= 2 from pg_stat_activity where starts_with(usename, 'recoup_adopter_') and datname = current_database()", "true")
	w.exec("insert into shop.fast values (1, 'o1')")
	w.Must(w.service.Run(ctx))
	w.await("select count(*) from recoup.adopted_row", "1")
	cancel()
	w.Must(w.service.Close(t.Context()))
}

// TestTurnsEndInTime gives a node a clock on which every look at it takes two seconds. A turn
// ends before all rows are read, also while it looks for those that cannot be read, and
// following turns do the rest.
func TestTurnsEndInTime(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ status, looked string }{"rows": {"open", "3000"}, "unreadable": {"x", "20"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			m := mapping
			m.ResolvedWhen = "status = 'x' and 1 / (length(status) - 1) = 1"
			w.adopt(m)
			w.settle()
			w.exec(fmt.Sprintf("insert into shop.failures (order_id, kind, status) select 'o' || n, 'TIMEOUT', '%s' from generate_series(1, %s) n", row.status, row.looked))
			s, err := adoption.New(adoption.Options{
				Store: w.rows, Engine: w.Engine, Letters: w.Letters, Key: func(context.Context) ([]byte, error) { return []byte("for digests"), nil }, Node: "a", Logger: slog.New(slog.NewTextHandler(w.log, nil)),
				Now:   func() time.Time { w.Wait(2 * time.Second); return w.Now() },
				Sleep: func(context.Context, time.Duration) error { return nil },
			})
			w.Must(err)
			left := []string{}
			for range 200 {
				w.Must(s.Run(t.Context()))
				w.Must(s.Close(t.Context()))
				left = append(left, w.ask("select "+row.looked+" - count(*) from recoup.adopted_row"))
				if w.ask("select count(*) from recoup.adopted_change") == "0" {
					break
				}
			}
			if n := len(left); n < 3 || n == 200 || left[n-1] != "0" {
				t.Errorf("rows left after each turn: %s", strings.Join(left, " "))
			}
		})
	}
}
