package conformance

import (
	"errors"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
)

func replayResults(d *letterDriver) {
	ids := d.deadMany(9, slow)
	d.validated(ids...)
	replay := d.replayed(9, ids...)
	got := d.claim(9)
	d.wait(minute)
	steps := make([]store.StagedStep, len(got))
	for i, q := range got {
		f := []breakdown{slow, malformed, {}}[i%3]
		f.Token = q.LeaseToken
		steps[i] = store.StagedStep{WorkID: q.WorkID, Decide: d.succeed(q.LeaseToken)}
		if f.Class != "" {
			steps[i].Decide = d.fail(q.WorkID, f)
		}
	}
	bad := store.StagedStep{WorkID: got[0].WorkID, Decide: d.succeed(d.id())} // a result that comes too late
	outcomes, err := d.store.StepStaged(d.Context(), d.now, append(steps, bad))
	d.must(err)
	if last := outcomes[len(steps)]; !errors.Is(last.Err, errNo) {
		d.Errorf("a second result is answered with %v", last.Err)
	}
	for i, out := range outcomes[:len(steps)] {
		d.must(out.Err)
		d.wantLetter(out.Letter)
		want := []recoup.ItemState{recoup.ItemRepeated, recoup.ItemFailed, recoup.ItemSucceeded}[i%3]
		items, err := d.store.ItemsOf(d.Context(), out.Letter.Dead.ErrorID, 5)
		d.must(err)
		if len(items) != 1 || items[0] != out.Letter.Item || items[0].State != want || items[0].Worker != "w1" || !items[0].EndedAt.Equal(d.now) {
			d.Errorf("the item is %+v, want %s", items, want)
		}
		history, err := d.store.History(d.Context(), out.Letter.Dead.ErrorID, 20)
		d.must(err)
		if input := history[len(history)-1].Input; input != []string{"fail", "fail", "succeed"}[i%3] {
			d.Errorf("the history ends with %s", input)
		}
	}
	d.wantCounts(replay, store.ReplayCount{Phase: 1, State: recoup.ItemFailed, N: 3},
		store.ReplayCount{Phase: 1, State: recoup.ItemRepeated, N: 3}, store.ReplayCount{Phase: 1, State: recoup.ItemSucceeded, N: 3})
	if rest := d.claim(10); len(rest) > 0 {
		d.Errorf("in the queue are %+v", rest)
	}
}

func replayPause(d *letterDriver) {
	ids := d.deadMany(6, slow)
	d.validated(ids...)
	replay := d.replayed(4, ids...)
	held := d.claim(2)
	s := d.steps(replay, d.to(recoup.ReplayPaused, 0))
	if s.State != recoup.ReplayPaused || s.StateBy != "ada" {
		d.Errorf("paused it is %+v", s)
	}
	if _, err := d.store.StepReplay(d.Context(), d.now, replay, d.to(recoup.ReplayPaused, 1)); !errors.Is(err, store.ErrRefused) {
		d.Errorf("a release of a paused replay is answered with %v", err)
	}
	fresh := d.submit("fetch", 1)[0] // which is not held up
	if got := d.claim(10); len(got) != 1 || got[0].WorkID != fresh {
		d.Errorf("claimed %+v", got)
	}
	d.ack(held) // what is under way is finished
	d.wait(workLease)
	d.steps(replay, d.to(recoup.ReplayRunning, 0))
	lanes := []recoup.Lane{{Pipeline: criticizer, Stage: "fetch"}}
	got, err := d.tryClaim("w2", 10, lanes...)
	d.must(err)
	if len(got) != 3 { // two of the replay, and the fresh one whose lease has expired
		d.Errorf("claimed %+v", got)
	}
	refused := errors.New("refused")
	_, err = d.store.StepReplay(d.Context(), d.now, replay, func(s store.ReplayStatus, _ time.Time) (recoup.Replay, store.ReplayEffects, error) {
		return recoup.Replay{}, store.ReplayEffects{Release: 1}, refused
	})
	if !errors.Is(err, refused) {
		d.Errorf("answered with %v", err)
	}
	d.wantCounts(replay, store.ReplayCount{Phase: 0, State: recoup.ItemPending, N: 2},
		store.ReplayCount{Phase: 1, State: recoup.ItemReleased, N: 2}, store.ReplayCount{Phase: 1, State: recoup.ItemSucceeded, N: 2})
	if notes := d.notes(recoup.Note{ReplayID: replay}); len(notes) != 4 {
		d.Errorf("notes %+v", notes)
	}
}

// cancel ends the item of a dead letter as if it had never been asked.
func (d *letterDriver) cancel() store.DecideStaged {
	now := d.now
	return func(l store.StagedWork, _ time.Time) (store.StagedWork, store.StagedEffects, error) {
		effects := store.StagedEffects{Effects: touch(&l.Error, "cancel", now)}
		l.Item.State, l.Item.EndedAt = recoup.ItemCancelled, now
		l.Queued = recoup.WorkItem{}
		l.Dead.Step, l.Dead.UpdatedAt = recoup.StepValidated, now
		l.Error.ExpiresAt, l.Dead.HeldExpiry = l.Dead.HeldExpiry, time.Time{}
		return l, effects, nil
	}
}

