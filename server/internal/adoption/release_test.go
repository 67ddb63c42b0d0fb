package adoption_test

import (
	"testing"
	"time"

	"github.com/recoup-dev/recoup/server/internal/adoption/define"
	"github.com/recoup-dev/recoup/server/internal/adoption/preset/presettest"
)

func (w *world) release(source string) {
	w.Helper()
	_, err := w.runner().Release(w.Context(), source)
	w.Must(err)
	w.settle()
	w.settle()
}

// TestReleaseDuringAReplay releases a queue whose dead letter is replayed, before its job is set off
// and while it runs: the dead letter ends, and blocks nobody any more.
func TestReleaseDuringAReplay(t *testing.T) {
	t.Parallel()
	q := presettest.Queues[0]
	for name, before := range map[string]func(w *world){
		"waits": func(*world) {},
		"runs":  func(w *world) { w.later(time.Second); w.exec(q.Start) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, id := newLetters(t, q)
			w.replay(id)
			before(w)
			w.want(blocked, "true")
			w.release(q.Table)
			w.want(blocked, "false")
			w.want("select count(*) from recoup.dead_letter where closed_at is null", "0")
			w.want("select count(*) from recoup.adoption", "0")
		})
	}
}

// TestReleaseOfWhatIsKeptForEver releases a table whose errors the policy keeps for ever, as they
// are. Adopted again, its rows have the same errors.
func TestReleaseOfWhatIsKeptForEver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	adopted := func() {
		t.Helper()
		plan, err := define.MakePlan(t.Context(), w.owner, define.Request{Source: "shop.failures", As: "public.shq_master_error_log", Mapping: mapping})
		if w.Must(err); len(plan.Refusals) > 0 {
			t.Fatalf("refused: %v", plan.Refusals)
		}
		w.Must(w.runner().Apply(t.Context(), plan))
		w.settle()
	}
	const kept = "select entity_id, state from recoup.error order by 1"
	w.exec("insert into shop.failures (order_id, kind, at) values ('a', 'VALIDATION_ERROR', '2026-02-02'), ('b', 'NETWORK_TIMEOUT', '2026-02-02')")
	adopted()
	w.want(kept, "a ACTIVE\nb ACTIVE")
	w.release("shop.failures")
	w.want("select count(*) from recoup.adoption", "0")
	w.exec("insert into shop.failures (order_id, kind, at) values ('c', 'NETWORK_TIMEOUT', '2026-02-02')")
	adopted()
	w.want(kept, "a ACTIVE\nb ACTIVE\nc ACTIVE")
	w.want("select key from recoup.adopted_row order by 1", "1\n2\n3")
	w.want("select count(*) from recoup.adopted_kept", "0")
}

// TestSwappedTableKeepsItsName renames an adopted table away, as deployments do that exchange tables:
// Recoup does not take its name meanwhile.
func TestSwappedTableKeepsItsName(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.exec("drop view outreach.dol_errors; create table outreach.dol_errors (id int primary key, outreach_id text, kind text)")
	plan, err := define.MakePlan(t.Context(), w.owner, define.Request{Source: "outreach.dol_errors"})
	if w.Must(err); len(plan.Refusals) > 0 {
		t.Fatalf("refused: %v", plan.Refusals)
	}
	w.Must(w.runner().Apply(t.Context(), plan))
	w.settle()
	w.exec("alter table outreach.dol_errors rename to dol_errors_before")
	w.Must(w.db.SyncTables(t.Context(), w.Policies.Current()))
	w.want("select standing from recoup.names() where name = 'outreach.dol_errors'", "ADOPTED")
	w.exec("create table outreach.dol_errors (id int primary key, outreach_id text, kind text)")
	w.release("outreach.dol_errors_before")
	w.want("select attname from pg_attribute where attrelid = 'outreach.dol_errors_before'::regclass and attnum > 0 and not attisdropped order by attnum", "id\noutreach_id\nkind")
}
