package postgres_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/test/conformance"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// Two requests with one receipt that have both found none: the second to write
// it starts over, finds it, and repeats the answer.
func TestReceiptsThatMeet(t *testing.T) {
	t.Parallel()
	_, app := pgtest.Migrated(t)
	s := open(t, app)
	d := conformance.NewDriver(t, s)
	var both, done sync.WaitGroup
	both.Add(2)
	outcomes := make([]store.Outcome, 2)
	for i := range outcomes {
		in := d.Failing(dol, fmt.Sprint("e", i), "NETWORK_TIMEOUT", recoup.Medium)
		arrive := sync.OnceFunc(func() { both.Done(); both.Wait() })
		report := store.Report{Table: dol, Entity: in.EntityID, Code: in.Failure.Code,
			Receipt: &store.Receipt{Scope: "s", Key: "k", ExpiresAt: d.Now().Add(time.Hour),
				Answer: func(out store.Outcome) []byte { return []byte(out.Error.EntityID) }},
			Decide: func(current *recoup.Error, _ int, _ time.Time) (recoup.Error, lifecycle.Effects, error) {
				arrive()
				return lifecycle.Step(d.Policy, current, in, d.Now())
			}}
		done.Go(func() {
			list, err := s.Report(t.Context(), d.Now(), []store.Report{report})
			if err != nil {
				t.Error(err)
				return
			}
			outcomes[i] = list[0]
		})
	}
	done.Wait()
	a, b := outcomes[0], outcomes[1]
	if a.Repeated == b.Repeated || string(a.Answer) != string(b.Answer) || a.Err != nil || b.Err != nil {
		t.Errorf("answered with %q, %v, %v and %q, %v, %v", a.Answer, a.Repeated, a.Err, b.Answer, b.Repeated, b.Err)
	}
	if open, _, err := s.Errors(t.Context(), store.Filter{}, sqldb.Page{}); err != nil || len(open) != 1 {
		t.Errorf("%d errors are open, %v", len(open), err)
	}
}

// The first key waits for a key that somebody is making, and then is not the
// first.
func TestFirstKeyWaitsForOthers(t *testing.T) {
	t.Parallel()
	_, app := pgtest.Migrated(t)
	s, other, watch := open(t, app), connect(t, app), connect(t, app)
	other.Do("begin")
	other.Do("select recoup.lock_turn(1, true)")
	other.Do(`insert into recoup.api_key (key_id, name, role, key_hash, created_at, created_by)
		values ({id}, 'a', 'admin', decode(repeat('ab', 32), 'hex'), {time}, 'ada')`)
	answer := make(chan error, 1)
	go func() {
		created, err := s.CreateFirstKey(t.Context(), wire.Key{ID: recoup.ID{1}, Name: "b", Role: "admin"}, store.Act{By: "bob", At: conformance.Epoch()})
		if created {
			err = errors.New("it was made beside another")
		}
		answer <- err
	}()
	for waits := 0; waits == 0; {
		err := watch.conn.QueryRow(t.Context(), "select count(*) from pg_locks where not granted and pid in (select pid from pg_stat_activity where datname = current_database())").Scan(&waits)
		if err != nil || len(answer) > 0 {
			break
		}
	}
	other.Do("commit")
	if err := <-answer; err != nil {
		t.Error(err)
	}
}
