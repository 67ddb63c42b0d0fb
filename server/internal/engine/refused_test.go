package engine_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqlite/sqlitetest"
	"github.com/recoup-dev/recoup/server/internal/test/node"
)

// poisoned is a node beside which somebody may forbid, in the database, that an error
// changes.
type poisoned struct {
	*world
	log    *bytes.Buffer
	forbid func(id recoup.ID) // with what would change by a claim or the clock
	permit func()
}

// poisonable runs a test on each store, in which a rule of the database's own can refuse
// an error.
func poisonable(t *testing.T, test func(w *poisoned)) {
	t.Helper()
	t.Parallel()
	begin := func(db node.Store, t *testing.T, run func(statement string) error, forbid, permit []string) {
		w := &poisoned{world: &world{Node: node.On(t, db)}, log: &bytes.Buffer{}}
		o := w.Engine.Options
		o.Logger = slog.New(slog.NewTextHandler(w.log, nil))
		var err error
		w.Engine, err = engine.New(o)
		w.Must(err)
		w.forbid = func(id recoup.ID) {
			for _, statement := range forbid {
				w.Must(run(strings.ReplaceAll(statement, "ID", id.String())))
			}
		}
		w.permit = func() {
			for _, statement := range permit {
				w.Must(run(statement))
			}
		}
		test(w)
	}
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		path := node.File(t)
		begin(sqlitetest.OpenFile(t, path), t, func(statement string) error {
			db, err := sql.Open("sqlite", path)
			if err != nil {
				return err
			}
			_, err = db.ExecContext(t.Context(), statement)
			return errors.Join(err, db.Close())
		}, []string{
			`create table if not exists poison (id blob)`,
			`insert into poison values (unhex(replace('ID', '-', '')))`,
			`create trigger if not exists poison_update before update on error when new.error_id in (select id from poison)
				begin select raise(abort, 'a rule of the house'); end`,
			`create trigger if not exists poison_archive before insert on error_archive when new.error_id in (select id from poison)
				begin select raise(abort, 'a rule of the house'); end`,
		}, []string{`delete from poison`})
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		db, owner := node.PostgresOwned(t)
		begin(db, t, func(statement string) error {
			conn, err := pgx.Connect(t.Context(), owner)
			if err != nil {
				return err
			}
			_, err = conn.Exec(t.Context(), statement)
			return errors.Join(err, conn.Close(t.Context()))
		}, []string{
			`create table if not exists recoup.poison (id uuid)`,
			`grant select on recoup.poison to public`,
			`insert into recoup.poison values ('ID')`,
			`create or replace function recoup.poison() returns trigger language plpgsql as $$ begin
				if new.error_id in (select id from recoup.poison) then raise 'a rule of the house' using errcode = '23514'; end if; return new; end $$`,
			`create or replace trigger poison before update on recoup.due for each row execute function recoup.poison()`,
			`create or replace trigger poison before update on recoup.error for each row execute function recoup.poison()`,
			`create or replace trigger poison before insert on recoup.error_archive for each row execute function recoup.poison()`,
		}, []string{`delete from recoup.poison`})
	})
}

// failures reports errors, one after the other, and waits until they are due.
func (w *poisoned) failures(n int) (made []recoup.Error) {
	w.Helper()
	for i := range n {
		made = append(made, w.Report(failing(dol, fmt.Sprint("e", i), "NETWORK_TIMEOUT"))...)
		w.Wait(time.Second)
	}
	w.Wait(10 * time.Second)
	return made
}

// claims claims, and returns which of the errors it got.
func (w *poisoned) claims(made []recoup.Error, limit int) (got []int) {
	w.Helper()
	claimed, err := w.Engine.Claim(w.Context(), ada, recoup.RetryClaim{Tables: []string{dol}, Worker: "w1", Limit: limit})
	if err != nil {
		w.Fatal(err)
	}
	for _, c := range claimed {
		got = append(got, slices.IndexFunc(made, func(e recoup.Error) bool { return e.ID == c.ID }))
	}
	slices.Sort(got)
	return got
}

// One error that the database refuses to lease takes nothing from those that are due
// with it or behind it, whether claims are decided one by one or as others before. It is
// logged once, it can be asked for, and it is claimed once the rule is gone.
func TestClaimGoesPastWhatTheDatabaseRefuses(t *testing.T) {
	poisonable(t, func(w *poisoned) {
		if got := w.claims(w.failures(3), 10); len(got) != 3 { // so that decisions are remembered
			w.Fatalf("claimed %v", got)
		}
		made := w.failures(9)
		w.forbid(made[0].ID)
		w.forbid(made[4].ID)
		all := w.claims(made, 1) // the first is in the way of one who asks for one
		if !slices.Equal(all, []int{1}) {
			w.Errorf("claimed %v", all)
		}
		for range 3 {
			all = append(all, w.claims(made, 3)...)
		}
		if slices.Sort(all); !slices.Equal(all, []int{1, 2, 3, 5, 6, 7, 8}) || len(w.claims(made, 3)) > 0 {
			w.Errorf("claimed %v in all", all)
		}
		w.wantRefused(made[0], 2)
		w.Wait(6 * time.Minute) // it is tried again, and that is not worth a line
		w.claims(made, 1)
		w.wantRefused(made[0], 2)
		w.permit()
		w.Wait(6 * time.Minute)
		if got := w.claims(made, 100); !slices.Contains(got, 0) || !slices.Contains(got, 4) {
			w.Errorf("claimed %v in the end", got)
		}
		if n := w.Engine.Refused(); n != 0 {
			w.Errorf("%d are refused still", n)
		}
	})
}

// wantRefused holds the node to what it says of errors that the database refuses.
func (w *poisoned) wantRefused(e recoup.Error, n int) {
	w.Helper()
	if got := w.Engine.Refused(); got != n {
		w.Errorf("%d errors are refused, want %d", got, n)
	}
	if lines := strings.Count(w.log.String(), "error_id="); lines != n || !strings.Contains(w.log.String(), e.ID.String()) || !strings.Contains(w.log.String(), "a rule of the house") {
		w.Errorf("%d lines in the log:\n%s", lines, w.log)
	}
	x, err := w.Engine.Explain(w.Context(), ada, e.ID)
	if err != nil || !strings.Contains(x.Refused, "a rule of the house") {
		w.Errorf("explained as %q, %v", x.Refused, err)
	}
}

// A sweep goes on behind what the database refuses, however little it takes at a time.
func TestSweepGoesPastWhatTheDatabaseRefuses(t *testing.T) {
	poisonable(t, func(w *poisoned) {
		made := w.failures(6)
		for i := range made {
			w.Act(engine.Act{ID: made[i].ID, Input: lifecycle.Park{Reason: "look"}})
		}
		for _, e := range made[:3] {
			w.forbid(e.ID)
		}
		w.Wait(31 * 24 * time.Hour)
		for _, want := range []int{3, 0} {
			if n, err := w.Engine.Sweep(w.Context(), store.DueExpiry, 3); err != nil || n != want {
				w.Fatalf("%d expired, not %d: %v", n, want, err)
			}
		}
		w.wantRefused(made[0], 3)
		w.permit()
		w.Wait(6 * time.Minute)
		if n, err := w.Engine.Sweep(w.Context(), store.DueExpiry, 3); err != nil || n != 3 {
			w.Errorf("%d expired in the end, %v", n, err)
		}
	})
}
