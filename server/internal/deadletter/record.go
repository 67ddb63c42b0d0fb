package deadletter

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/internal/redact"
	"github.com/recoup-dev/recoup/retry"
	"github.com/recoup-dev/recoup/server/internal/check"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/fingerprint"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// demand complains about parts that are missing, of those that spec 002, 8.4 names.
func demand(f *check.Fields, in *recoup.StageFailure) {
	if strings.TrimSpace(in.LastStack) == "" {
		f.Addf("last_stack", "required", `last_stack is required: the stack or the chain of errors, or "none" where there is no stack`)
	}
	f.Require("first_failure_at", !in.FirstFailureAt.IsZero())
	f.Require("last_failure_at", !in.LastFailureAt.IsZero())
	if f.Require("sanitized_context", in.Context != nil) && in.LeaseToken.IsZero() && !tried(in) {
		f.Addf("sanitized_context.attempts", "required",
			`sanitized_context.attempts is required: how often each stage was tried, the failed one at least, such as {"fetch": 1, "llm": 5}`)
	}
}

// tried reports whether a failure says how often its stage was tried. Of claimed work
// the server knows it.
func tried(in *recoup.StageFailure) bool {
	attempts, _ := in.Context["attempts"].(map[string]any)
	return number(attempts[in.Stage]) >= 1
}

// Record makes dead letters of failures, in order; each succeeds or fails on its own.
func (s *Service) Record(ctx context.Context, c engine.Caller, failures []recoup.StageFailure, receipts Receipts) ([]Done, error) {
	if len(failures) > MaxBatch {
		return nil, tooMany(len(failures))
	}
	return s.each(ctx, len(failures), func(i int) (store.StagedStep, error) {
		in := failures[i]
		in.Final = true
		decide, err := s.failed(c, in, fenced)
		return store.StagedStep{WorkID: failures[i].WorkID, Decide: s.only(c, taken(), decide), Receipt: receipts.of(i)}, err
	})
}

// CheckFailure says everything that is wrong with a failure, and does nothing.
func (s *Service) CheckFailure(in recoup.StageFailure) error {
	_, err := s.check(&in)
	return err
}

// breakdown is a failure that was checked and redacted: the report for the lifecycle,
// should it be a new error, the round of the dead letter with the context that was kept,
// and what the policy is asked about it.
type breakdown struct {
	report  lifecycle.Report
	round   recoup.Round
	context map[string]any
	retry   retry.Failure
	spent   recoup.Class // what it is once its budget is spent
}

// check validates a failure and redacts it, also if the client says that it has done so.
func (s *Service) check(in *recoup.StageFailure) (b breakdown, err error) {
	var f check.Fields
	f.Require("work_id", !in.WorkID.IsZero())
	check.Normalize(&in.EntityID, &in.PayloadRef)
	f.Identifier("entity_id", in.EntityID)
	if in.LeaseToken.IsZero() {
		f.Name("pipeline", in.Pipeline)
	}
	f.Name("stage", in.Stage)
	demand(&f, in)
	switch {
	case in.RetryAfter < 0:
		f.Addf("retry_after", "minimum", "retry_after must not be negative")
	case in.RetryAfter > maxRetryAfter:
		f.Addf("retry_after", "maximum", "retry_after must be at most %d seconds", maxRetryAfter)
	}
	b.report = lifecycle.Report{EntityID: in.EntityID, CorrelationID: in.WorkID}
	s.classify(in, &b, &f)
	clean := text(&f, "last_stack", in.LastStack, MaxStack)
	b.report.Message = fingerprint.Cut(fingerprint.Cause(clean), 1000)
	b.context, _ = redact.Context(in.Context)
	checkPayload(&f, in.PayloadRef, &in.PayloadHash, in.Payload)
	if _, err := s.table(in.Table); err != nil && !f.Merge(err) {
		return b, err
	}
	b.round = recoup.Round{
		Stage: in.Stage, Class: b.report.Failure.Code, Signature: fingerprint.Signature(clean), LastStack: fingerprint.Cut(clean, maxKeptStack), Context: recoup.EncodeJSON(b.context),
		FirstFailureAt: in.FirstFailureAt, LastFailureAt: in.LastFailureAt,
	}
	return b, f.Err()
}

