package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/ledger"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// The ways in which a store fails.
var (
	errAway    = fault.OnAcquire(errors.New("no connection"))
	errUnknown = fault.OnCommit(errors.New("the connection broke"))
	errFull    = fault.New(fault.CodeStorageFull, "the disk is full")
	errBroken  = errors.New("nobody knows what this is")
	errBusy    = fmt.Errorf("%w: locked", store.ErrBusy)
)

// sqlState is an error as drivers of SQL databases return it.
type sqlState string

func (s sqlState) Error() string    { return "SQLSTATE " + string(s) }
func (s sqlState) SQLState() string { return string(s) }

// poison is the service of events that the fake refuses.
const poison = "poison"

// fake is a store whose failures are scripted. It is for sequences of failures that
// a real one cannot be brought to on command.
type fake struct {
	mu    sync.Mutex
	rows  map[recoup.ID]int // how often each event was added
	drops map[string]int64
	sizes []int       // of every insert that was asked for
	at    []time.Time // and when
	now   func() time.Time

	// fail decides about the n-th call, from 1. applied says that the work is done
	// all the same.
	fail func(n int) (applied bool, err error)

	refuses error                 // of poison
	linger  func(context.Context) // before an insert; nil: not at all
}

func newFake(fail func(n int) (bool, error)) *fake {
	return &fake{rows: map[recoup.ID]int{}, drops: map[string]int64{}, now: time.Now, fail: fail, refuses: store.ErrRefused}
}

// works never fails.
func works(int) (bool, error) { return false, nil }

// failing fails the first n calls.
func failing(n int, err error) func(int) (bool, error) {
	return func(call int) (bool, error) {
		if call <= n {
			return false, err
		}
		return false, nil
	}
}

func (f *fake) InsertEvents(ctx context.Context, events []store.Event) (added int, err error) {
	if f.linger != nil {
		f.linger(ctx)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sizes = append(f.sizes, len(events))
	f.at = append(f.at, f.now())
	applied, err := f.fail(len(f.sizes))
	if err == nil {
		err = ctx.Err()
	}
	if err != nil && !applied {
		return 0, err
	}
	for _, e := range events {
		if e.Service == poison {
			return 0, fmt.Errorf("poison: %w", f.refuses)
		}
	}
	for _, e := range events {
		if f.rows[e.ID] == 0 {
			f.rows[e.ID] = 1
			added++
		}
	}
	return added, err
}

func (f *fake) CountDrops(ctx context.Context, drops []store.Drop) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := f.fail(len(f.sizes)); err != nil {
		return err
	}
	for _, d := range drops {
		f.drops[d.Reason] += d.N
	}
	return ctx.Err()
}

// view is what a test sees of a fake.
type view struct {
	sizes []int
	at    []time.Time
	rows  int
	drops map[string]int64
}

func (f *fake) look() view {
	f.mu.Lock()
	defer f.mu.Unlock()
	return view{slices.Clone(f.sizes), slices.Clone(f.at), len(f.rows), maps.Clone(f.drops)}
}

// has reports how many of the events were added.
func (f *fake) has(events []store.Event) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range events {
		n += f.rows[e.ID]
	}
	return n
}

// said is a log that a test looks into.
type said struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *said) count(text string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Count(s.text.String(), text)
}

// newWriter returns a writer on a store with the clock of the bubble and no jitter.
func newWriter(t testing.TB, s ledger.Store, change func(*ledger.Options)) *ledger.Writer {
	t.Helper()
	o := ledger.Options{Store: s, Tally: ledger.NewTally(), Now: time.Now, Random: func() float64 { return 0 }}
	if change != nil {
		change(&o)
	}
	w, err := ledger.NewWriter(o)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func mustAppend(t testing.TB, w *ledger.Writer, events []store.Event) *ledger.Receipt {
	t.Helper()
	r, err := w.Append(context.Background(), events)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func mustClose(t testing.TB, w *ledger.Writer) {
	t.Helper()
	if err := w.Close(context.Background()); err != nil {
		t.Error(err)
	}
	s := w.Stats()
	decided := s.Written + s.Duplicates + s.Lost + s.Dropped[ledger.DropRefusedByStore] + s.Dropped[ledger.DropStoreFailed]
	if s.Held != 0 || s.Bytes != 0 || s.Oldest != 0 || decided != s.Accepted {
		t.Errorf("at the end the books are wrong: %+v", s)
	}
}

// wantCode says that an error is one of the contract, with a time to wait.
func wantCode(t testing.TB, err error, code recoup.Code, wait time.Duration) {
	t.Helper()
	var e *fault.Error
	if !errors.As(err, &e) || e.Code != code || e.RetryAfter < wait {
		t.Errorf("got %v, want %s after %v", err, code, wait)
	}
}

func logger(s *said) *slog.Logger { return slog.New(slog.NewTextHandler(s, nil)) }
