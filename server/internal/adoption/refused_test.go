package adoption_test

import (
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/server/internal/adoption"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// TestRefusedMirror has a constraint of the owner refuse what the policy decides: it is counted, the
// doctor names the table and the row, and it is written once the constraint is gone.
func TestRefusedMirror(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.adopt(mapping)
	w.exec("alter table shop.failures add constraint calm check (disposition is distinct from 'PARKED')")
	w.exec("insert into shop.failures (id, order_id, kind, at) values (7, 'a', 'VALIDATION_ERROR', '2026-02-02'), (8, 'b', 'NETWORK_TIMEOUT', '2026-02-02')")
	refused := func(count int64, attempts string) {
		t.Helper()
		w.settle()
		w.want("select key, attempts from recoup.adopted_refused", attempts)
		w.want("select count(*) from recoup.adopted_mirror", "0")
		facts, err := w.db.Inspect(t.Context(), store.Inspection{Policy: w.Policies.Current(), Now: w.Now()})
		w.Must(err)
		figures, err := w.rows.AdoptionFigures(t.Context())
		w.Must(err)
		for _, got := range []struct {
			n   int64
			one adoption.Unreadable
		}{{adoption.FactsOf(&facts)[0].Refused, adoption.FactsOf(&facts)[0].Refuser}, {figures[0].Refused, figures[0].Refuser}} {
			if got.n != count || count > 0 && (got.one.Key != "7" || !strings.Contains(got.one.Cause, "calm")) {
				t.Errorf("%d rows refuse, such as %+v, want %d", got.n, got.one, count)
			}
		}
	}
	refused(1, "7 1")
	refused(1, "7 1") // it is not tried again at once
	w.Wait(time.Minute)
	refused(1, "7 2")
	w.Wait(time.Minute)
	refused(1, "7 2") // pauses grow
	w.exec("alter table shop.failures drop constraint calm")
	w.Wait(time.Minute)
	refused(0, "")
	w.want("select disposition from shop.failures order by id", "PARKED\nRETRY")
}