// classify folds the class. A conditional one that was retried until its budget
// was spent could be retried: its condition was proven where it ran.
func (s *Service) classify(in *recoup.StageFailure, b *breakdown, f *check.Fields) {
	def, code, err := s.Codes().Fold(string(in.Class))
	switch {
	case err != nil:
		f.Addf("error_class", "pattern", "error_class must look like a code: %v", err)
		return
	case def.Code != code:
		f.Folded("error_class", string(in.Class), string(code))
	}
	b.report.Severity = def.Severity
	b.report.Failure = lifecycle.Failure{Code: code, Class: def.Effective(in.Exhausted), Category: def.Category, Exhausted: in.Exhausted}
	b.retry, b.spent = s.retryable(in, code), def.Effective(true)
}

// at returns a round reported at now, with its own times in order: those of another
// clock may lie in the future.
func at(r recoup.Round, now time.Time) recoup.Round {
	within := func(t, last time.Time) time.Time {
		if t.IsZero() || t.After(last) {
			return last
		}
		return t.UTC().Truncate(time.Microsecond)
	}
	r.LastFailureAt = within(r.LastFailureAt, now)
	r.FirstFailureAt = within(r.FirstFailureAt, r.LastFailureAt)
	r.At = now
	return r
}

// checkPayload checks what is said of a payload, and truncates its hash. A reference
// identifies, so it must not be one that opens: no key and no signature in it.
func checkPayload(f *check.Fields, ref string, hash *string, payload []byte) {
	f.Identifier("payload_ref", ref)
	if *hash != "" {
		kept, ok := redact.TruncatedHash(*hash)
		switch {
		case secretive(*hash) || secretive(strings.ToUpper(*hash)): // the number of an account can be hexadecimal
			f.Addf("payload_hash", "no_secret", "payload_hash is not a hash: it spells out what looks like a secret")
		case !redact.HashForm(*hash):
			f.Addf("payload_hash", "pattern", "payload_hash must be a hash in hexadecimal or base64url, of 4 to 128 characters; send the first 16 hexadecimal digits of a SHA-256")
		case !ok: // it cannot be told from words or from a number
			kept = ""
		}
		*hash = kept
	}
	if len(payload) > MaxPayload {
		f.Addf("payload", "max_length", "payload may have %d bytes, not %d", MaxPayload, len(payload))
	}
}

func secretive(text string) bool {
	clean, _ := redact.Default().String(text)
	return clean != text
}

func (s *Service) encryptPayload(work recoup.ID, payload []byte, now time.Time) (store.Payload, error) {
	if payload == nil {
		return store.Payload{}, nil
	}
	key, encrypted, err := s.Keys.encrypt(work, payloadPlace, payload)
	return store.Payload{WorkID: work, KeyID: key, Sealed: encrypted, At: now}, err
}

// failed checks and redacts a failure, encrypts its payload, and decides what becomes of
// the work: it is tried again, or it is a dead letter, or the next round of the one that
// was replayed.
func (s *Service) failed(c engine.Caller, in recoup.StageFailure, fence func(*recoup.StageFailure, *store.StagedWork) error) (store.DecideStaged, error) {
	return s.failedAs(s.IDs.New(s.now()), c, in, fence)
}

// failedAs is failed with the id that a new dead letter has.
func (s *Service) failedAs(id recoup.ID, c engine.Caller, in recoup.StageFailure, fence func(*recoup.StageFailure, *store.StagedWork) error) (store.DecideStaged, error) {
	b, err := s.check(&in)
	if err == nil {
		err = cmp.Or(s.within(c, in.Pipeline), s.mayKeep(c, in.Table))
	}
	if err != nil {
		return nil, err
	}
	draw := s.Random()
	b.report.ID = id
	payload, err := s.encryptPayload(in.WorkID, in.Payload, s.now())
	return func(l store.StagedWork, now time.Time) (store.StagedWork, store.StagedEffects, error) {
		if err := fence(&in, &l); err != nil {
			return l, store.StagedEffects{}, err
		}
		b, in := b, in
		b.round, b.report.By = at(b.round, now), cmp.Or(l.Queued.LeaseWorker, c.Name) // the worker that had the work, or the caller
		if !l.Queued.WorkID.IsZero() {
			counted, verdict := again(s.Policies.Current().Stage, l.Queued, &b.round, b.retry, draw)
			if verdict == retry.Retry {
				l.Queued = counted
				return l, store.StagedEffects{Effects: lifecycle.Effects{Event: b.retry.Code}}, nil
			}
			countedIn(&b.round, b.context, &counted)
			if verdict == retry.BudgetSpent {
				in.Exhausted, b.report.Failure.Exhausted, b.report.Failure.Class = true, true, b.spent
			}
		}
		effects := store.StagedEffects{Payload: payload, Round: b.round}
		err := s.giveUp(&l, &effects, &in, b.report)
		return l, effects, err
	}, err
}

