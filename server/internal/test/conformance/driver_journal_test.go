package conformance

import (
	"bytes"
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// mortal is a store whose node dies with one of its verbs: before it is carried
// out, or after that and before anybody hears of it.
type mortal struct {
	storeOfItems
	*memory
	lives   atomic.Int64 // verbs until death
	carried bool         // the last verb is carried out
}

// storeOfItems is the part of a store that changes errors.
type storeOfItems interface {
	Report(context.Context, time.Time, []store.Report) ([]store.Outcome, error)
	ApplySteps(context.Context, time.Time, []store.Step) ([]store.Outcome, error)
	ClaimDue(context.Context, store.Claim) ([]recoup.Error, error)
}

var errDead = errors.New("the node is dead")

// die reports whether a verb is carried out, and whether its caller gets an answer.
func (s *mortal) die() (carried bool, err error) {
	switch left := s.lives.Add(-1); {
	case left > 0:
		return true, nil
	case left == 0:
		return s.carried, errDead
	}
	return false, errDead
}

func (s *mortal) Report(ctx context.Context, now time.Time, reports []store.Report) ([]store.Outcome, error) {
	carried, dead := s.die()
	if !carried {
		return nil, dead
	}
	outcomes, err := s.storeOfItems.Report(ctx, now, reports)
	return outcomes, errors.Join(err, dead)
}

func (s *mortal) ApplySteps(ctx context.Context, now time.Time, steps []store.Step) ([]store.Outcome, error) {
	carried, dead := s.die()
	if !carried {
		return nil, dead
	}
	outcomes, err := s.storeOfItems.ApplySteps(ctx, now, steps)
	return outcomes, errors.Join(err, dead)
}

func (s *mortal) ClaimDue(ctx context.Context, claim store.Claim) ([]recoup.Error, error) {
	carried, dead := s.die()
	if !carried {
		return nil, dead
	}
	claimed, err := s.storeOfItems.ClaimDue(ctx, claim)
	return claimed, errors.Join(err, dead)
}

// survive lets a node die and reports whether what it leaves is whole. lost is
// how many bytes of the journal went with it.
func survive(t *testing.T, items storeOfItems, m *memory, lives int64, carried bool, callers, lost int) bool {
	s := &mortal{storeOfItems: items, memory: m, carried: carried}
	s.lives.Store(lives)
	var journal bytes.Buffer
	d := NewDriver(t, s)
	d.Journal(&journal)
	d.together(callers, func(i int) error {
		if err := d.Churn(t.Context(), uint64(lives)+uint64(i)<<32, 1000); !errors.Is(err, errDead) {
			return errors.New("it survived")
		}
		return nil
	})
	journal.Truncate(max(0, journal.Len()-lost))
	return !fails(t, func(d *Driver) {
		d.Recover(&journal)
		d.Check()
	}, m)
}

// Whatever a dead node has heard must be there, and what it has not heard must
// be there as a whole or not at all.
func TestADriverTakesUpWhereAnotherDied(t *testing.T) {
	for lives := range int64(60) {
		for _, carried := range []bool{true, false} {
			m := newMemory()
			if !survive(t, m, m, lives+1, carried, 3, 0) {
				t.Fatalf("after %d verbs, the last one carried out: %v", lives, carried)
			}
		}
	}
}

// The last acknowledgement may be lost in part with its writer.
func TestAJournalMayEndInTheMiddleOfAWord(t *testing.T) {
	for lost := range 5 {
		m := newMemory()
		if !survive(t, m, m, 25, false, 1, lost) {
			t.Fatalf("without its last %d bytes", lost)
		}
	}
}

// torn carries out its batches only in part when the node dies: a store whose
// verbs are no transactions.
type torn struct{ *memory }

func (s torn) Report(ctx context.Context, now time.Time, reports []store.Report) ([]store.Outcome, error) {
	outcomes, err := s.memory.Report(ctx, now, reports)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range outcomes {
		delete(s.history, r.Error.ID)
	}
	return outcomes, err
}

func TestATornVerbIsNoticed(t *testing.T) {
	m := newMemory()
	if survive(t, torn{m}, m, 25, true, 3, 0) {
		t.Error("history rows are missing, and nobody noticed")
	}
	m = newMemory()
	if survive(t, forgetfulOfSteps{m}, m, 25, true, 3, 0) {
		t.Error("an acknowledged act is missing, and nobody noticed")
	}
}

// forgetfulOfSteps acknowledges acts that it does not keep.
type forgetfulOfSteps struct{ *memory }

func (s forgetfulOfSteps) ApplySteps(ctx context.Context, now time.Time, steps []store.Step) ([]store.Outcome, error) {
	over, cancel := context.WithCancel(ctx)
	cancel()
	outcomes, _ := s.memory.ApplySteps(over, now, steps)
	return outcomes, nil
}
