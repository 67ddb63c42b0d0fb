package clockwork_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"recoup"
	"recoup/internal/store"
)

// trouble is what may go wrong with a verb of the store.
type trouble int

// The faults: the caller gets an error, or the caller's process dies, before the
// verb or after its commit; or the caller sleeps before it while others go on.
const (
	none trouble = iota
	failsBefore
	failsAfter
	diesBefore
	diesAfter
	sleeps
)

// death is what a process panics with that is killed in the middle of something.
type death struct{}

var errCut = errors.New("the connection was cut")

// shaky is a store as nodes see it while things go wrong, one verb in so many.
type shaky struct {
	database
	r        *rand.Rand
	one      int // of so many verbs one goes wrong; 0: none
	struck   int
	applied  bool                // the last verb was carried out
	sleep    func()              // what the others do meanwhile
	recorded func([]store.Event) // told of what is in the ledger

	sabotage sabotage
}

// strike draws what happens to the next verb.
func (s *shaky) strike() trouble {
	if s.one == 0 || s.r.IntN(s.one) > 0 {
		return none
	}
	s.struck++
	return trouble(1 + s.r.IntN(int(sleeps)))
}

// shaken runs a verb, or what becomes of it.
func shaken[T any](s *shaky, verb func() (T, error)) (T, error) {
	var nothing T
	f := s.strike()
	s.applied = false
	switch f {
	case none:
	case failsBefore:
		return nothing, errCut
	case diesBefore:
		panic(death{})
	case sleeps:
		s.sleep()
	case failsAfter, diesAfter:
	}
	out, err := verb()
	s.applied = err == nil
	switch {
	case f == failsAfter:
		return nothing, errCut
	case f == diesAfter:
		panic(death{})
	}
	return out, err
}

// shakenOnly is shaken for verbs that return nothing.
func shakenOnly(s *shaky, verb func() error) error {
	_, err := shaken(s, func() (struct{}, error) { return struct{}{}, verb() })
	return err
}

func (s *shaky) Report(ctx context.Context, now time.Time, reports []store.Report) ([]store.Outcome, error) {
	return shaken(s, func() ([]store.Outcome, error) { return s.database.Report(ctx, now, reports) })
}

func (s *shaky) ApplySteps(ctx context.Context, now time.Time, steps []store.Step) ([]store.Outcome, error) {
	return shaken(s, func() ([]store.Outcome, error) { return s.database.ApplySteps(ctx, now, steps) })
}

func (s *shaky) ClaimDue(ctx context.Context, claim store.Claim) ([]recoup.Error, error) {
	return shaken(s, func() ([]recoup.Error, error) { return s.database.ClaimDue(ctx, claim) })
}

func (s *shaky) Due(ctx context.Context, d store.Deadline, now time.Time, limit int) ([]recoup.ID, error) {
	return shaken(s, func() ([]recoup.ID, error) { return s.database.Due(ctx, d, now, limit) })
}

func (s *shaky) InsertEvents(ctx context.Context, events []store.Event) (int, error) {
	return shaken(s, func() (int, error) {
		kept := events
		if s.sabotage == losesEvents && s.r.IntN(10) == 0 {
			kept = nil
		}
		n, err := s.database.InsertEvents(ctx, kept)
		if err == nil {
			s.recorded(events)
		}
		return n, err
	})
}

func (s *shaky) Lead(ctx context.Context, b store.Bid) (term store.Term, held bool, err error) {
	term, err = shaken(s, func() (store.Term, error) {
		term, ok, err := s.database.Lead(ctx, b)
		held = ok
		return term, err
	})
	return term, held && err == nil, err
}

func (s *shaky) Jobs(ctx context.Context) ([]store.Job, error) {
	return shaken(s, func() ([]store.Job, error) { return s.database.Jobs(ctx) })
}

func (s *shaky) SaveJob(ctx context.Context, term store.Term, job store.Job) error {
	return shakenOnly(s, func() error { return s.database.SaveJob(ctx, term, job) })
}

func (s *shaky) AddNotices(ctx context.Context, now time.Time, notices []store.Notice) (int, error) {
	return shaken(s, func() (int, error) { return s.database.AddNotices(ctx, now, notices) })
}

func (s *shaky) ClaimNotices(ctx context.Context, now time.Time, lease time.Duration, limit int) ([]store.PendingNotice, error) {
	return shaken(s, func() ([]store.PendingNotice, error) { return s.database.ClaimNotices(ctx, now, lease, limit) })
}

func (s *shaky) FinishNotices(ctx context.Context, now time.Time, deliveries []store.Delivery) (int, error) {
	return shaken(s, func() (int, error) { return s.database.FinishNotices(ctx, now, deliveries) })
}

func (s *shaky) PurgeArchive(ctx context.Context, now time.Time, limit int) (int, error) {
	return shaken(s, func() (int, error) { return s.database.PurgeArchive(ctx, now, limit) })
}

func (s *shaky) PurgeNotices(ctx context.Context, before time.Time, limit int) (int, error) {
	return shaken(s, func() (int, error) { return s.database.PurgeNotices(ctx, before, limit) })
}

func (s *shaky) PurgeReceipts(ctx context.Context, now time.Time, limit int) (int, error) {
	return shaken(s, func() (int, error) { return s.database.PurgeReceipts(ctx, now, limit) })
}

func (s *shaky) PurgeRollups(ctx context.Context, keep store.Retention, limit int) (int, error) {
	return shaken(s, func() (int, error) { return s.database.PurgeRollups(ctx, keep, limit) })
}

func (s *shaky) DropEvents(ctx context.Context, before time.Time) error {
	return shakenOnly(s, func() error { return s.database.DropEvents(ctx, before) })
}

func (s *shaky) EnsurePartitions(ctx context.Context, now time.Time) error {
	return shakenOnly(s, func() error { return s.database.EnsurePartitions(ctx, now) })
}

// Errors shows, to a test of the tests, an archived error as one that is open.
func (s *shaky) Errors(ctx context.Context, f store.Filter, p store.Page) ([]recoup.Error, store.Cursor, error) {
	list, next, err := s.database.Errors(ctx, f, p)
	if s.sabotage == keepsArchived && err == nil && next.IsZero() {
		archived, _, err := s.Archived(ctx, dol, store.Page{Limit: 1})
		return append(list, archived...), next, err
	}
	return list, next, err
}