func (d *letterDriver) end(replay recoup.ID, limit, want int) {
	d.Helper()
	got, err := d.store.EndItems(d.Context(), d.now, replay, limit, d.cancel())
	d.must(err)
	if got != want {
		d.Errorf("ended %d, want %d", got, want)
	}
}

func replayCancel(d *letterDriver) {
	ids := d.deadMany(12, slow)
	d.validated(ids...)
	before := d.read(ids[11])
	expiry := before.Error.ExpiresAt
	replay := d.replayed(5, ids...)
	held := d.claim(3)
	d.steps(replay, d.to(recoup.ReplayCancelling, 0))
	if got := d.claim(10); len(got) > 0 {
		d.Errorf("claimed of a cancelled replay: %+v", got)
	}
	d.end(replay, 4, 4)
	d.end(replay, 100, 5)
	d.end(replay, 100, 0)
	if _, err := d.store.StepReplay(d.Context(), d.now, replay, d.to(recoup.ReplayCancelled, 0)); !errors.Is(err, store.ErrRefused) {
		d.Errorf("an end with items under way is answered with %v", err)
	}
	if l := d.read(ids[11]); l.Dead.Step != recoup.StepValidated || !l.Error.ExpiresAt.Equal(expiry) || !l.Dead.HeldExpiry.IsZero() || l.Item != (recoup.ReplayItem{}) {
		d.Errorf("what was never released is %+v", l)
	}
	d.ack(held[:2])
	d.wait(workLease)
	d.end(replay, 100, 1) // whose worker was lost
	d.steps(replay, d.to(recoup.ReplayCancelled, 0))
	d.wantCounts(replay, store.ReplayCount{Phase: 0, State: recoup.ItemCancelled, N: 7},
		store.ReplayCount{Phase: 1, State: recoup.ItemCancelled, N: 3}, store.ReplayCount{Phase: 1, State: recoup.ItemSucceeded, N: 2})
	if _, err := d.store.StepReplay(d.Context(), d.now, replay, d.to(recoup.ReplayRunning, 1)); !errors.Is(err, store.ErrRefused) {
		d.Errorf("a cancelled replay goes on with %v", err)
	}
	d.replayed(9, ids[3:]...) // all of which can be replayed again
}

func replayExpiry(d *letterDriver) {
	ids := d.deadMany(3, slow)
	d.validated(ids...)
	expiry := d.read(ids[0]).Error.ExpiresAt
	d.replayed(1, ids[:2]...)
	d.now = expiry.Add(day)
	d.must(d.store.EnsurePartitions(d.Context(), d.now))
	due, err := d.store.Due(d.Context(), store.DueExpiry, d.now, 0, 10)
	d.must(err)
	if !slices.Equal(due, ids[2:]) {
		d.Errorf("due are %v", due)
	}
	if err := d.apply(ids[0], lifecycle.Expire{}); err == nil {
		d.Errorf("it expires during a replay")
	}
	// Also when the decision does not look.
	_, err = d.stepLetter(ids[0], func(l store.StagedWork, _ time.Time) (store.StagedWork, store.StagedEffects, error) {
		l.Error.ExpiresAt = expiry
		e, effects, err := lifecycle.Step(d.policy, &l.Error, lifecycle.Expire{}, d.now)
		l.Error = e
		return l, store.StagedEffects{Effects: effects}, err
	})
	if !errors.Is(err, store.ErrRefused) {
		d.Errorf("an expiry during a replay is answered with %v", err)
	}
	d.must(d.apply(ids[2], lifecycle.Expire{}))
	other := d.replayOf()
	if refused := d.add(other.ID, "", ids[2]); refused != 1 {
		d.Errorf("what is archived is replayed")
	}
	_, err = d.store.AddMembers(d.Context(), d.now, store.Members{ReplayID: other.ID, ErrorIDs: ids[2:], Decide: func(l store.StagedWork, _ time.Time) (store.StagedWork, store.StagedEffects, error) {
		l.Item = recoup.ReplayItem{ReplayID: other.ID, Round: 1, Stage: "fetch"}
		return l, store.StagedEffects{}, nil
	}})
	if !errors.Is(err, store.ErrRefused) && len(d.items(other.ID, "")) > 0 {
		d.Errorf("an archived member is answered with %v", err)
	}
}

func replayArchived(d *letterDriver) {
	f := slow
	f.Payload = []byte("sealed")
	ids := d.deadMany(3, f)
	d.validated(ids...)
	replay := d.replayed(2, ids...)
	held := d.claim(1)[0]
	for _, id := range ids { // leased, released, pending
		d.must(d.archive(id))
	}
	d.wantCounts(replay, store.ReplayCount{Phase: 0, State: recoup.ItemArchived, N: 1}, store.ReplayCount{Phase: 1, State: recoup.ItemArchived, N: 2})
	if _, err := d.stepWork(held.WorkID, d.succeed(held.LeaseToken)); !errors.Is(err, errNo) {
		d.Errorf("a late result is answered with %v", err)
	}
	d.wantDestroyed(held.WorkID)
	if got := d.claim(10); len(got) > 0 {
		d.Errorf("claimed %+v", got)
	}
	d.steps(replay, d.to(recoup.ReplayDone, 0))
}
