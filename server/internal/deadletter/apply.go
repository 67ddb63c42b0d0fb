package deadletter

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/batch"
	"github.com/recoup-dev/recoup/server/internal/check"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// Done is what became of one item of a call.
type Done struct {
	Letter   store.StagedWork
	Err      error
	Repeated bool // it was done before, under the same receipt
}

// Receipts gives each item of a call its receipt; nil: none has one.
type Receipts func(i int) *store.StagedReceipt

func (r Receipts) of(i int) *store.StagedReceipt {
	if r == nil {
		return nil
	}
	return r(i)
}

// At are the receipts of the items at these places.
func (r Receipts) At(place []int) Receipts {
	if r == nil {
		return nil
	}
	return func(k int) *store.StagedReceipt { return r(place[k]) }
}

func tooMany(n int) error {
	return fault.BadField("items", "max_items", "one call takes at most %d items, not %d", MaxBatch, n)
}

// each decides the change of every item and applies those that could be decided, in
// order.
func (s *Service) each(ctx context.Context, n int, step func(i int) (store.StagedStep, error)) ([]Done, error) {
	return batch.Each(ctx, n, func(i int) (store.StagedStep, error) {
		made, err := step(i)
		made.Receipt, made.Submission, made.EventOf = receipt(made.Receipt), receipt(made.Submission), s.event
		return made, err
	}, s.steps, func(_ int, o *store.StagedOutcome, err error) (Done, error) {
		if o == nil {
			return Done{Err: err}, nil
		}
		return recall(o)
	})
}

func (s *Service) steps(ctx context.Context, steps []store.StagedStep) ([]store.StagedOutcome, error) {
	return batch.Apart(steps, func(part []store.StagedStep) ([]store.StagedOutcome, error) {
		return engine.Renewed(ctx, s.Policies, func() ([]store.StagedOutcome, error) { return s.Store.StepStaged(ctx, time.Time{}, part) })
	}, func(err error) store.StagedOutcome { return store.StagedOutcome{Err: err} })
}

// answer is what a receipt keeps of an outcome.
type answer struct {
	Letter store.StagedWork `json:"letter"`
}

// receipt completes what a caller asked for with how an outcome is written down.
func receipt(r *store.StagedReceipt) *store.StagedReceipt {
	if r == nil {
		return nil
	}
	complete := *r
	complete.Answer = func(o store.StagedOutcome) []byte {
		if o.Repeated {
			return o.Answer
		}
		b, err := json.Marshal(answer{o.Letter})
		if err != nil {
			panic("deadletter: an answer is not JSON: " + err.Error())
		}
		return b
	}
	return &complete
}

// recall reads an outcome.
func recall(o *store.StagedOutcome) (Done, error) {
	if !o.Repeated {
		return Done{Letter: o.Letter, Err: o.Err}, nil
	}
	var kept answer
	if err := json.Unmarshal(o.Answer, &kept); err != nil {
		return Done{}, fmt.Errorf("the answer of a repeated request cannot be read: %w", err)
	}
	return Done{Letter: kept.Letter, Repeated: true}, nil
}

// event is what the ledger keeps of a failure: of an attempt that is followed by another,
// or of a round. The first round has the id of the error, and all others have an id of
// their own that is always the same.
func (s *Service) event(l *store.StagedWork, code recoup.Code) *store.Event {
	if q := &l.Queued; !q.WorkID.IsZero() {
		n := q.FailedStages()[q.Stage]
		id := derived(q.WorkID.String(), q.Stage, strconv.FormatInt(q.CreatedAt.UnixMicro(), 10), strconv.Itoa(n.Attempts))
		return engine.OwnEvent(s.Codes(), recoup.Event{ID: id, Code: code, CorrelationID: q.WorkID, Service: q.Pipeline, Endpoint: q.Stage, TS: n.LastFailureAt})
	}
	d := &l.Dead
	id := d.ErrorID
	if d.Round > 1 {
		id = derived(d.ErrorID.String(), strconv.Itoa(d.Round))
	}
	return engine.OwnEvent(s.Codes(), recoup.Event{ID: id, Code: code, CorrelationID: d.WorkID, Service: d.Pipeline, Endpoint: d.Stage, TS: d.UpdatedAt})
}

// derived is the id that these make, always the same.
func derived(parts ...string) recoup.ID {
	sum := sha256.Sum256([]byte(strings.Join(parts, "/")))
	return recoup.ID(sum[:len(recoup.ID{})])
}

// one is a call with one item.
func one(list []Done, err error) (Done, error) {
	if err != nil {
		return Done{}, err
	}
	return list[0], list[0].Err
}

// checkAction checks and cleans what a person wrote.
func (s *Service) checkAction(in *Action) error {
	var f check.Fields
	if t, ok := (*in).(Triage); ok {
		var err error
		t.Class, err = s.class(t.Class)
		f.Merge(err)
		*in = t
	}
	*in = (*in).clean(&f)
	return f.Err()
}

// CheckAction says what is wrong with an act on a dead letter, all of it: also what the
// dead letter demands, if it is there and it is its turn.
func (s *Service) CheckAction(ctx context.Context, c engine.Caller, id recoup.ID, in Action) error {
	var bad fault.FieldErrors
	bad.Merge(s.checkAction(&in))
	l, err := s.Store.DeadLetter(ctx, id)
	if err == nil && within(s.bounds(c), &l) && may(&l, in.act()) == nil {
		var f check.Fields
		in.take(&l, &f)
		bad.Merge(f.Err())
	}
	return bad.Err()
}

// Take does an act of the workflow on a dead letter.
func (s *Service) Take(ctx context.Context, c engine.Caller, id recoup.ID, in Action, r *store.StagedReceipt) (Done, error) {
	if err := s.checkAction(&in); err != nil {
		return Done{}, err
	}
	return one(s.each(ctx, 1, func(int) (store.StagedStep, error) {
		return store.StagedStep{ErrorID: id, Decide: s.only(c, sqldb.ErrNotFound, s.step(in, c.Name)), Receipt: r}, nil
	}))
}
