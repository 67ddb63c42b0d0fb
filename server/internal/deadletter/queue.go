package deadletter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/batch"
	"github.com/recoup-dev/recoup/server/internal/check"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/lease"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// maxDelay is how far off work may be, in seconds.
const maxDelay = 30 * 24 * 3600

// submissionLife is how long finished work is known by the id that its sender gave it.
const submissionLife = 24 * time.Hour

// Submit enqueues work, in order; each succeeds or fails on its own. Work of an
// id that is there already is not there twice. If it was submitted within a day and is
// finished, it is not done again.
func (s *Service) Submit(ctx context.Context, c engine.Caller, list []recoup.NewWorkItem, receipts Receipts) ([]Done, error) {
	if len(list) > MaxBatch {
		return nil, tooMany(len(list))
	}
	now := s.now()
	out, err := s.each(ctx, len(list), func(i int) (store.StagedStep, error) { return s.submission(c, list[i], receipts.of(i), now) })
	s.Wake()
	return out, err
}

// CheckSubmission normalizes the identifiers of new work, and says what is wrong with it,
// all of it.
func CheckSubmission(in *recoup.NewWorkItem) error {
	var f check.Fields
	check.Normalize(&in.EntityID, &in.PayloadRef)
	f.Name("pipeline", in.Pipeline)
	f.Name("stage", in.Stage)
	f.Identifier("entity_id", in.EntityID)
	checkPayload(&f, in.PayloadRef, &in.PayloadHash, in.Payload)
	if in.DelaySeconds < 0 || in.DelaySeconds > maxDelay {
		f.Addf("delay_seconds", "range", "delay_seconds must be between 0 and %d", maxDelay)
	}
	return f.Err()
}

func (s *Service) submission(c engine.Caller, in recoup.NewWorkItem, receipt *store.StagedReceipt, now time.Time) (store.StagedStep, error) {
	if err := CheckSubmission(&in); err != nil {
		return store.StagedStep{}, err
	}
	if err := s.within(c, in.Pipeline); err != nil {
		return store.StagedStep{}, err
	}
	step := store.StagedStep{Receipt: receipt}
	if in.WorkID.IsZero() {
		in.WorkID = s.IDs.New(now)
	} else {
		step.Submission = &store.StagedReceipt{Scope: "work " + in.Pipeline, Key: in.WorkID.String(), ExpiresAt: now.Add(submissionLife)}
	}
	payload, err := s.encryptPayload(in.WorkID, in.Payload, now)
	step.WorkID, step.Decide = in.WorkID, s.only(c, taken(), enter(in, payload))
	return step, err
}

// The outcomes of a result.
const (
	Succeeded = "succeed"
	Failed    = "fail"
	Extended  = "extend"
	Released  = "release"
)

// Results records results, in order; each succeeds or fails on its own. New work that
// is done ends first, because that is most of it and costs next to nothing.
func (s *Service) Results(ctx context.Context, c engine.Caller, results []recoup.WorkResult, receipts Receipts) ([]Done, error) {
	if len(results) > MaxBatch {
		return nil, tooMany(len(results))
	}
	out := make([]Done, len(results))
	rest, err := s.finish(ctx, c, results, receipts)
	if err != nil || len(rest) == 0 {
		return out, err
	}
	done, err := s.each(ctx, len(rest), func(i int) (store.StagedStep, error) {
		r := &results[rest[i]]
		decide, err := s.result(r, c)
		return store.StagedStep{WorkID: r.WorkID, Token: r.LeaseToken, Decide: s.only(c, unknownWork(), decide), Receipt: receipts.of(rest[i])}, err
	})
	switch {
	case err == nil:
	case len(rest) == len(results):
		return nil, err
	default: // the others are done
		done = slices.Repeat([]Done{{Err: err}}, len(rest))
	}
	for i, k := range rest {
		out[k] = done[i]
	}
	if slices.ContainsFunc(results, func(r recoup.WorkResult) bool { return r.Outcome == Released }) {
		s.Wake()
	}
	return out, nil
}

