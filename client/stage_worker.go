package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/retry"
	"github.com/recoup-dev/recoup/stage"
)

// StageWorker takes work through a pipeline: it claims new and replayed work,
// runs the stages that are not finished, keeps their outputs on the server,
// extends the lease while that runs, and reports the result. Stages are retried here,
// by their own policies; work that fails for good becomes a dead letter, which keeps the
// entity that the work was submitted with from being promoted. Client, Name and Pipeline
// are required.
type StageWorker struct {
	Client   *Client
	Name     string // of this worker, in the history of dead letters
	Pipeline stage.Pipeline

	// Options are those of the runner, except for its checkpoints.
	Options stage.Options

	// Payload fetches the payload of work that comes with a reference only; nil: the
	// stages get none.
	Payload func(ctx context.Context, w recoup.ClaimedWork) ([]byte, error)

	Concurrency int           // pieces of work at once; default 8, at most 1000
	Lease       time.Duration // default: the policy's
	Poll        time.Duration // how long a claim waits for work; default 20 s, at most 60 s
	Grace       time.Duration // how long stages may go on after a stop; default 30 s
	Logger      *slog.Logger  // for failures; nil: none
}

func (w StageWorker) withDefaults() StageWorker {
	w.Concurrency, w.Poll, w.Grace = cmp.Or(w.Concurrency, 8), cmp.Or(w.Poll, 20*time.Second), cmp.Or(w.Grace, 30*time.Second)
	if w.Logger == nil {
		w.Logger = slog.New(slog.DiscardHandler)
	}
	return w
}

func (w StageWorker) validate() error {
	switch {
	case w.Client == nil:
		return errors.New("client: a worker needs a client")
	case w.Name == "":
		return errors.New("client: a worker needs a name, which the history of dead letters keeps")
	case w.Concurrency < 1 || w.Concurrency > maxResults:
		return fmt.Errorf("client: a worker's concurrency must be between 1 and %d", maxResults)
	case w.Lease < 0 || w.Grace < 0 || w.Poll < 0 || w.Poll > time.Minute:
		return errors.New("client: lease, grace and poll must not be negative, a poll at most a minute")
	}
	return w.Pipeline.Validate()
}

// Run works until ctx ends, or until the server refuses the worker for good. Then it
// claims no more, waits up to Grace for running stages, and releases the work that is
// not finished by then, which does not count as a failure.
func (w StageWorker) Run(ctx context.Context) error {
	w = w.withDefaults()
	if err := w.validate(); err != nil {
		return err
	}
	s := &stageRun{StageWorker: w, pool: newPool(ctx, w.Client, w.Logger, "work", w.Concurrency)}
	defer s.end()
	for _, st := range w.Pipeline.Stages {
		s.lanes = append(s.lanes, recoup.Lane{Pipeline: w.Pipeline.Name, Stage: st.Name})
	}
	return errors.Join(claimAll(ctx, s.pool, s.claim, s.work),
		s.drain(w.Grace, "%d pieces of work did not end, or their results could not be sent."))
}

// stageRun is one run of a stage worker.
type stageRun struct {
	StageWorker
	*pool
	lanes []recoup.Lane
}

// claim takes what is there, and waits if there is nothing.
func (s *stageRun) claim(ctx context.Context, limit int) ([]recoup.ClaimedWork, error) {
	claimed, err := claimTwice(ctx, s.pool, s.Poll, func(ctx context.Context, wait int) ([]recoup.ClaimedWork, error) {
		return s.Client.Work.Claim(ctx, recoup.WorkClaim{Lanes: s.lanes, Worker: s.Name, Limit: limit, LeaseSeconds: seconds(s.Lease), WaitSeconds: wait}, NoRetry())
	})
	return claimed[:min(len(claimed), limit)], err
}

// errNoResult is the result of a run that ended without one.
var errNoResult = errors.New("client: the run ended without a result")

// work takes one piece of work through the pipeline, and reports the result.
func (s *stageRun) work(w recoup.ClaimedWork, received time.Time) {
	defer s.yield(1)
	err := errNoResult // should a stage end its goroutine
	lease := heldLease{of: "work_id", id: w.WorkID, lasts: w.LeaseEndsAt.Sub(w.LeasedAt), received: received,
		extend: func(ctx context.Context, seconds int) error {
			_, err := s.Client.Work.Result(ctx, recoup.WorkResult{WorkID: w.WorkID, LeaseToken: w.LeaseToken, Outcome: recoup.OutcomeExtended, LeaseSeconds: seconds}, NoRetry())
			if err != nil && !s.Client.o.Registry.Classify(err).Retryable(recoup.ConditionIdempotencyKey) {
				return decision{err}
			}
			return err
		}}
	cause := s.holding(lease, func(ctx context.Context) { err = s.run(ctx, &w) })
	if errors.Is(cause, ErrLeaseLost) {
		return // the result is for whoever holds the lease now
	}
	s.submit(s.result(&w, err))
}

// run runs the stages that are not finished.
func (s *stageRun) run(ctx context.Context, w *recoup.ClaimedWork) error {
	var progress recoup.WorkProgress
	var err error
	if w.Claims > 1 || !w.ReplayID.IsZero() {
		if progress, err = s.Client.Work.Progress(ctx, w.WorkID, w.LeaseToken); err != nil {
			return err
		}
	}
	payload := w.Payload
	if payload == nil && s.Payload != nil {
		if payload, err = s.Payload(ctx, *w); err != nil {
			return err
		}
	}
	options := s.Options
	options.Checkpoints = &leased{s.Client, w.LeaseToken, progress.Outputs}
	runner, err := stage.New(s.Pipeline, options)
	if err != nil {
		return err
	}
	_, err = runner.Run(ctx, stage.Work{ID: w.WorkID, EntityID: w.EntityID, Payload: payload, PayloadRef: w.PayloadRef, Restart: progress.Restart})
	return err
}

// result turns what the runner returned into a wire result. An error that is not a
// final failure releases the work.
func (s *stageRun) result(w *recoup.ClaimedWork, err error) recoup.WorkResult {
	r := recoup.WorkResult{WorkID: w.WorkID, LeaseToken: w.LeaseToken, Outcome: recoup.OutcomeSucceeded}
	var failed *recoup.StageFailure
	switch {
	case err == nil:
	case errors.As(err, &failed):
		failure := *failed
		failure.WorkID = recoup.ID{} // the result has it
		r.Outcome, r.Failure = recoup.OutcomeFailed, &failure
	default:
		s.Logger.Warn("work is given back", "work_id", w.WorkID, "error", err)
		r.Outcome = recoup.OutcomeReleased
	}
	return r
}

// submit sends a result until the server has accepted or refused it. Its idempotency
// key makes it count once however often it is sent; the lease token alone is shared by
// all the work of a claim.
func (s *stageRun) submit(r recoup.WorkResult) {
	key := IdempotencyKey(r.WorkID.String() + "/" + r.LeaseToken.String() + "/" + r.Outcome)
	for failures := 1; ; failures++ {
		_, err := s.Client.Work.Result(s.all, r, key)
		if err == nil || s.all.Err() != nil {
			return
		}
		s.Logger.Warn("a result was not accepted", "work_id", r.WorkID, "outcome", r.Outcome, "error", err)
		if !s.Client.o.Registry.Classify(err).Retryable(recoup.ConditionIdempotencyKey) ||
			retry.Sleep(s.all, pause().Delay(failures, s.Client.random)) != nil {
			return
		}
	}
}
