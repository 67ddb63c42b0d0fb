package deadletter

import (
	"cmp"
	"context"
	"encoding/hex"
	"strings"
	"time"

	"recoup"
	"recoup/fault"
	"recoup/internal/check"
	"recoup/internal/engine"
	"recoup/internal/lifecycle"
	"recoup/internal/redact"
	"recoup/internal/store"
)

// Failure is work that failed for good, as a worker or a client tells it (spec
// 002, 8.4).
type Failure struct {
	WorkID    recoup.ID
	Token     recoup.ID // of the lease; zero: the work is not in the queue
	Table     string    // of dead letters; empty: that of the pipeline's hub, else the policy's first
	Entity    string
	Pipeline  string // of work in the queue: as it is there
	Stage     string
	Class     string
	Exhausted bool // it could be retried, and its budget is spent
	Stack     string
	Context   map[string]any

	FirstFailureAt time.Time
	LastFailureAt  time.Time
	PayloadRef     string
	PayloadHash    string
	Payload        []byte // nil: it is not kept, or is already

	// Whole demands every part that spec 002, 8.4 names, of those who tell of it.
	Whole   bool
	Receipt *store.LetterReceipt
}

// demand complains about parts that are missing.
func (in *Failure) demand(f *check.Fields) {
	if strings.TrimSpace(in.Stack) == "" {
		f.Addf("last_stack", "required", `last_stack is required: the stack or the chain of errors, or "none" where there is no stack`)
	}
	f.Require("first_failure_at", !in.FirstFailureAt.IsZero())
	f.Require("last_failure_at", !in.LastFailureAt.IsZero())
	if !f.Require("sanitized_context", in.Context != nil) {
		return
	}
	attempts, _ := in.Context["attempts"].(map[string]any)
	if n, ok := attempts[in.Stage].(float64); !ok || n < 1 {
		f.Addf("sanitized_context.attempts", "required",
			`sanitized_context.attempts is required: how often each stage was tried, the failed one at least, such as {"fetch": 1, "llm": 5}`)
	}
}

// breakdown is a failure that was checked and cleaned.
type breakdown struct {
	Failure
	failure   lifecycle.Failure
	severity  recoup.Severity
	message   string
	signature string
	context   store.JSON
	sealed    store.Payload
	id        recoup.ID // of the error, should it be a new one
	spent     bool      // the system tells of it: no worker holds the work
	by        string
}

// Record makes dead letters of failures, in order, each answered for itself.
func (s *Service) Record(ctx context.Context, c engine.Caller, failures []Failure) ([]Done, error) {
	if len(failures) > MaxBatch {
		return nil, tooMany(len(failures))
	}
	now := s.now()
	return s.each(ctx, len(failures), func(i int) (store.LetterStep, error) {
		b, err := s.prepare(&failures[i], c, now)
		if err != nil {
			return store.LetterStep{}, err
		}
		return store.LetterStep{WorkID: b.WorkID, Decide: s.only(c, taken(), s.breakdown(b)), Receipt: failures[i].Receipt}, nil
	})
}

// CheckFailure says everything that is wrong with a failure, and does nothing.
func (s *Service) CheckFailure(in *Failure) error {
	_, err := s.check(in, s.now())
	return err
}

// prepare checks and cleans a failure, and seals its payload.
func (s *Service) prepare(in *Failure, c engine.Caller, now time.Time) (*breakdown, error) {
	b, err := s.check(in, now)
	if err != nil {
		return nil, err
	}
	if err := cmp.Or(s.within(c, in.Pipeline), s.mayKeep(c, in.Table)); err != nil {
		return nil, err
	}
	b.by = c.Name
	b.sealed, err = s.sealPayload(in.WorkID, in.Payload, now)
	return b, err
}

// check checks and cleans a failure. What the client has cleaned is cleaned
// once more: nothing is stored because somebody else said that it was safe.
func (s *Service) check(in *Failure, now time.Time) (*breakdown, error) {
	var f check.Fields
	b := &breakdown{Failure: *in, id: s.IDs.New(now)}
	f.Require("work_id", !in.WorkID.IsZero())
	f.Identifier("entity_id", in.Entity)
	if in.Token.IsZero() {
		f.Name("pipeline", in.Pipeline)
	}
	f.Name("stage", in.Stage)
	if in.Whole {
		in.demand(&f)
	}
	s.classify(b, &f)
	clean := text(&f, "last_stack", in.Stack, MaxStack)
	b.message, b.signature, b.Stack = cut(cause(clean), 1000), Signature(clean), cut(clean, maxKeptStack)
	kept, _ := redact.Context(in.Context)
	b.context = store.EncodeJSON(kept)
	checkPayload(&f, in.PayloadRef, in.PayloadHash, in.Payload)
	if _, err := s.table(in.Table); err != nil && !f.Merge(err) {
		return nil, err
	}
	if err := f.Err(); err != nil {
		return nil, err
	}
	return b, nil
}

// classify folds the class. A conditional one that was retried until its budget
// was spent could be retried: its condition was proven where it ran.
func (s *Service) classify(b *breakdown, f *check.Fields) {
	def, code, err := s.Codes().Fold(b.Class)
	switch {
	case err != nil:
		f.Addf("error_class", "pattern", "error_class must look like a code: %v", err)
		return
	case def.Code != code:
		f.Folded("error_class", b.Class, string(code))
	}
	b.severity = def.Severity
	b.failure = lifecycle.Failure{Code: code, Class: def.Effective(b.Exhausted), Category: def.Category, Exhausted: b.Exhausted}
}