// finish ends new work that is done, of which nothing is to be kept and nothing else
// is said, and returns the places of the other results.
func (s *Service) finish(ctx context.Context, c engine.Caller, results []recoup.WorkResult, receipts Receipts) (rest []int, err error) {
	said := make(map[recoup.ID]int, len(results))
	for i := range results {
		said[results[i].WorkID]++
	}
	var ends batch.Part[store.WorkEnd]
	for i := range results {
		if r := &results[i]; r.Outcome == Succeeded && r.Failure == nil && receipts.of(i) == nil && !r.LeaseToken.IsZero() && said[r.WorkID] == 1 {
			ends.Add(i, store.WorkEnd{WorkID: r.WorkID, Token: r.LeaseToken})
		} else {
			rest = append(rest, i)
		}
	}
	err = batch.Do(ctx, &ends, func(ctx context.Context, ends []store.WorkEnd) ([]bool, error) {
		return s.Store.FinishWork(ctx, s.bounds(c), ends)
	}, func(i int, ended *bool) error {
		if !*ended {
			rest = append(rest, i)
		}
		return nil
	})
	slices.Sort(rest)
	return rest, err
}

func (s *Service) result(r *recoup.WorkResult, c engine.Caller) (store.DecideStaged, error) {
	if r.LeaseToken.IsZero() || r.LeaseSeconds < 0 || (r.Outcome == Failed) != (r.Failure != nil) {
		return nil, s.CheckResult(r)
	}
	switch r.Outcome {
	case Succeeded:
		return s.succeed(r.LeaseToken), nil
	case Extended:
		return extend(r.LeaseToken, s.Policies.Current().Leases.Length(lease.Seconds(r.LeaseSeconds))), nil
	case Released:
		return release(r.LeaseToken), nil
	case Failed:
		in := *r.Failure
		in.WorkID, in.LeaseToken = r.WorkID, r.LeaseToken
		decide, err := s.failed(c, in, fenced)
		return decide, ofFailure(err)
	}
	return nil, s.CheckResult(r)
}

// CheckResult says what is wrong with a result, all of it.
func (s *Service) CheckResult(r *recoup.WorkResult) error {
	var bad fault.FieldErrors
	switch failed := r.Outcome == Failed; {
	case failed && r.Failure == nil:
		bad.Addf("failure", "required", "failure is required: how it failed")
	case failed:
		in := *r.Failure
		in.WorkID, in.LeaseToken = cmp.Or(r.WorkID, recoup.ID{1}), cmp.Or(r.LeaseToken, recoup.ID{1}) // the result's own
		bad.Merge(ofFailure(s.CheckFailure(in)))
	case r.Failure != nil:
		bad.Addf("failure", "outcome", "failure belongs to the outcome fail")
	}
	var f check.Fields
	lease.CheckToken(&f, !r.LeaseToken.IsZero())
	lease.CheckLength(&f, r.LeaseSeconds)
	switch r.Outcome {
	case Succeeded, Failed, Extended, Released:
	default:
		f.Addf("outcome", "enum", "outcome must be succeed, fail, extend or release")
	}
	bad.Merge(f.Err())
	return bad.Err()
}

// ofFailure gives what is wrong with the failure of a result the path that it has there.
func ofFailure(err error) error {
	e, ok := errors.AsType[*fault.Error](err)
	if !ok || e.Code != fault.CodeValidationError {
		return err
	}
	var bad fault.FieldErrors
	for _, f := range e.Fields() {
		f.Field = "failure." + f.Field
		bad.Add(f)
	}
	return bad.Err()
}

// deadLetterLost dead-letters work over which too many workers were lost.
func (s *Service) deadLetterLost(ctx context.Context, limit int) (int, error) {
	spent, err := s.Store.SpentWork(ctx, limit)
	if err != nil || len(spent) == 0 {
		return 0, err
	}
	now := s.now()
	done, err := s.each(ctx, len(spent), func(i int) (store.StagedStep, error) {
		q := &spent[i]
		decide, err := s.failed(engine.Caller{Name: recoup.System}, recoup.StageFailure{
			WorkID: q.WorkID, Pipeline: q.Pipeline, Stage: q.Stage, Class: fault.CodeWorkerLost, Final: true, FirstFailureAt: now, LastFailureAt: now,
			LastStack: fmt.Sprintf("%d workers were lost over this work", q.Lapses), Context: map[string]any{"attempts": map[string]any{q.Stage: q.Claims}},
		}, setAside)
		return store.StagedStep{WorkID: q.WorkID, Decide: decide}, err
	})
	return len(done), err
}
