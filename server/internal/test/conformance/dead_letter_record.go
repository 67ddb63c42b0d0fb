package conformance

import (
	"errors"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

func letterRecords() []letterClause {
	return []letterClause{
		{"a dead letter is recorded with its error, its round and its payload", letterRecord},
		{"what a decision refuses is not recorded, and the rest of its batch is", letterRefused},
		{"the same work failing after a replay is the next round, and nothing is lost of the first", letterRounds},
		{"work that fails again when its dead letter is closed gets a new one, linked to the old", letterPrevious},
		{"the workflow moves step by step with a note for each, and its end resolves the error", letterWorkflow},
		{"a decision that breaks off leaves nothing", letterAtomic},
		{"a step under a receipt happens once", letterReceipts},
		{"a dead letter takes the place of an error, or neither moves", letterInstead},
	}
}

func letterRecord(d *letterDriver) {
	f := malformed
	f.Entity, f.Payload = "CO-1", []byte("sealed")
	l := d.dead(f)
	d.wantLetter(l)
	if l.Error.State != recoup.Parked || !l.Error.Blocking || l.Dead.Round != 1 || l.Dead.Step != recoup.StepNew ||
		l.Dead.GroupID != recoup.GroupID(criticizer, "llm", "VALIDATION_ERROR", malformed.Signature) {
		d.Errorf("recorded %+v", l)
	}
	rounds, err := d.store.Rounds(d.Context(), l.Dead.ErrorID, 10)
	d.must(err)
	if len(rounds) != 1 || rounds[0].LastStack != "goroutine 1" || rounds[0].Context != `{"attempts": {"fetch": 5}}` || !rounds[0].At.Equal(d.now) {
		d.Errorf("rounds %+v", rounds)
	}
	p, err := d.store.Payload(d.Context(), l.Dead.WorkID)
	d.must(err)
	if string(p.Sealed) != "sealed" || p.KeyID != "k1" || !p.At.Equal(d.now) {
		d.Errorf("payload %+v", p)
	}
	history, err := d.store.History(d.Context(), l.Dead.ErrorID, 10)
	d.must(err)
	if len(history) != 1 || history[0].Input != "report" {
		d.Errorf("history %+v", history)
	}
	got, err := d.store.StagedWork(d.Context(), l.Dead.WorkID)
	d.must(err)
	if got != l {
		d.Errorf("of its work there is %+v", got)
	}
	for name, err := range map[string]error{
		"a dead letter": second(d.store.DeadLetter(d.Context(), d.id())),
		"work":          second(d.store.StagedWork(d.Context(), d.id())),
		"a payload":     second(d.store.Payload(d.Context(), d.id())),
		"a group":       second(d.store.Group(d.Context(), d.id())),
		"a replay":      second(d.store.Replay(d.Context(), d.id())),
		"a step":        second(d.stepLetter(d.id(), d.move(recoup.StepTriaged))),
	} {
		if !errors.Is(err, sqldb.ErrNotFound) {
			d.Errorf("%s that does not exist is answered with %v", name, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func letterRefused(d *letterDriver) {
	one, two := d.id(), d.id()
	no := func(l store.StagedWork, _ time.Time) (store.StagedWork, store.StagedEffects, error) {
		return l, store.StagedEffects{}, errNo
	}
	outcomes, err := d.store.StepStaged(d.Context(), d.now, []store.StagedStep{
		{WorkID: one, Decide: no}, {WorkID: two, Decide: d.fail(two, slow)}, {WorkID: two, Decide: d.fail(two, slow)},
	})
	d.must(err)
	if !errors.Is(outcomes[0].Err, errNo) || outcomes[1].Err != nil || !errors.Is(outcomes[2].Err, errNo) {
		d.Errorf("answered %+v", outcomes)
	}
	if err := second(d.store.StagedWork(d.Context(), one)); !errors.Is(err, sqldb.ErrNotFound) {
		d.Errorf("refused work is there: %v", err)
	}
	d.wantLetter(outcomes[1].Letter)
}

func letterRounds(d *letterDriver) {
	l := d.dead(slow)
	d.validated(l.Dead.ErrorID)
	first := d.replayed(1, l.Dead.ErrorID)
	q := d.claim(1)[0]
	d.wait(minute)
	again := malformed
	again.Token = q.LeaseToken
	l, err := d.stepWork(l.Dead.WorkID, d.fail(l.Dead.WorkID, again))
	d.must(err)
	d.wantLetter(l)
	if l.Dead.Round != 2 || l.Dead.Step != recoup.StepNew || l.Item.State != recoup.ItemFailed || l.Error.ExpiresAt.IsZero() {
		d.Errorf("the next round is %+v", l)
	}
	rounds, err := d.store.Rounds(d.Context(), l.Dead.ErrorID, 10)
	d.must(err)
	if len(rounds) != 2 || rounds[0].Class != slow.Class || rounds[1].Class != malformed.Class || rounds[1].ReplayID != first {
		d.Errorf("rounds %+v", rounds)
	}
	if notes := d.notes(recoup.Note{ErrorID: l.Dead.ErrorID}); len(notes) != 3 || notes[0].Round != 1 {
		d.Errorf("notes %+v", notes)
	}
	d.wantCounts(first, store.ReplayCount{Phase: 1, State: recoup.ItemFailed, N: 1})
	d.validated(l.Dead.ErrorID) // and once more round the block
	d.replayed(1, l.Dead.ErrorID)
	again.Token = d.claim(1)[0].LeaseToken
	l, err = d.stepWork(l.Dead.WorkID, d.fail(l.Dead.WorkID, again))
	d.must(err)
	if l.Dead.Round != 3 || l.Item.State != recoup.ItemRepeated {
		d.Errorf("the third round is %+v", l)
	}
	items, err := d.store.ItemsOf(d.Context(), l.Dead.ErrorID, 10)
	d.must(err)
	if len(items) != 2 || items[0].State != recoup.ItemRepeated || items[1].State != recoup.ItemFailed || items[1].ReplayID != first {
		d.Errorf("items %+v", items)
	}
}

func letterPrevious(d *letterDriver) {
	l := d.dead(slow)
	d.validated(l.Dead.ErrorID)
	d.replayed(1, l.Dead.ErrorID)
	d.ack(d.claim(1))
	_, err := d.stepLetter(l.Dead.ErrorID, d.move(recoup.StepVerified))
	d.must(err)
	d.wait(day)
	work := l.Dead.WorkID
	again, err := d.stepWork(work, d.fail(work, slow))
	d.must(err)
	if again.Dead.ErrorID == l.Dead.ErrorID || again.Dead.PreviousID != l.Dead.ErrorID || again.Dead.Round != 1 {
		d.Errorf("a new dead letter is %+v", again.Dead)
	}
	d.wantLetter(again)
	g, err := d.store.Group(d.Context(), again.Dead.GroupID)
	d.must(err)
	if g.Open != 1 || g.Total != 2 {
		d.Errorf("the group counts %+v", g)
	}
}

func letterWorkflow(d *letterDriver) {
	l := d.dead(slow)
	id := l.Dead.ErrorID
	d.validated(id)
	d.replayed(1, id)
	d.ack(d.claim(1))
	l, err := d.stepLetter(id, d.move(recoup.StepVerified))
	d.must(err)
	d.wantLetter(l)
	if l.Error.State != recoup.Resolved || l.Dead.ClosedAt.IsZero() {
		d.Errorf("verified %+v", l)
	}
	var steps []recoup.WorkflowStep
	for _, n := range d.notes(recoup.Note{ErrorID: id}) {
		if n.Actor != "ada" || n.Link == "" || n.Fields != recoup.JSON(`{"step": "`+string(n.Step)+`"}`) || !n.At.Equal(d.now) {
			d.Errorf("note %+v", n)
		}
		steps = append(steps, n.Step)
	}
	if len(steps) != 4 || steps[0] != recoup.StepTriaged || steps[3] != recoup.StepVerified {
		d.Errorf("notes of %v", steps)
	}
	if _, err := d.stepLetter(id, d.move(recoup.StepTriaged)); !errors.Is(err, store.ErrRefused) {
		d.Errorf("a closed dead letter is moved with %v", err)
	}
	d.must(d.apply(id, lifecycle.ArchiveNow{}))
	if got := d.read(id); got.Error.ArchiveReason != recoup.ResolvedArchive || got.Dead != l.Dead {
		d.Errorf("archived it is %+v", got)
	}
}

// letterAtomic makes each of the writes of a record fail in turn, the others
// being as they should.
func letterInstead(d *letterDriver) {
	old := d.id()
	report := lifecycle.Report{ID: old, Table: "outreach.dol_errors", EntityID: "CO-1", Failure: Failure(malformed.Class), Severity: recoup.Medium}
	_, err := d.store.Report(d.Context(), d.now, []store.Report{{Table: report.Table, Entity: report.EntityID, Code: malformed.Class,
		Decide: func(_ *recoup.Error, _ int, now time.Time) (recoup.Error, lifecycle.Effects, error) {
			return lifecycle.Step(d.policy, nil, report, now)
		}}})
	d.must(err)
	take := func(instead recoup.ID, in lifecycle.Input) error {
		f := malformed
		f.Entity = "CO-1"
		_, err := onlyLetter(d.store.StepStaged(d.Context(), d.now, []store.StagedStep{{WorkID: old, Decide: d.fail(old, f), Instead: &store.Step{ID: instead,
			Decide: func(e *recoup.Error, _ int, now time.Time) (recoup.Error, lifecycle.Effects, error) {
				return lifecycle.Step(d.policy, e, in, now)
			}}}}))
		return err
	}
	want := func(state recoup.State, letter bool) {
		d.Helper()
		e, err := d.store.Error(d.Context(), old)
		d.must(err)
		_, err = d.store.StagedWork(d.Context(), old)
		if e.State != state || letter != (err == nil) || !letter && !errors.Is(err, sqldb.ErrNotFound) {
			d.Errorf("the error is %s, of its work there is %v", e.State, err)
		}
	}
	var refusal *lifecycle.Refusal
	if err := take(old, lifecycle.Succeed{Token: d.id()}); !errors.As(err, &refusal) {
		d.Errorf("what its error refuses: %v", err)
	}
	want(recoup.Parked, false)
	if err := take(d.id(), lifecycle.Resolve{By: "source"}); !errors.Is(err, sqldb.ErrNotFound) {
		d.Errorf("of an error that is not there: %v", err)
	}
	want(recoup.Parked, false)
	d.must(take(old, lifecycle.Resolve{By: "source", Reason: "dead letter"}))
	want(recoup.Resolved, true)
	found, err := d.store.Blocking(d.Context(), []string{"CO-1"}, 10)
	d.must(err)
	if len(found[0]) != 1 || found[0][0].Table != letters {
		d.Errorf("it is blocked by %+v", found)
	}
}

func letterAtomic(d *letterDriver) {
	good := d.dead(slow)
	for name, spoil := range map[string]func(l *store.StagedWork, effects *store.StagedEffects){
		"the error":   func(l *store.StagedWork, _ *store.StagedEffects) { l.Error.Disposition = recoup.DispositionRetry },
		"the history": func(_ *store.StagedWork, effects *store.StagedEffects) { effects.History.PolicyVersion = "" },
		"the letter":  func(l *store.StagedWork, _ *store.StagedEffects) { l.Dead.Step = recoup.StepTriaged },
		"the round":   func(_ *store.StagedWork, effects *store.StagedEffects) { effects.Round.Stage = "" },
		"the payload": func(_ *store.StagedWork, effects *store.StagedEffects) { effects.Payload.KeyID = "" },
		"the queue": func(l *store.StagedWork, _ *store.StagedEffects) {
			l.Queued = recoup.WorkItem{WorkID: l.Dead.WorkID, Pipeline: criticizer, Stage: "fetch", CreatedAt: d.now}
		},
		"a note": func(_ *store.StagedWork, effects *store.StagedEffects) {
			effects.Notes = []recoup.Note{{Actor: "ada", At: d.now}}
		},
	} {
		work := d.id()
		f := slow
		f.Payload = []byte("x")
		decide := d.fail(work, f)
		spoiled := func(current store.StagedWork, now time.Time) (store.StagedWork, store.StagedEffects, error) {
			l, effects, err := decide(current, now)
			spoil(&l, &effects)
			return l, effects, err
		}
		if _, err := d.stepWork(work, spoiled); err == nil {
			d.Errorf("%s: a wrong write went through", name)
		}
		if _, err := d.store.StagedWork(d.Context(), work); !errors.Is(err, sqldb.ErrNotFound) {
			d.Errorf("%s: something is left: %v", name, err)
		}
		if _, err := d.store.Payload(d.Context(), work); !errors.Is(err, sqldb.ErrNotFound) {
			d.Errorf("%s: a payload is left: %v", name, err)
		}
	}
	g, err := d.store.Group(d.Context(), good.Dead.GroupID)
	d.must(err)
	if g.Open != 1 || g.Total != 1 {
		d.Errorf("the group counts %+v", g)
	}
}

func letterReceipts(d *letterDriver) {
	work := d.id()
	step := store.StagedStep{WorkID: work, Decide: d.fail(work, slow), Receipt: &store.StagedReceipt{
		Scope: "dead-letters", Key: "k", Hash: [32]byte{1}, ExpiresAt: d.now.Add(day),
		Answer: func(out store.StagedOutcome) []byte { return []byte(out.Letter.Dead.ErrorID.String()) },
	}}
	first, err := d.store.StepStaged(d.Context(), d.now, []store.StagedStep{step})
	d.must(err)
	again, err := d.store.StepStaged(d.Context(), d.now, []store.StagedStep{step})
	d.must(err)
	if first[0].Err != nil || first[0].Repeated || !again[0].Repeated || string(again[0].Answer) != first[0].Letter.Dead.ErrorID.String() {
		d.Errorf("answered %+v, then %+v", first[0], again[0])
	}
	step.Receipt.Hash = [32]byte{2}
	other, err := d.store.StepStaged(d.Context(), d.now, []store.StagedStep{step})
	d.must(err)
	if !errors.Is(other[0].Err, store.ErrConflict) {
		d.Errorf("another request is answered with %v", other[0].Err)
	}
}
