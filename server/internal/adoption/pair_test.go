package adoption_test

import (
	"errors"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/adoption"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// committed is how many errors, rows with an error, kept rows and rows to be notified there are, and how
// many changes wait.
const committed = `select (select count(*) from recoup.error), (select count(*) from recoup.adopted_row), (select count(*) from recoup.source_detail),
	(select count(*) from recoup.adopted_mirror), (select count(*) from recoup.adopted_change)`

// An error is committed with the row that it is of, what it keeps of that and the entry of the queue
// that notifies it, or none of them is.
func TestErrorsAndTheirRowsAreOneAct(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.follow("9.0.0", "{details: [status]}")
	w.adopt(mapping)
	w.settle()
	w.exec(`create function shop.refuse() returns trigger language plpgsql as $$ begin raise exception 'a fault'; end $$;
		insert into shop.failures (order_id, kind) values ('o1', 'TIMEOUT')`)
	for _, table := range []string{"adopted_row", "adopted_mirror", "source_detail"} {
		w.exec("create trigger fault before insert on recoup." + table + " for each row execute function shop.refuse()")
		if err := w.service.Settle(t.Context()); err == nil {
			t.Errorf("%s: the fault was not noticed", table)
		}
		w.want(committed, "0 0 0 0 1")
		w.exec("drop trigger fault on recoup." + table)
	}
	w.settle()
	w.want(committed, "1 1 1 0 0")
}

// What a node reports that has lost its turn is not committed.
func TestReportsOutOfTurn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.adopt(mapping)
	report := func(turn adoption.Lease) error {
		now := w.Now()
		_, err := w.Engine.Import(t.Context(), engine.Caller{Name: adoption.By}, []engine.Past{{
			Report: recoup.Report{Table: "outreach.dol_errors", EntityID: "o1", Code: "TIMEOUT"}, ID: w.ID(), CreatedAt: now, Live: true,
			Attach: adoption.Pair{Turn: turn, Key: "1", Digest: []byte{1}}.Attachment(),
		}})
		return err
	}
	turn, held, err := w.rows.TakeTurn(t.Context(), 1, "a", time.Minute)
	if w.Must(err); !held {
		t.Fatal("it is not its turn")
	}
	late := turn
	late.Number--
	if err := report(late); !errors.Is(err, store.ErrOutOfTurn) {
		t.Errorf("out of turn: %v", err)
	}
	w.want(committed, "0 0 0 0 0")
	if err := report(turn); err != nil {
		t.Error(err)
	}
	w.want(committed, "1 1 0 1 0")
}
