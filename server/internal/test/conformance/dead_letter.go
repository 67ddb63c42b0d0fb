package conformance

import (
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// letterClause is one sentence about staged work and how it is tried.
type letterClause struct {
	says string
	try  func(d *letterDriver)
}

// RunDeadLetters holds a store to what staged work needs of it. Each clause runs
// in parallel on a fresh store; open registers its own clean-up.
func RunDeadLetters(t *testing.T, open func(t *testing.T) DeadLetters) {
	clauses := slices.Concat(letterRecords(), letterEnds(), letterLists(), letterQueue(), letterBatches(), letterReplays(), letterReplayLists(),
		letterFigures(), workerClauses(), flowClauses(), letterRaces(), letterModels(), movingLetters())
	for _, c := range clauses {
		t.Run(c.says, func(t *testing.T) {
			t.Parallel()
			c.try(newLetterDriver(t, open(t)))
		})
	}
}

// letterDriver leads work through its stages, its failures and its replays, with
// a clock that is moved by hand. Its decisions are the plainest that the rules
// allow: what is tried here is that they are kept.
type letterDriver struct {
	TB
	store  DeadLetters
	policy *policy.Policy
	ids    *recoup.IDSource
	now    time.Time
}

func newLetterDriver(t TB, s DeadLetters) *letterDriver {
	t.Helper()
	d := &letterDriver{TB: t, store: s, policy: policy.Default(), ids: recoup.NewIDSource(rand.Reader), now: Epoch()}
	d.must(s.SyncTables(t.Context(), d.policy))
	d.must(s.EnsurePartitions(t.Context(), d.now))
	return d
}

// workLease is for how long the driver's workers hold a piece of work, and
// maxLapses how many may be lost over it.
const (
	workLease = 10 * time.Minute
	maxLapses = 2
)

// errNo is what the driver's decisions refuse with.
var errNo = errors.New("no")

func (d *letterDriver) wait(by time.Duration) { d.now = d.now.Add(by) }

func (d *letterDriver) id() recoup.ID { return d.ids.New(d.now) }

func (d *letterDriver) must(err error) {
	d.Helper()
	if err != nil {
		d.Fatalf("%v", err)
	}
}

// criticizer is the pipeline of spec 002.
const criticizer = "criticizer"

// breakdown is a failure of work for good.
type breakdown struct {
	Stage, Signature string
	Class            recoup.Code
	Entity           string
	Token            recoup.ID // of the worker that reports it
	Payload          []byte
}

var (
	slow      = breakdown{Stage: "fetch", Class: "NETWORK_TIMEOUT", Signature: "dial tcp: timeout"}
	malformed = breakdown{Stage: "llm", Class: "VALIDATION_ERROR", Signature: "missing field <x>"}
)

// fail says what becomes of work that failed for good: a dead letter, or the next
// round of the one that it is.
func (d *letterDriver) fail(work recoup.ID, f breakdown) store.DecideStaged {
	now, id := d.now, d.id()
	return func(l store.StagedWork, _ time.Time) (next store.StagedWork, effects store.StagedEffects, err error) {
		switch {
		case l.Queued.LeaseToken != f.Token || l.Dead.Open() && l.Item.ReplayID.IsZero():
			return l, effects, errNo
		case l.Dead.Open():
			effects.Effects = touch(&l.Error, "fail", now)
			effects.Round.ReplayID = l.Item.ReplayID
			d.endItem(&l, f.Class, now)
		default:
			l.Error, effects.Effects, err = lifecycle.Step(d.policy, nil, lifecycle.Report{
				ID: id, Table: letters, EntityID: f.Entity, Failure: Failure(f.Class), Severity: recoup.Medium}, now)
			l.Dead = recoup.DeadLetter{
				ErrorID: id, WorkID: work, Pipeline: criticizer, FirstFailureAt: now, CreatedAt: now,
				PayloadRef: "s3://in/" + work.String(), PayloadHash: "abc", PreviousID: l.Previous.ErrorID,
			}
		}
		l.Queued = recoup.WorkItem{}
		l.Dead.Round++
		l.Dead.Step, l.Dead.Cause, l.Dead.Exhausted = recoup.StepNew, "", f.Class == slow.Class
		l.Dead.Stage, l.Dead.Class, l.Dead.Signature, l.Dead.LastFailureAt, l.Dead.UpdatedAt = f.Stage, f.Class, f.Signature, now, now
		effects.Round = recoup.Round{
			ErrorID: l.Dead.ErrorID, Round: l.Dead.Round, ReplayID: effects.Round.ReplayID, Stage: f.Stage, Class: f.Class, Signature: f.Signature,
			LastStack: "goroutine 1", Context: `{"attempts": {"fetch": 5}}`, FirstFailureAt: l.Dead.FirstFailureAt, LastFailureAt: now, At: now,
		}
		if f.Payload != nil {
			effects.Payload = store.Payload{WorkID: work, KeyID: "k1", Sealed: f.Payload, At: now}
		}
		return l, effects, err
	}
}

// endItem ends the item of a replay whose work has failed again.
func (d *letterDriver) endItem(l *store.StagedWork, class recoup.Code, now time.Time) {
	l.Error.ExpiresAt, l.Dead.HeldExpiry = l.Dead.HeldExpiry, time.Time{}
	l.Item.State, l.Item.EndedAt, l.Item.Worker, l.Item.Class = recoup.ItemFailed, now, l.Queued.LeaseWorker, class
	if class == l.Dead.Class {
		l.Item.State = recoup.ItemRepeated
	}
}

// touch changes an error as lifecycle.Step does, with a row of history.
func touch(e *recoup.Error, input string, now time.Time) lifecycle.Effects {
	before := e.Snapshot()
	e.UpdatedAt = now
	return lifecycle.Effects{History: recoup.Transition{
		ErrorID: e.ID, At: now, Input: input, Actor: "ada", Before: before, After: e.Snapshot(), PolicyVersion: e.PolicyVersion,
	}}
}

// stepWork hands one input about work to the store.
func (d *letterDriver) stepWork(work recoup.ID, decide store.DecideStaged) (store.StagedWork, error) {
	return onlyLetter(d.store.StepStaged(d.Context(), d.now, []store.StagedStep{{WorkID: work, Decide: decide}}))
}

// stepLetter hands one input about a dead letter to the store.
func (d *letterDriver) stepLetter(id recoup.ID, decide store.DecideStaged) (store.StagedWork, error) {
	return onlyLetter(d.store.StepStaged(d.Context(), d.now, []store.StagedStep{{ErrorID: id, Decide: decide}}))
}

func onlyLetter(outcomes []store.StagedOutcome, err error) (store.StagedWork, error) {
	if err != nil {
		return store.StagedWork{}, err
	}
	return outcomes[0].Letter, outcomes[0].Err
}

// dead records the failure of new work.
func (d *letterDriver) dead(f breakdown) store.StagedWork {
	d.Helper()
	work := d.id()
	l, err := d.stepWork(work, d.fail(work, f))
	d.must(err)
	return l
}

// deadMany records failures of new work in one verb.
func (d *letterDriver) deadMany(n int, f breakdown) []recoup.ID {
	d.Helper()
	ids := make([]recoup.ID, 0, n)
	for chunk := range slices.Chunk(make([]int, n), 500) {
		steps := make([]store.StagedStep, len(chunk))
		for i := range steps {
			work := d.id()
			steps[i] = store.StagedStep{WorkID: work, Decide: d.fail(work, f)}
		}
		outcomes, err := d.store.StepStaged(d.Context(), d.now, steps)
		d.must(err)
		for _, out := range outcomes {
			d.must(out.Err)
			ids = append(ids, out.Letter.Dead.ErrorID)
		}
	}
	return ids
}

// move takes a dead letter to a state of its workflow, with a note.
func (d *letterDriver) move(to recoup.WorkflowStep) store.DecideStaged {
	now := d.now
	return func(l store.StagedWork, _ time.Time) (store.StagedWork, store.StagedEffects, error) {
		effects := store.StagedEffects{Effects: touch(&l.Error, string(to), now)}
		l.Dead.Step, l.Dead.UpdatedAt = to, now
		if l.Dead.Cause == "" {
			l.Dead.Cause = recoup.CauseData
		}
		if to == recoup.StepVerified {
			l.Dead.ClosedAt = now
			l.Error.State, l.Error.Disposition, l.Error.Blocking = recoup.Resolved, recoup.DispositionResolved, false
			l.Error.ResolvedAt, l.Error.ResolvedBy, l.Error.NextEscalationAt, l.Error.NextReminderAt = now, "ada", time.Time{}, time.Time{}
			effects.History.After = l.Error.Snapshot()
		}
		effects.Notes = []recoup.Note{{
			ErrorID: l.Dead.ErrorID, Round: l.Dead.Round, Step: to, Actor: "ada", At: now, Text: "did " + string(to),
			Link: "https://tickets.example/1", Fields: recoup.JSON(fmt.Sprintf(`{"step": %q}`, to)),
		}}
		return l, effects, nil
	}
}

// validated takes dead letters to where they can be replayed.
func (d *letterDriver) validated(ids ...recoup.ID) {
	d.Helper()
	for _, to := range []recoup.WorkflowStep{recoup.StepTriaged, recoup.StepRemediated, recoup.StepValidated} {
		for chunk := range slices.Chunk(ids, 500) {
			steps := make([]store.StagedStep, len(chunk))
			for i, id := range chunk {
				steps[i] = store.StagedStep{ErrorID: id, Decide: d.move(to)}
			}
			outcomes, err := d.store.StepStaged(d.Context(), d.now, steps)
			d.must(err)
			for _, out := range outcomes {
				d.must(out.Err)
			}
		}
	}
}

func (d *letterDriver) read(id recoup.ID) store.StagedWork {
	d.Helper()
	l, err := d.store.DeadLetter(d.Context(), id)
	d.must(err)
	return l
}

// wantLetter says that a dead letter is stored exactly as it was answered.
func (d *letterDriver) wantLetter(want store.StagedWork) {
	d.Helper()
	want.Previous = recoup.DeadLetter{}
	if !want.Item.State.Open() {
		want.Item = recoup.ReplayItem{}
	}
	if want.Error.State == recoup.Archived {
		want.Error.Marks = recoup.Marks{} // the archive has none
	}
	if got := d.read(want.Dead.ErrorID); got != want {
		d.Errorf("stored is\n%+v, answered was\n%+v", got, want)
	}
}

// apply hands an input of the lifecycle to the store, as the engine does.
func (d *letterDriver) apply(id recoup.ID, in lifecycle.Input) error {
	now := d.now
	return d.decide(id, func(current *recoup.Error, _ int, _ time.Time) (recoup.Error, lifecycle.Effects, error) {
		return lifecycle.Step(d.policy, current, in, now)
	})
}

// archive archives a dead letter by hand, also in mid-replay, which no store decides.
func (d *letterDriver) archive(id recoup.ID) error { return d.decide(id, d.archiving(d.now)) }

func (d *letterDriver) archiving(now time.Time) store.Decide {
	return func(current *recoup.Error, _ int, _ time.Time) (recoup.Error, lifecycle.Effects, error) {
		free := *current
		if free.ExpiresAt.IsZero() {
			free.ExpiresAt = now.Add(time.Hour)
		}
		next, effects, err := lifecycle.Step(d.policy, &free, lifecycle.ArchiveNow{By: "ada", Reason: "enough"}, now)
		next.ExpiresAt = current.ExpiresAt
		return next, effects, err
	}
}

func (d *letterDriver) decide(id recoup.ID, decide store.Decide) error {
	out, err := d.store.ApplySteps(d.Context(), d.now, []store.Step{{ID: id, Decide: decide}})
	if err != nil {
		return err
	}
	return out[0].Err
}

func (d *letterDriver) notes(about recoup.Note) []recoup.Note {
	d.Helper()
	list, err := d.store.Notes(d.Context(), about, sqldb.MaxPage)
	d.must(err)
	return list
}

// together runs a crowd at once and reports what it returns.
func (d *letterDriver) together(run func(i int) error) {
	d.Helper()
	start := make(chan struct{})
	results := make([]error, crowd)
	var all sync.WaitGroup
	for i := range crowd {
		all.Go(func() {
			<-start
			results[i] = untilFree(func() error { return run(i) })
		})
	}
	close(start)
	all.Wait()
	d.must(errors.Join(results...))
}
