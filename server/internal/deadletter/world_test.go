package deadletter_test

import (
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/deadletter"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/test/node"
)

var epoch = node.Epoch

type database = node.Store

// world is a node of which only the dead letters are of interest.
type world struct {
	*testing.T
	*deadletter.Service
	node *node.Node
	db   database
	ids  *recoup.IDSource
}

// everywhere runs a test on each store.
func everywhere(t *testing.T, test func(w *world)) {
	t.Helper()
	node.Everywhere(t, func(t *testing.T, db database) { test(newWorld(t, db)) })
}

func newWorld(t *testing.T, db database) *world {
	t.Helper()
	n := node.On(t, db)
	return &world{T: t, Service: n.Letters, node: n, db: db, ids: n.IDs}
}

func (w *world) clock() time.Time { return w.node.Now() }

func (w *world) wait(d time.Duration) { w.node.Wait(d) }

func (w *world) must(err error) {
	w.Helper()
	w.node.Must(err)
}

func (w *world) events() []store.Event { return w.node.Events() }

func (w *world) id() recoup.ID { return w.node.ID() }

const (
	pipeline = "criticizer"
	ada      = "ada"
)

// failing is work that failed for good.
func (w *world) failing(stage, class string) recoup.StageFailure {
	return recoup.StageFailure{
		WorkID: w.id(), Pipeline: pipeline, Stage: stage, Class: recoup.Code(class), LastStack: "upstream: " + class, FirstFailureAt: w.clock(), LastFailureAt: w.clock(),
		Context: map[string]any{"stage": stage, "attempts": map[string]any{stage: 1}}, PayloadRef: "s3://in/1", PayloadHash: "00ff",
	}
}

// deadLetter records failures that are expected to be accepted.
func (w *world) deadLetter(failures ...recoup.StageFailure) []store.StagedWork {
	w.Helper()
	done, err := w.Record(w.Context(), caller(ada), failures, nil)
	w.must(err)
	letters := make([]store.StagedWork, len(done))
	for i := range done {
		w.must(done[i].Err)
		letters[i] = done[i].Letter
	}
	return letters
}

// dead is one dead letter of a stage.
func (w *world) dead(stage, class string) recoup.ID {
	w.Helper()
	return w.deadLetter(w.failing(stage, class))[0].Dead.ErrorID
}

// details is a dead letter as it is kept, and as it is shown.
type details struct {
	store.StagedWork
	recoup.DeadLetterDetails
}

func (w *world) read(id recoup.ID) details {
	w.Helper()
	shown, err := w.Letter(w.Context(), engine.Caller{}, id)
	w.must(err)
	kept, err := w.db.DeadLetter(w.Context(), id)
	w.must(err)
	return details{kept, shown}
}

// take does an act that is expected to be accepted.
func (w *world) take(id recoup.ID, in deadletter.Action) store.StagedWork {
	w.Helper()
	if t, ok := in.(deadletter.Triage); ok {
		in = w.looked(id, t)
	}
	done, err := w.Take(w.Context(), caller(ada), id, in, nil)
	w.must(err)
	return done.Letter
}

// looked is a triage by somebody who has looked at the dead letter.
func (w *world) looked(id recoup.ID, t deadletter.Triage) deadletter.Triage {
	w.Helper()
	d := w.read(id).Dead
	t.Stage, t.Class, t.Exhausted = d.Stage, d.Class, &d.Exhausted
	return t
}

var (
	triage    = deadletter.Triage{Cause: recoup.CauseData, Stage: "llm", Class: "VALIDATION_ERROR", Exhausted: new(bool)}
	remedy    = deadletter.Remediation{Link: "INC-1", Corrected: "the title"}
	validated = deadletter.Validation{Idempotent: true}
	delivered = deadletter.Verification{Outcome: recoup.Delivered, Note: "seen downstream"}
)

// prepared takes dead letters to where they can be replayed.
func (w *world) prepared(ids ...recoup.ID) {
	w.Helper()
	for _, id := range ids {
		for _, step := range []deadletter.Action{triage, remedy, validated} {
			w.take(id, step)
		}
	}
}

// replay begins a replay of named dead letters.
func (w *world) replay(ids ...recoup.ID) recoup.Replay {
	w.Helper()
	r, err := w.Replay(w.Context(), caller(ada), recoup.NewReplay{ReplaySelection: recoup.ReplaySelection{IDs: ids}, Reason: "corrected"})
	w.must(err)
	return r
}

// shown begins a replay of what a preview of a selection shows.
func (w *world) shown(sel recoup.ReplaySelection, plan recoup.ReplayPlan) (recoup.Replay, error) {
	w.Helper()
	p, err := w.Preview(w.Context(), caller(ada), sel)
	w.must(err)
	return w.Replay(w.Context(), caller(ada), recoup.NewReplay{Token: p.Token, Plan: plan, Reason: "corrected"})
}

// claim claims what there is of all stages.
func (w *world) claim(limit int) []recoup.ClaimedWork {
	w.Helper()
	var lanes []recoup.Lane
	for _, stage := range []string{"fetch", "llm", "notify"} {
		lanes = append(lanes, recoup.Lane{Pipeline: pipeline, Stage: stage})
	}
	list, err := w.Claim(w.Context(), engine.Caller{}, recoup.WorkClaim{Lanes: lanes, Worker: "w1", Limit: limit})
	w.must(err)
	return list
}

// say submits a result that is expected to be accepted.
func (w *world) say(q recoup.ClaimedWork, outcome string, failure ...recoup.StageFailure) store.StagedWork {
	w.Helper()
	r := recoup.WorkResult{WorkID: q.WorkID, LeaseToken: q.LeaseToken, Outcome: outcome}
	for _, f := range failure {
		r.Failure = &f
	}
	done, err := w.Results(w.Context(), caller("worker key"), []recoup.WorkResult{r}, nil)
	w.must(err)
	w.must(done[0].Err)
	return done[0].Letter
}

// advance lets the clock act until there is nothing more to do at once.
func (w *world) advance() {
	w.Helper()
	for range 1000 {
		more, err := w.Advance(w.Context())
		w.must(err)
		if !more {
			return
		}
	}
	w.Fatal("there is no end to it")
}

// apply hands an input of the lifecycle to the store, as the engine does.
func (w *world) apply(id recoup.ID, in lifecycle.Input) error {
	now := w.clock()
	out, err := w.db.ApplySteps(w.Context(), now, []store.Step{{ID: id, Decide: func(current *recoup.Error, _ int, _ time.Time) (recoup.Error, lifecycle.Effects, error) {
		return lifecycle.Step(policy.Default(), current, in, now)
	}}})
	if err != nil {
		return err
	}
	return out[0].Err
}

// refused says with which code something was refused, and returns the details.
func (w *world) refused(err error, code recoup.Code) map[string]any {
	w.Helper()
	return w.node.Refused(err, code).Details
}

// invalid says which fields were complained about.
func (w *world) invalid(err error, fields ...string) {
	w.Helper()
	_ = w.node.RefusedFields(err, fields...)
}

// caller is somebody who may do everything.
func caller(name string) engine.Caller { return engine.Caller{Name: name} }
