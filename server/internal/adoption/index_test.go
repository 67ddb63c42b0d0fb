package adoption_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup/retry"
)

// TestChangesAreIndexedWithoutTheirSource locks a table whose changes wait. The node cannot read
// it, and indexes the entities of the changes for the gate.
func TestChangesAreIndexedWithoutTheirSource(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.adopt(mapping)
	w.settle()
	for range 3 {
		w.exec("insert into shop.failures (order_id, kind) values ('o1', 'TIMEOUT'), ('o2', 'TIMEOUT')")
	}
	w.want("select count(*) from recoup.adopted_change where entities is not null", "3")
	other, err := pgx.Connect(t.Context(), w.url)
	w.Must(err)
	defer func() { _ = other.Close(t.Context()) }()
	_, err = other.Exec(t.Context(), "begin; lock table shop.failures in access exclusive mode", pgx.QueryExecModeSimpleProtocol)
	w.Must(err)
	w.Must(w.service.Run(t.Context()))
	w.Wait(2 * time.Second)
	w.Must(w.service.Run(t.Context()))
	w.await("select count(*) from recoup.adopted_change where entities is not null", "0")
	w.want("select count(*) from recoup.adopted_change", "3")
	w.want("select recoup.is_blocked('o1'), recoup.is_blocked('o2'), recoup.is_blocked('o3')", "true true false")
	_, err = other.Exec(t.Context(), "rollback")
	w.Must(err)
	w.Must(w.service.Close(t.Context()))
	w.Wait(time.Minute)
	w.settle()
	w.want("select count(*) from recoup.adopted_change", "0")
	w.want("select count(*) from recoup.adopted_entity", "0")
}

// await waits until a question has an answer.
func (w *world) await(sql, answer string) {
	w.Helper()
	got := ""
	for range 200 {
		if got = w.ask(sql); got == answer {
			return
		}
		w.Must(retry.Sleep(w.Context(), 50*time.Millisecond))
	}
	w.Fatalf("%s: %s, want %s", sql, got, answer)
}
