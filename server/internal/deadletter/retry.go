package deadletter

import (
	"encoding/json"
	"maps"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/retry"
	"github.com/recoup-dev/recoup/server/internal/lease"
)

// maxFailedStages is of how many stages of a piece of work failures are counted. Work
// that fails in more is not retried.
const maxFailedStages = 100

// maxRetryAfter is what a failing side may ask to wait, in seconds: a year.
const maxRetryAfter = 365 * 24 * 3600

// retryable is what the policy is asked about a failure. A stage is idempotent unless
// its worker says that the failure is final, so that the conditions hold that depend on
// that.
func (s *Service) retryable(in *recoup.StageFailure, code recoup.Code) retry.Failure {
	f := s.Codes().Classify(fault.New(code, "")).ForRetry(recoup.ConditionIdempotencyKey, recoup.ConditionSamePayload)
	f.Code, f.RetryAfter = code, lease.Seconds(in.RetryAfter)
	f.Retryable = f.Retryable && !in.Final && !in.Exhausted
	return f
}

// again decides about claimed work whose stage has failed: it counts the attempt, and
// returns the work as it waits for the next one if the verdict is to retry. Each stage
// has the budget of the policy for itself, and goes on where it failed.
func again(p retry.Policy, q recoup.WorkItem, r *recoup.Round, f retry.Failure, draw float64) (recoup.WorkItem, retry.Verdict) {
	stages := q.FailedStages()
	n := stages[r.Stage]
	if n.Attempts++; n.Attempts == 1 || r.FirstFailureAt.Before(n.FirstFailureAt) {
		n.FirstFailureAt = r.FirstFailureAt
	}
	n.Class, n.LastFailureAt = f.Code, r.At
	stages[r.Stage] = n
	delay, verdict := p.Next(n.Attempts, f, func() float64 { return draw })
	if verdict == retry.Retry && len(stages) > maxFailedStages {
		verdict = retry.BudgetSpent
	}
	text, err := json.Marshal(stages)
	if err != nil {
		panic("deadletter: counts are not JSON: " + err.Error())
	}
	q.Failures = recoup.JSON(text)
	if verdict == retry.Retry {
		q.Stage, q.Lease, q.DueAt = r.Stage, recoup.Lease{}, r.At.Add(delay.Truncate(time.Microsecond))
	}
	return q, verdict
}

// countedIn adds to a round what the server has counted of the work: when its stage
// failed first, and how often each was tried, where the worker knows of fewer.
func countedIn(r *recoup.Round, context map[string]any, q *recoup.WorkItem) {
	stages := q.FailedStages()
	if first := stages[r.Stage].FirstFailureAt; first.Before(r.FirstFailureAt) {
		r.FirstFailureAt = first
	}
	said, _ := context["attempts"].(map[string]any)
	attempts := maps.Clone(said)
	if attempts == nil {
		attempts = map[string]any{}
	}
	for stage, n := range stages {
		if number(attempts[stage]) < n.Attempts {
			attempts[stage] = n.Attempts
		}
	}
	all := maps.Clone(context)
	if all == nil {
		all = map[string]any{}
	}
	all["attempts"] = attempts
	r.Context = recoup.EncodeJSON(all)
}

// number reads a count. One that came as JSON is a float.
func number(n any) int {
	switch n := n.(type) {
	case float64:
		return int(min(n, 1e9))
	case int64:
		return int(n)
	case int:
		return n
	}
	return 0
}
