package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// leaser claims errors and has words about them.
type leaser struct {
	*testing.T
	s   *Store
	now time.Time
}

func (l *leaser) step(in lifecycle.Input) store.Decide {
	return func(current *recoup.Error, _ int, now time.Time) (recoup.Error, lifecycle.Effects, error) {
		return lifecycle.Step(policy.Default(), current, in, now)
	}
}

// leased reports an error and claims it.
func (l *leaser) leased(entity string) recoup.Error {
	l.Helper()
	in := lifecycle.Report{ID: recoup.ID([]byte("an id of " + (entity + "       ")[:7])), Table: "outreach.dol_errors", EntityID: entity, Failure: lifecycle.Failure{
		Code: "NETWORK_TIMEOUT", Class: recoup.ClassShortDelay, Category: recoup.Transient}}
	_, err := l.s.Report(l.Context(), l.now, []store.Report{{Table: in.Table, Entity: entity, Code: in.Failure.Code, Decide: l.step(in)}})
	must(l, err)
	l.now = l.now.Add(time.Hour)
	list, err := l.s.ClaimDue(l.Context(), store.Claim{Tables: []string{in.Table}, Limit: 1, Now: l.now,
		Decide: func(current *recoup.Error, now time.Time) (recoup.Error, lifecycle.Effects, error) {
			return lifecycle.Step(policy.Default(), current, lifecycle.Claim{Token: current.ID, Worker: "w"}, now)
		}})
	if err != nil || len(list) != 1 {
		l.Fatal(list, err)
	}
	return list[0]
}

// apply gives an input to an error and returns what became of it.
func (l *leaser) apply(ctx context.Context, e recoup.Error, in lifecycle.Input) recoup.Error {
	l.Helper()
	out, err := l.s.ApplySteps(ctx, l.now, []store.Step{{ID: e.ID, Decide: l.step(in)}})
	must(l, err)
	must(l, out[0].Err)
	return out[0].Error
}

// What the writer remembers of an error that a worker holds is what the file has,
// whoever has written to it meanwhile, and whatever was taken back.
func TestHeldErrorsAreAsTheFileHasThem(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "recoup.db")
	s, err := Open(t.Context(), path, Options{})
	must(t, err)
	defer func() { must(t, s.Close()) }()
	must(t, s.SyncTables(t.Context(), policy.Default()))
	l := &leaser{t, s, time.Date(2026, 2, 2, 9, 0, 0, 123456789, time.UTC)}

	e := l.leased("one")
	if len(s.writer.tx.held.errors) != 1 {
		t.Fatal("a lease is not remembered")
	}
	stored, err := s.Error(t.Context(), e.ID)
	must(t, err)
	if kept := s.writer.tx.held.errors[e.ID]; *kept.Error != stored {
		t.Errorf("remembered is\n%+v, the file has\n%+v", *kept.Error, stored)
	}

	other, err := sql.Open("sqlite", path)
	must(t, err)
	defer func() { _ = other.Close() }()
	_, err = other.Exec(`update error set message = 'by hand' where entity_id = 'one'`)
	must(t, err)
	if got := l.apply(t.Context(), e, lifecycle.Extend{Token: e.LeaseToken}); got.Message != "by hand" {
		t.Errorf("what another has written is not seen: %+v", got)
	}

	broken := errors.New("broken")
	err = s.writer.doAt(t.Context(), "", l.now, func(tx *tx) error {
		w, err := act{tx, s}.LoadSteps([]store.Step{{ID: e.ID}})
		must(t, err)
		w.Step(store.Step{ID: e.ID, Decide: l.step(lifecycle.Extend{Token: e.LeaseToken, Lease: time.Second})})
		must(t, tx.save(w))
		return broken
	})
	if !errors.Is(err, broken) {
		t.Fatal(err)
	}
	if stored, err = s.Error(t.Context(), e.ID); err != nil || stored.LeaseEndsAt.Sub(l.now) < 30*time.Second {
		t.Fatal(stored.LeaseEndsAt, err)
	}
	if kept, known := s.writer.tx.held.errors[e.ID]; known && *kept.Error != stored {
		t.Errorf("remembered is what was taken back: %+v", *kept.Error)
	}
	got := l.apply(t.Context(), e, lifecycle.Fail{Token: e.LeaseToken, Failure: lifecycle.Failure{
		Code: "NETWORK_TIMEOUT", Class: recoup.ClassShortDelay, Category: recoup.Transient}})
	rows, err := s.History(t.Context(), e.ID, 10)
	if err != nil || len(rows) != 2 || !rows[1].Before.NextRetryAt.Equal(stored.NextRetryAt) || got.LeaseToken != (recoup.ID{}) {
		t.Errorf("the history of %+v is %+v, %v: not of a lease until %v", got, rows, err, stored.NextRetryAt)
	}
	if len(s.writer.tx.held.errors) != 0 {
		t.Error("what nobody holds is remembered")
	}
}
