package adoption

import (
	"context"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
)

const (
	// maxRetries is how many jobs of a queue are set off together.
	maxRetries = 100

	// retryEvery is how often is asked what is due, and what became of jobs under way.
	retryEvery = time.Second

	// attemptLasts is the lease of an attempt, which is extended while its job is under way.
	attemptLasts = 5 * time.Minute

	// maxResult is how much of a message stands in the history of an attempt.
	maxResult = 500
)

// retriesDue reports whether it is time to look at the jobs of a queue.
func (s *Service) retriesDue(a *Target, st *state) bool {
	return a.Preset != "" && !s.Now().Before(st.retries)
}

// retries looks what became of the jobs that are under way, and sets off those whose
// errors are due (decision 0085) or whose dead letters are replayed (decision 0086).
func (s *Service) retries(ctx context.Context, a *Target, turn Lease, st *state) error {
	if err := s.underway(ctx, a, turn, st); err != nil {
		return err
	}
	due, err := s.Store.DueRows(ctx, a.ID, a.Table, By, maxRetries)
	if err != nil {
		return err
	}
	if err := s.lease(ctx, a, due); err != nil {
		return err
	}
	if err := s.setOff(ctx, turn, st, due); err != nil {
		return err
	}
	if err := s.replays(ctx, a, turn, st); err != nil {
		return err
	}
	more, err := s.takeOver(ctx, a, turn, st)
	if err != nil {
		return err
	}
	if len(due) < maxRetries && !more {
		st.retries = s.Now().Add(retryEvery)
	}
	return nil
}

// underway looks at a batch of the rows whose jobs are under way. Triggers do not say what
// becomes of jobs that go well.
func (s *Service) underway(ctx context.Context, a *Target, turn Lease, st *state) error {
	pairs, err := s.Store.PairsUnderway(ctx, a.ID, st.underway, Batch)
	if err != nil {
		return err
	}
	look, now := lookAt{seen: map[string]time.Time{}}, s.Now()
	for i := range pairs {
		look.add(pairs[i].Key, now) // looked at a second ago: what is new happened since
	}
	seen, err := s.lookAt(ctx, a, turn, st, look)
	switch {
	case err != nil:
		return err
	case seen == len(pairs) && seen < Batch:
		st.underway = ""
	case seen > 0:
		st.underway = pairs[seen-1].Key
	}
	return nil
}

// lease claims the errors that nobody holds, and writes down the tokens.
func (s *Service) lease(ctx context.Context, a *Target, due []DueRow) error {
	var ids []recoup.ID
	place := make(map[recoup.ID]*DueRow, len(due))
	for i := range due {
		if due[i].Token.IsZero() {
			ids, place[due[i].ErrorID] = append(ids, due[i].ErrorID), &due[i]
		}
	}
	leased, err := s.Engine.Lease(ctx, By, a.Table, ids, attemptLasts)
	for i := range leased {
		place[leased[i].ID].Token = leased[i].LeaseToken
	}
	return err
}

// setOff lets the jobs run whose errors are leased. Where the queue refuses one, by a
// constraint or a trigger, each is tried alone, and its attempt has failed.
func (s *Service) setOff(ctx context.Context, turn Lease, st *state, due []DueRow) error {
	var rows []DueRow
	for _, d := range due {
		if !d.Token.IsZero() {
			rows = append(rows, d)
		}
	}
	if len(rows) == 0 {
		return nil
	}
	off, err := s.Store.RequeueJobs(ctx, turn, rows)
	s.count(func(c *Counts) { c.Requeued += int64(len(off)) })
	cause, ofRow := rowFault(err)
	switch {
	case !ofRow:
		return err
	case len(rows) == 1:
		return s.refused(ctx, &rows[0], s.brief("the queue does not let its job run again: "+cause))
	}
	for i := range rows {
		if s.spent(st) {
			return nil // they are due again
		}
		if err := s.setOff(ctx, turn, st, rows[i:i+1]); err != nil {
			return err
		}
	}
	return nil
}

// refused says that an attempt has failed because the queue does not take its job.
func (s *Service) refused(ctx context.Context, row *DueRow, why string) error {
	if !row.WorkID.IsZero() {
		return s.results(ctx, []recoup.WorkResult{s.failedWork(row.WorkID, row.Token, row.Stage,
			&cleaned{code: fault.CodeConstraintViolation, report: recoup.Report{Message: why}})})
	}
	return s.apply(ctx, []engine.Act{{ID: row.ErrorID, Input: lifecycle.Fail{Token: row.Token, Failure: s.failure(fault.CodeConstraintViolation), Reason: why}}})
}

// result is the input that says how an attempt went; nil: there is nothing to say.
func (s *Service) result(r result, pair *Row, row *cleaned) *engine.Act {
	switch r {
	case succeeded:
		return &engine.Act{ID: pair.ErrorID, Input: lifecycle.Succeed{Token: pair.Attempt, Reason: becauseDone}}
	case unsuccessful:
		return &engine.Act{ID: pair.ErrorID, Input: lifecycle.Fail{Token: pair.Attempt, Failure: s.failure(row.code), Reason: s.brief(row.report.Message)}}
	case going:
		if s.endsSoon(pair) {
			return &engine.Act{ID: pair.ErrorID, Input: lifecycle.Extend{Token: pair.Attempt, Lease: attemptLasts}}
		}
	}
	return nil
}

// endsSoon reports whether half of the lease of an attempt is over.
func (s *Service) endsSoon(pair *Row) bool {
	return pair.LeaseEndsAt.Sub(s.Now()) < s.Engine.Policies.Current().Leases.Length(attemptLasts)/2
}

// failure classifies a code of a source row.
func (s *Service) failure(code recoup.Code) lifecycle.Failure {
	f, err := s.Engine.Failure(string(code), nil, 0)
	if err != nil {
		f, _ = s.Engine.Failure(string(fault.CodeUnregisteredCode), nil, 0)
	}
	return f
}

// brief is the beginning of a text, without what must not be kept.
func (s *Service) brief(text string) string {
	clean, _ := s.Redactor.String(text)
	if letters := []rune(clean); len(letters) > maxResult {
		return string(letters[:maxResult])
	}
	return clean
}
