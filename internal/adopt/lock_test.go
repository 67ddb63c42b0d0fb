package adopt_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"recoup/internal/adopt"
)

// TestALockThatIsHeld has somebody hold the table while it is adopted and released: the
// command steps back, says who it is, and goes on when the lock is free. If it is not
// in time, nothing of the step is changed, and the next run goes on.
func TestALockThatIsHeld(t *testing.T) {
	w := newWorld(t, "create table shop.failures (id int primary key, order_id text); insert into shop.failures values (1, 'a')")
	before := w.dump()
	reader := connect(t, w.url)
	hold := func() pgx.Tx {
		tx, err := reader.Begin(t.Context())
		if err == nil {
			_, err = tx.Exec(t.Context(), "select from shop.failures")
		}
		if err != nil {
			t.Fatal(err)
		}
		return tx
	}
	r := w.runner()
	var blockers, pauses []string
	var held pgx.Tx
	r.Report = func(p adopt.Progress) {
		if p.Waits > 0 {
			blockers = append(blockers, p.Blocker)
		}
	}
	r.Sleep = func(_ context.Context, d time.Duration) error {
		if pauses = append(pauses, d.String()); len(pauses) == 4 && held != nil {
			return held.Rollback(t.Context())
		}
		return nil
	}
	do := func(what func() error) {
		t.Helper()
		blockers, pauses, held = nil, nil, hold()
		r.Patience = time.Second / 4
		if err := what(); !errors.Is(err, adopt.ErrLockTimeout) {
			t.Fatalf("want a lock timeout, got %v", err)
		}
		pauses, r.Patience = nil, time.Hour
		if err := what(); err != nil {
			t.Fatal(err)
		}
		if len(blockers) < 4 || !strings.Contains(blockers[0], "recoup_owner") {
			t.Errorf("blockers: %q", blockers)
		}
		if want := "50ms 80ms 128ms 204.8ms"; strings.Join(pauses, " ") != want {
			t.Errorf("pauses: %s, want %s", pauses, want)
		}
	}
	do(func() error {
		plan, err := adopt.MakePlan(t.Context(), w.owner, adopt.Request{Source: "shop.failures", As: "shop.errors"})
		if err != nil {
			return err
		}
		return r.Apply(t.Context(), plan)
	})
	do(func() error {
		_, err := r.Release(t.Context(), "shop.failures")
		return err
	})
	if after := w.dump(); after != before {
		t.Errorf("after the release:\n%s", difference(before, after))
	}
}

// TestTwoTablesOfAnOwner releases the first of two: the rights that both need go with
// the second.
func TestTwoTablesOfAnOwner(t *testing.T) {
	w := newWorld(t, "create table shop.one (id int primary key, order_id text); create table shop.two (id int primary key, order_id text)")
	w.exec(`insert into recoup.error_table (table_name, hub, entity_column, dispositions, default_disposition, blocks, policy_version)
		values ('shop.two', 'shop', 'order_id', '{PARKED,RESOLVED}', 'PARKED', true, '1.0.0')`)
	before := w.dump()
	for source, as := range map[string]string{"shop.one": "shop.errors", "shop.two": "shop.two"} {
		plan, err := adopt.MakePlan(t.Context(), w.owner, adopt.Request{Source: source, As: as})
		if err == nil {
			err = w.runner().Apply(t.Context(), plan)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, source := range []string{"shop.one", "shop.two"} {
		w.as("insert into shop.two select coalesce(max(id), 0) + 1, 'x' from shop.two")
		if _, err := w.runner().Release(t.Context(), source); err != nil {
			t.Fatal(err)
		}
	}
	if after := w.dump(); after != before {
		t.Errorf("after the releases:\n%s", difference(before, after))
	}
}