// at is the failure as it is told at a time, with its own times in order: those of
// another clock may lie in the future.
func (b *breakdown) at(now time.Time) *breakdown {
	told := *b
	within := func(t, last time.Time) time.Time {
		if t.IsZero() || t.After(last) {
			return last
		}
		return t.UTC().Truncate(time.Microsecond)
	}
	told.LastFailureAt = within(b.LastFailureAt, now)
	told.FirstFailureAt = within(b.FirstFailureAt, told.LastFailureAt)
	return &told
}

// checkPayload checks what is said of a payload. A reference identifies, so it
// must not be one that opens: no key and no signature in it.
func checkPayload(f *check.Fields, ref, hash string, payload []byte) {
	f.Identifier("payload_ref", ref)
	if _, err := hex.DecodeString(hash); err != nil || len(hash) > 64 {
		f.Addf("payload_hash", "pattern", "payload_hash must be hexadecimal, of 64 digits at most")
	}
	if len(payload) > MaxPayload {
		f.Addf("payload", "max_length", "payload may have %d bytes, not %d", MaxPayload, len(payload))
	}
}

func (s *Service) sealPayload(work recoup.ID, payload []byte, now time.Time) (store.Payload, error) {
	if payload == nil {
		return store.Payload{}, nil
	}
	key, sealed, err := s.Keys.seal(work, payloadPlace, payload)
	return store.Payload{WorkID: work, KeyID: key, Sealed: sealed, At: now}, err
}

// breakdown decides what becomes of work that failed for good: a dead letter, or
// the next round of the one that was replayed.
func (s *Service) breakdown(b *breakdown) store.DecideLetter {
	return func(l store.Letter, now time.Time) (store.Letter, store.LetterEffects, error) {
		var effects store.LetterEffects
		b := b.at(now)
		if err := b.fenced(&l); err != nil {
			return l, effects, err
		}
		var err error
		if l.Dead.Open() {
			err = s.failAgain(&l, &effects, b, now)
		} else {
			err = s.bury(&l, &effects, b, now)
		}
		if err != nil {
			return l, effects, err
		}
		d := &l.Dead
		l.Queued = store.QueuedWork{}
		d.Round++
		d.Step, d.Cause = store.StepNew, ""
		d.Stage, d.Class, d.Signature, d.Exhausted = b.Stage, b.failure.Code, b.signature, b.Exhausted
		d.LastFailureAt, d.UpdatedAt = b.LastFailureAt, now
		effects.Payload = b.sealed
		effects.Round = store.Round{
			ErrorID: d.ErrorID, Round: d.Round, ReplayID: effects.Round.ReplayID, Stage: d.Stage, Class: d.Class, Signature: d.Signature,
			LastStack: b.Stack, Context: b.context, FirstFailureAt: b.FirstFailureAt, LastFailureAt: b.LastFailureAt, At: now,
		}
		return l, effects, nil
	}
}

// fenced reports whether whoever tells of the failure is the one to tell.
func (b *breakdown) fenced(l *store.Letter) error {
	switch {
	case b.spent && l.Queued.DueAt.IsZero() && !l.Queued.WorkID.IsZero():
		return nil
	case b.spent:
		return leaseLost(l)
	case !l.Queued.WorkID.IsZero() || !b.Token.IsZero():
		return holds(l, b.Token)
	case l.Dead.Open():
		return fault.New(fault.CodeConflict, "This work is a dead letter already.").With("error_id", l.Dead.ErrorID.String()).With("step", string(l.Dead.Step))
	}
	return nil
}

// bury makes a dead letter of work that had none.
func (s *Service) bury(l *store.Letter, effects *store.LetterEffects, b *breakdown, now time.Time) (err error) {
	pipeline := cmp.Or(l.Queued.Pipeline, b.Pipeline)
	table, err := s.tableOf(b.Table, pipeline)
	if err != nil {
		return err
	}
	l.Error, effects.Effects, err = lifecycle.Step(s.Policies.Current(), nil, lifecycle.Report{
		ID: b.id, Table: table.Name, EntityID: b.Entity, Failure: b.failure, Severity: b.severity,
		Message: b.message, CorrelationID: b.WorkID, By: b.teller(l),
	}, now)
	l.Dead = store.DeadLetter{
		ErrorID: b.id, WorkID: b.WorkID, Pipeline: pipeline, FirstFailureAt: b.FirstFailureAt, CreatedAt: now,
		PayloadRef: cmp.Or(l.Queued.PayloadRef, b.PayloadRef), PayloadHash: cmp.Or(l.Queued.PayloadHash, b.PayloadHash),
		PreviousID: l.Previous.ErrorID,
	}
	return err
}

// engineering is the tier of an engineering review.
const engineering = 2

// failAgain begins the next round of a dead letter whose replay failed. The same
// class again, where no retry helps, is for the engineers at once.
func (s *Service) failAgain(l *store.Letter, effects *store.LetterEffects, b *breakdown, now time.Time) error {
	in := lifecycle.FailAgain{By: b.teller(l), Failure: b.failure, Expires: l.Dead.HeldExpiry}
	l.Item.State = store.ItemFailed
	if b.failure.Code == l.Dead.Class {
		l.Item.State = store.ItemRepeated
		if b.failure.Class == recoup.ClassFatal {
			in.Tier, in.Reason = engineering, store.EngineeringReview
		}
	}
	if err := s.move(l, effects, in, now); err != nil {
		return err
	}
	effects.Round.ReplayID = l.Item.ReplayID
	l.Item.EndedAt, l.Item.Worker, l.Item.Class, l.Item.Detail = now, l.Queued.LeaseWorker, b.failure.Code, b.signature
	l.Dead.HeldExpiry = time.Time{}
	return nil
}

// teller is who tells of a failure: the worker that had the work, or the caller.
func (b *breakdown) teller(l *store.Letter) string { return cmp.Or(l.Queued.LeaseWorker, b.by) }
