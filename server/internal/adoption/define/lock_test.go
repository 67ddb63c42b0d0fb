package define_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup/server/internal/adoption/define"
	"github.com/recoup-dev/recoup/server/internal/wire"
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
	r.Report = func(p define.Progress) {
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
		if err := what(); !errors.Is(err, define.ErrLockTimeout) {
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
		plan, err := define.MakePlan(t.Context(), w.owner, define.Request{Source: "shop.failures", As: "shop.errors"})
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
		plan, err := define.MakePlan(t.Context(), w.owner, define.Request{Source: source, As: as})
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

// TestAPartitionThatIsAttachedLater is seen once the table is adopted again, and its rows
// are read.
func TestAPartitionThatIsAttachedLater(t *testing.T) {
	w := newWorld(t, "create table shop.failures (id int primary key, order_id text) partition by range (id); create table shop.a partition of shop.failures for values from (0) to (10)")
	before := w.dump()
	w.adopt("shop.failures", wire.Mapping{})
	w.exec("update recoup.adoption set state = 'GOVERNED', scanned_to = '9', turn = 7")
	w.as("create table shop.b partition of shop.failures for values from (10) to (20)")
	w.adopt("shop.failures", wire.Mapping{})
	w.as("insert into shop.b values (11, 'x')")
	if got := ask(t, w.app, "select state, scanned_to, turn, (select count(*) from recoup.adopted_change) as changes from recoup.adoption"); got != `{"state":"BACKFILLING","scanned_to":null,"turn":8,"changes":1}` {
		t.Errorf("the adoption is %s", got)
	}
	if _, err := w.runner().Release(t.Context(), "shop.failures"); err != nil {
		t.Fatal(err)
	}
	w.as("drop table shop.b")
	if after := w.dump(); after != before {
		t.Errorf("after the release:\n%s", difference(before, after))
	}
}

// TestWritersGoOn adopts a table without a key while four writers, one of them by COPY,
// write to it. None fails, and every row is found by its key, whether it was there
// before or was noted.
func TestWritersGoOn(t *testing.T) {
	w := newWorld(t, "create table shop.failures (order_id text, code text); insert into shop.failures select 'o' || n, 'X' from generate_series(1, 20000) n")
	w.exec("grant usage on schema shop to recoup_app; grant insert on shop.failures to recoup_app")
	ctx, stop := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	var longest atomic.Int64
	now := time.Now
	for n := range 4 {
		conn := connect(t, w.appURL)
		writers.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				began := now()
				var err error
				if n == 0 {
					_, err = conn.CopyFrom(t.Context(), pgx.Identifier{"shop", "failures"}, []string{"order_id", "code"},
						pgx.CopyFromSlice(50, func(k int) ([]any, error) { return []any{fmt.Sprintf("c%d-%d", i, k), "Y"}, nil }))
				} else {
					_, err = conn.Exec(t.Context(), "insert into shop.failures values ($1, 'Z')", fmt.Sprintf("w%d-%d", n, i))
				}
				if err != nil {
					t.Error(err)
					return
				}
				longest.Store(max(longest.Load(), int64(now().Sub(began))))
			}
		})
	}
	w.adopt("shop.failures", wire.Mapping{})
	stop()
	writers.Wait()
	t.Logf("the longest that a writer waited: %s", time.Duration(longest.Load()))
	w.exec("analyze shop.failures")
	if got := ask(t, w.owner, `select count(*) as rows, count(distinct f.recoup_key) as keys, (select count(distinct key) from recoup.adopted_1_scan(null, recoup.adopted_1_last(), 10000000) key) = count(*) as scanned,
		(select count(*) from recoup.adopted_change) > 0 as noted from shop.failures f`); !strings.Contains(got, `"scanned":true,"noted":true`) {
		t.Errorf("%s", got)
	}
}

// TestReleaseNamesWhatUsesItsColumns has the owner make a view of the new columns, and
// drop the table in the end: both can be released.
func TestReleaseNamesWhatUsesItsColumns(t *testing.T) {
	w := newWorld(t, "create table shop.failures (id int primary key, order_id text)")
	before := w.dump()
	w.adopt("shop.failures", wire.Mapping{})
	w.as("create view shop.blocked as select order_id from shop.failures where disposition = 'RETRY'")
	if _, err := w.runner().Release(t.Context(), "shop.failures"); err == nil || !strings.Contains(err.Error(), "view shop.blocked") {
		t.Errorf("want a refusal that names the view, got %v", err)
	}
	w.as("drop view shop.blocked")
	if _, err := w.runner().Release(t.Context(), "shop.failures"); err != nil {
		t.Error(err)
	}
	if after := w.dump(); after != before {
		t.Errorf("after the release:\n%s", difference(before, after))
	}
	w.adopt("shop.failures", wire.Mapping{})
	w.as("drop table shop.failures cascade")
	if forgotten, err := w.runner().Release(t.Context(), "shop.failures"); err != nil || !forgotten {
		t.Errorf("a table that is gone: %v %v", forgotten, err)
	}
}
