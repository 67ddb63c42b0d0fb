package ledger

import (
	"context"
	"errors"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/retry"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// written is which way events went, and how many of them were new to the store.
type written struct {
	way   way
	added int
}

// insert brings events where they are safe, through all failures that can pass.
func (w *Writer) insert(events []store.Event) (result written, err error) {
	bring := w.addToStore(events)
	if w.o.Transport != nil {
		bring = w.publish(events)
	}
	begun := w.o.Now()
	err = w.persist(&w.trouble, func(ctx context.Context) error {
		begun = w.o.Now()
		result, err = bring(ctx)
		return err
	})
	if err == nil {
		w.observe(w.o.Now().Sub(begun))
	}
	return result, err
}

func (w *Writer) addToStore(events []store.Event) func(context.Context) (written, error) {
	return func(ctx context.Context) (written, error) {
		added, err := w.o.Store.InsertEvents(ctx, events)
		return written{byStore, added}, err
	}
}

// persist calls the store, or the transport, until it succeeds, refuses, or has failed too often in a
// way that looks permanent. It returns errGivenUp when closing can wait no longer.
// The work must do no harm when it is done twice.
func (w *Writer) persist(t *trouble, work func(context.Context) error) error {
	permanent := 0
	for n := 1; ; n++ {
		if w.life.Err() != nil {
			return errGivenUp
		}
		err := w.try(work)
		if err == nil || Poisonous(err) {
			w.answered(t)
			return err
		}
		if w.life.Err() != nil {
			return errGivenUp
		}
		verdict := Judge(err)
		if !Passing(verdict) {
			if permanent++; permanent > w.o.Retry.MaxRetries {
				return err
			}
		}
		delay := w.o.Retry.Schedule.Delay(n, w.o.Random)
		w.failed(t, verdict, delay, err)
		if retry.Sleep(w.life, delay) != nil {
			return errGivenUp
		}
	}
}

func (w *Writer) try(work func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(w.life, w.o.WriteLimit)
	defer cancel()
	return work(ctx)
}

// Judge says what a failure of the store means. That a lock could not be had is
// something the embedded store says in the stores' own words only.
func Judge(err error) fault.Verdict {
	if errors.Is(err, store.ErrBusy) {
		return fault.Classify(fault.New(fault.CodeDatabaseBusy, ""))
	}
	return fault.Classify(err)
}

// Passing reports whether a failure can pass by itself. Adding an event twice does no
// harm, and a full disk may have room again by the next try.
func Passing(v fault.Verdict) bool {
	return v.Retryable(recoup.ConditionIdempotencyKey, recoup.ConditionStateChanged)
}

// Poisonous reports whether a batch failed for what is in it: a rule of the
// database, a constraint, a value that it cannot hold, more than a message can.
func Poisonous(err error) bool {
	if err == nil || errors.Is(err, store.ErrRefused) || errors.Is(err, ErrTooLarge) {
		return err != nil
	}
	switch fault.Classify(err).Code {
	case fault.CodeConstraintViolation, fault.CodeSchemaInvalid:
		return true
	}
	return false
}

// trouble is what is known of a store that fails. The zero value is none.
type trouble struct {
	code  recoup.Code
	kind  any // error_type of the failure, where it has one
	since time.Time
	delay time.Duration // until it is tried again
}

// fault is what a caller is answered whose events cannot be written now. The code is that of the
// store's own failure, where the contract has one for it.
func (t trouble) fault(cause error, then string) *fault.Error {
	code, said := fault.CodeDatabaseConnectionError, "The ledger's database cannot be reached."
	switch t.code {
	case fault.CodeStorageFull:
		code, said = t.code, "The ledger's database has no space left, or cannot write to its disk."
	case fault.CodeTemporaryUnavailable:
		code, said = t.code, "The ledger's database refuses to be written by this node; the node's log says why."
	case fault.CodeDatabaseBusy, fault.CodeTransactionConflict, fault.CodeQueryCancelled:
		code, said = fault.CodeDatabaseBusy, "The ledger's database is busy, or another session locks the ledger."
	case "":
		said = "The ledger's database has not answered yet."
	}
	e := fault.Wrap(cause, code, "%s %s", said, then).After(t.wait())
	if t.kind != nil {
		e = e.With("error_type", t.kind)
	}
	return e
}

// away reports whether the store cannot be had at all, rather than being slow.
func (t trouble) away() bool {
	switch t.code {
	case "", fault.CodeDatabaseBusy, fault.CodeTransactionConflict, fault.CodeQueryCancelled:
		return false
	}
	return true
}

// wait is how long a caller should stay away.
func (t trouble) wait() time.Duration { return max(t.delay, leastWait) }

// failed notes a failure. The log hears of the first of several.
func (w *Writer) failed(t *trouble, v fault.Verdict, delay time.Duration, err error) {
	now := w.o.Now()
	w.mu.Lock()
	first := t.code == ""
	if first {
		t.since = now
	}
	t.code, t.kind, t.delay = v.Code, v.Details["error_type"], delay
	w.sums.failures++
	held := w.held
	w.mu.Unlock()
	if first {
		w.o.Logger.Warn("ledger cannot write; buffering events", "code", string(v.Code), "events", held, "error", err)
	}
}

// answered notes that the store works.
func (w *Writer) answered(t *trouble) {
	w.mu.Lock()
	was := *t
	*t = trouble{}
	w.mu.Unlock()
	if was.code != "" {
		w.o.Logger.Info("ledger recovered", "after", w.o.Now().Sub(was.since))
	}
}

// writeDrops brings the tally to the store now and then, and once more when
// nothing can be dropped any more. A commit whose outcome nobody knows is repeated:
// a drop may be counted twice, but none is forgotten.
func (w *Writer) writeDrops(drained <-chan struct{}) {
	at := &w.trouble
	if w.o.Transport != nil { // without the database events go on
		at = &w.undrawn
	}
	tick := time.NewTicker(w.o.DropDelay)
	defer tick.Stop()
	for last := false; !last; {
		select {
		case <-tick.C:
		case <-drained:
			last = true
		}
		drops := w.o.Tally.take()
		if len(drops) == 0 {
			continue
		}
		err := w.persist(at, func(ctx context.Context) error { return w.o.Store.CountDrops(ctx, drops) })
		if err != nil {
			w.o.Tally.putBack(drops)
		}
	}
}
