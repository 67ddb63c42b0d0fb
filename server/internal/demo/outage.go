package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/deadletter"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// Pipeline is the pipeline of the demo, whose workers are at its stages.
const Pipeline = "newsletter"

// Stages are those of the pipeline.
func Stages() []string { return []string{"fetch", "llm", "notify"} }

// on is who looks after the pipeline.
var on = engine.Caller{Name: "grace"}

// outage is a stage of the pipeline that failed for a while.
type outage struct {
	stage, stack, incident string
	class                  recoup.Code
	pieces                 int
}

// The outages of the month: a host that was down for an afternoon, and a channel that
// took too little last night.
var (
	modelHost   = outage{"llm", "*fault.Error: the model host answers 503", "INC-212", fault.CodeNetworkTimeout, 40}
	rateLimited = outage{"notify", "*fault.Error: the channel answers 429", "INC-219", fault.CodeRateLimitExceeded, 60}
)

// modelOutage was replayed on the same day, and most of its dead letters are verified.
func (m *Month) modelOutage(ctx context.Context) error {
	if err := m.record(ctx, modelHost); err != nil {
		return err
	}
	ids, err := m.replay(ctx, modelHost, recoup.ReplayPlan{Rate: 100})
	if err != nil {
		return err
	}
	for range 12 {
		m.Clock.to(m.Clock.Now().Add(time.Minute))
		if err := m.work(ctx); err != nil {
			return err
		}
	}
	for _, id := range ids[:len(ids)*4/5] {
		arrived := deadletter.Verification{Outcome: recoup.Delivered, Note: "the issue is in the archive", Link: modelHost.incident}
		if _, err := m.DeadLetters.Take(ctx, on, id, arrived, nil); err != nil {
			return err
		}
	}
	return nil
}

// Ramp begins a replay that goes on while people look at it: of what failed last night,
// slowly.
func (s *Parts) Ramp(ctx context.Context) error {
	if !s.failed[rateLimited.incident].known {
		if err := s.record(ctx, rateLimited); err != nil {
			return err
		}
	}
	_, err := s.replay(ctx, rateLimited, recoup.ReplayPlan{Rate: 0.2, Share: 0.2, Limit: 0.5})
	return err
}

// recorded are the dead letters of an outage.
type recorded struct {
	known bool
	group recoup.ID
	ids   []recoup.ID
}

// record records the dead letters of an outage; none where the policy has none.
func (s *Parts) record(ctx context.Context, o outage) error {
	if !s.hasDeadLetters() {
		return nil
	}
	now := s.Now()
	var failures []recoup.StageFailure
	for i := range o.pieces {
		failures = append(failures, recoup.StageFailure{
			WorkID: s.IDs.New(now), Pipeline: Pipeline, Stage: o.stage, Class: o.class, Exhausted: true, LastStack: o.stack,
			Context:        map[string]any{"attempts": map[string]any{o.stage: 5}},
			FirstFailureAt: now.Add(-time.Duration(o.pieces-i+20) * time.Minute), LastFailureAt: now.Add(-time.Duration(o.pieces-i) * time.Minute),
			PayloadRef: fmt.Sprintf("s3://newsletter/%s/issue-%d", o.incident, i+1),
		})
	}
	done, err := s.DeadLetters.Record(ctx, caller, failures, nil)
	if err != nil {
		return err
	}
	found := recorded{known: true}
	for _, d := range done {
		if d.Err != nil {
			return d.Err
		}
		found.group, found.ids = d.Letter.Dead.GroupID, append(found.ids, d.Letter.Dead.ErrorID)
	}
	if s.failed == nil {
		s.failed = map[string]recorded{}
	}
	s.failed[o.incident] = found
	return nil
}

// replay lets somebody take the dead letters of an outage through the workflow, and
// replays them.
func (s *Parts) replay(ctx context.Context, o outage, plan recoup.ReplayPlan) ([]recoup.ID, error) {
	found := s.failed[o.incident]
	if !found.known {
		return nil, nil
	}
	exhausted := true
	for _, step := range []deadletter.Action{
		deadletter.Triage{Cause: recoup.CauseTransient, Stage: o.stage, Class: o.class, Exhausted: &exhausted, Note: "it was down for an hour"},
		deadletter.Remediation{Link: o.incident, UpstreamChecked: "it answers again"},
		deadletter.Validation{Idempotent: true},
	} {
		if _, err := s.DeadLetters.TakeGroup(ctx, on, found.group, step, recoup.ForGroup{}); err != nil {
			return nil, err
		}
	}
	if _, err := s.DeadLetters.NoteGroup(ctx, on, found.group, on.Name, "see "+o.incident); err != nil {
		return nil, err
	}
	_, err := s.DeadLetters.Replay(ctx, on, recoup.NewReplay{ReplaySelection: recoup.ReplaySelection{IDs: found.ids}, Plan: plan, Reason: o.incident})
	return found.ids, err
}

// work is the pipeline's workers, for whom everything succeeds.
func (m *Month) work(ctx context.Context) error {
	if _, err := m.DeadLetters.Advance(ctx); err != nil {
		return err
	}
	var lanes []recoup.Lane
	for _, stage := range Stages() {
		lanes = append(lanes, recoup.Lane{Pipeline: Pipeline, Stage: stage})
	}
	claimed, err := m.DeadLetters.Claim(ctx, caller, recoup.WorkClaim{Lanes: lanes, Worker: "newsletter-1", Limit: sqldb.MaxPage})
	if err != nil {
		return err
	}
	var results []recoup.WorkResult
	for _, w := range claimed {
		results = append(results, recoup.WorkResult{WorkID: w.WorkID, LeaseToken: w.LeaseToken, Outcome: "succeed"})
	}
	done, err := m.DeadLetters.Results(ctx, caller, results, nil)
	for _, d := range done {
		err = errors.Join(err, d.Err)
	}
	return err
}

// hasDeadLetters reports whether the policy has a table for them.
func (s *Parts) hasDeadLetters() bool {
	return slices.ContainsFunc(s.Engine.Policies.Current().Tables(), func(t *policy.Table) bool { return t.DeadLetter })
}