// giveUp makes a dead letter of work that failed, or begins the next round of the one
// that it has.
func (s *Service) giveUp(l *store.StagedWork, effects *store.StagedEffects, in *recoup.StageFailure, report lifecycle.Report) error {
	decide := s.deadLetter
	if l.Dead.Open() {
		decide = s.failAgain
	}
	if err := decide(l, effects, in, report); err != nil {
		return err
	}
	d, r := &l.Dead, &effects.Round
	d.Round++
	r.ErrorID, r.Round = d.ErrorID, d.Round
	d.Step, d.Cause = recoup.StepNew, ""
	d.Stage, d.Class, d.Signature, d.Exhausted = r.Stage, r.Class, r.Signature, in.Exhausted
	d.LastFailureAt, d.UpdatedAt = r.LastFailureAt, r.At
	l.Queued = recoup.WorkItem{}
	return nil
}

// fenced checks that the reporter of a failure holds its lease.
func fenced(in *recoup.StageFailure, l *store.StagedWork) error {
	switch {
	case !l.Queued.WorkID.IsZero() || !in.LeaseToken.IsZero():
		return holds(l, in.LeaseToken)
	case l.Dead.Open():
		return fault.New(fault.CodeConflict, "This work is a dead letter already.").With("error_id", l.Dead.ErrorID.String()).With("step", string(l.Dead.Step))
	}
	return nil
}

// setAside is [fenced] for the system, which reports work that cannot be claimed any
// more.
func setAside(_ *recoup.StageFailure, l *store.StagedWork) error {
	if l.Queued.DueAt.IsZero() && !l.Queued.WorkID.IsZero() {
		return nil
	}
	return leaseLost(l)
}

// deadLetter dead-letters work that has no open dead letter.
func (s *Service) deadLetter(l *store.StagedWork, effects *store.StagedEffects, in *recoup.StageFailure, report lifecycle.Report) error {
	pipeline := cmp.Or(l.Queued.Pipeline, in.Pipeline)
	table, err := s.tableOf(in.Table, pipeline)
	if err != nil {
		return err
	}
	report.Table, report.EntityID = table.Name, cmp.Or(l.Queued.EntityID, report.EntityID)
	l.Error, effects.Effects, err = lifecycle.Step(s.Policies.Current(), nil, report, effects.Round.At)
	l.Dead = recoup.DeadLetter{
		ErrorID: report.ID, WorkID: in.WorkID, Pipeline: pipeline, FirstFailureAt: effects.Round.FirstFailureAt, CreatedAt: effects.Round.At,
		PayloadRef: cmp.Or(l.Queued.PayloadRef, in.PayloadRef), PayloadHash: cmp.Or(l.Queued.PayloadHash, in.PayloadHash),
		PreviousID: l.Previous.ErrorID,
	}
	return err
}

// engineering is the tier of an engineering review.
const engineering = 2

// failAgain begins the next round of a dead letter whose replay failed. The same
// class again, where no retry helps, is for the engineers at once.
func (s *Service) failAgain(l *store.StagedWork, effects *store.StagedEffects, _ *recoup.StageFailure, report lifecycle.Report) error {
	r, failure := &effects.Round, report.Failure
	in := lifecycle.FailAgain{By: report.By, Failure: failure, Expires: l.Dead.HeldExpiry}
	l.Item.State = recoup.ItemFailed
	if failure.Code == l.Dead.Class {
		l.Item.State = recoup.ItemRepeated
		if failure.Class == recoup.ClassFatal {
			in.Tier, in.Reason = engineering, store.EngineeringReview
		}
	}
	if err := s.move(l, effects, in, r.At); err != nil {
		return err
	}
	r.ReplayID = l.Item.ReplayID
	l.Item.EndedAt, l.Item.Worker, l.Item.Class, l.Item.Detail = r.At, l.Queued.LeaseWorker, r.Class, r.Signature
	l.Dead.HeldExpiry = time.Time{}
	return nil
}
