package demo

import (
	"context"
	"fmt"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/deadletter"
)

// addDeadLetters adds dead letters in two groups, one of which somebody has begun to
// work on.
func (s *Parts) addDeadLetters(ctx context.Context) error {
	if !s.hasDeadLetters() {
		return nil
	}
	now := s.Now()
	var failures []recoup.StageFailure
	for i := range 6 {
		f := recoup.StageFailure{
			Pipeline: Pipeline, Stage: "llm", Class: fault.CodeNetworkTimeout, Exhausted: true, LastStack: "*net.OpError: dial tcp: i/o timeout",
			Context: map[string]any{"upstream": "model-host", "attempts": map[string]any{"llm": 5}},
		}
		if i >= 4 {
			f.Stage, f.Class, f.Exhausted = "notify", fault.CodeValidationError, false
			f.LastStack = "the channel refused the message: title is missing"
			f.Context = map[string]any{"upstream": "channel", "upstream_status": 422, "attempts": map[string]any{"notify": 1}}
		}
		f.WorkID, f.FirstFailureAt, f.LastFailureAt = s.IDs.New(now), now.Add(-time.Duration(i+1)*11*time.Minute), now
		f.PayloadRef = fmt.Sprintf("s3://newsletter/issue-%d", i+1)
		failures = append(failures, f)
	}
	done, err := s.DeadLetters.Record(ctx, caller, failures, nil)
	if err != nil {
		return err
	}
	first := &done[0].Letter.Dead
	steps := []deadletter.Action{
		deadletter.Triage{Cause: recoup.CauseTransient, Stage: first.Stage, Class: first.Class, Exhausted: &first.Exhausted, Note: "the model host was down"},
		deadletter.Remediation{Link: "INC-7", UpstreamChecked: "it answers again"},
		deadletter.Validation{Idempotent: true},
	}
	for i, d := range done {
		if d.Err != nil {
			return d.Err
		}
		for _, step := range steps[:max(len(steps)-i, 0)] { // each a step behind the one before
			if _, err := s.DeadLetters.Take(ctx, caller, d.Letter.Dead.ErrorID, step, nil); err != nil {
				return err
			}
		}
	}
	return nil
}
