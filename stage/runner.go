package stage

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime/debug"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/retry"
)

// Options configure a [Runner]. The zero value is for production, with checkpoints in
// memory.
type Options struct {
	Checkpoints Checkpoints // nil: a [Memory] of the runner's own

	// Classify says what a failure is; nil: [fault.Classify].
	Classify func(error) fault.Verdict

	// Observe, if set, is called after every attempt, before the wait that follows.
	Observe func(Attempt)

	Now    func() time.Time
	Sleep  func(context.Context, time.Duration) error
	Random func() float64
}

// Attempt is what Observe is called with.
type Attempt struct {
	WorkID recoup.ID
	Stage  string
	retry.Attempt
}

// Runner takes work through a pipeline. It is safe for concurrent use, but one piece
// of work must be run only once at a time; leases of the server ensure that.
type Runner struct {
	pipeline Pipeline
	o        Options
}

// New returns a runner.
func New(p Pipeline, o Options) (*Runner, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if o.Checkpoints == nil {
		o.Checkpoints = &Memory{}
	}
	if o.Classify == nil {
		o.Classify = fault.Classify
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Sleep == nil {
		o.Sleep = retry.Sleep
	}
	if o.Random == nil {
		o.Random = rand.Float64
	}
	return &Runner{pipeline: p, o: o}, nil
}

// Run takes work through all stages that are not finished yet.
//
// If a stage fails for good, because its failure cannot be retried or its budget
// is spent, the error is a [*recoup.StageFailure]. If ctx ends, that is no failure: the
// error is the context's and the work can be run again later, as it can when a
// checkpoint could not be loaded or saved. Finished stages are not run again.
func (r *Runner) Run(ctx context.Context, w Work) (Result, error) {
	outputs, err := r.o.Checkpoints.Load(ctx, w.ID)
	if err != nil {
		return Result{}, fmt.Errorf("stage: loading checkpoints: %w", err)
	}
	run := &run{Runner: r, work: w, outputs: maps.Clone(outputs), result: Result{Attempts: map[string]int{}}}
	if run.outputs == nil {
		run.outputs = map[string][]byte{}
	}
	for i := range r.pipeline.Stages {
		s := &r.pipeline.Stages[i]
		output, finished := run.outputs[s.Name]
		if !finished {
			if output, err = run.stage(ctx, s); err != nil {
				return run.result, err
			}
		}
		run.result.Output = output
	}
	return run.result, nil
}

// run is one piece of work on its way.
type run struct {
	*Runner
	work    Work
	outputs map[string][]byte
	result  Result
}

// stage runs one stage until it is finished and its output kept.
func (r *run) stage(ctx context.Context, s *Stage) (output []byte, err error) {
	failures := failures{}
	policy := retry.Stage()
	if s.Policy != nil {
		policy = *s.Policy
	}
	err = retry.Do(ctx, retry.Options{
		Policy: retry.Always(policy),
		Classify: func(err error) retry.Failure {
			verdict := r.classify(err)
			failures.add(r.o.Now(), err, verdict)
			return verdict.ForRetry(s.proven()...)
		},
		Observe: func(a retry.Attempt) {
			if r.o.Observe != nil {
				r.o.Observe(Attempt{r.work.ID, s.Name, a})
			}
		},
		Now: r.o.Now, Sleep: r.o.Sleep, Random: r.o.Random,
	}, func(ctx context.Context) (err error) {
		r.result.Attempts[s.Name]++
		output, err = r.attempt(ctx, s)
		return err
	})
	if err != nil {
		return nil, r.ended(s, err, &failures)
	}
	if output == nil {
		output = []byte{} // finished, without output
	}
	if err := r.o.Checkpoints.Save(ctx, r.work.ID, s.Name, output); err != nil {
		return nil, fmt.Errorf("stage: keeping the output of %s: %w", s.Name, err)
	}
	r.outputs[s.Name] = output
	return output, nil
}

// classify says what a failure is. A panic, whatever its value, is a bug.
func (r *run) classify(err error) fault.Verdict {
	var p *panicked
	if errors.As(err, &p) {
		return fault.Classify(fault.New(fault.CodeRuntimeBug, "The stage panicked."))
	}
	return r.o.Classify(err)
}

// attempt runs a stage once. A panic is a failure with a stack.
func (r *run) attempt(ctx context.Context, s *Stage) (output []byte, err error) {
	if s.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.Timeout)
		defer cancel()
	}
	defer func() {
		if value := recover(); value != nil {
			err = &panicked{value, string(debug.Stack())}
		}
	}()
	return s.Run(ctx, Input{
		WorkID: r.work.ID, Pipeline: r.pipeline.Name, Stage: s.Name, EntityID: r.work.EntityID, Attempt: r.result.Attempts[s.Name],
		Payload: r.work.Payload, IdempotencyKey: r.work.key(s.Name), outputs: r.outputs,
	})
}

// ended says how it ended: by the context, or for good.
func (r *run) ended(s *Stage, err error, failures *failures) error {
	var gaveUp *retry.Error
	if !errors.As(err, &gaveUp) || gaveUp.Verdict == retry.Cancelled {
		return err
	}
	return r.failed(s, gaveUp, failures)
}

// panicked is what a stage panicked with.
type panicked struct {
	value any
	stack string
}

func (p *panicked) Error() string { return fmt.Sprintf("panic: %v", p.value) }

// Unwrap returns the error that the stage panicked with, if it was one, so that it can
// be recognised: a runtime error is a bug.
func (p *panicked) Unwrap() error {
	if err, ok := p.value.(error); ok {
		return err
	}
	return nil
}
