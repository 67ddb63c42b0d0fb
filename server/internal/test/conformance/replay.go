package conformance

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
)

func letterReplays() []letterClause {
	return []letterClause{
		{"members are added stretch by stretch, with the cursor, and are fixed when the replay begins", replayMembers},
		{"a dead letter is a member of one replay at a time", replayOnce},
		{"items are released in their order, each once, and only while the replay runs", replayRelease},
		{"results change the item, the dead letter and the error in one commit, in batches", replayResults},
		{"a paused replay releases nothing and its work is not claimed; it goes on where it stood", replayPause},
		{"a cancelled replay ends what nobody holds, and the rest as it comes back", replayCancel},
		{"nothing expires while it is part of a replay, and what is archived cannot be replayed", replayExpiry},
		{"a dead letter that is archived during its replay ends as that, whoever holds it", replayArchived},
	}
}

// replayOf begins a replay without members.
func (d *letterDriver) replayOf() recoup.Replay {
	d.Helper()
	r := recoup.Replay{
		ID: d.id(), State: recoup.ReplayCollecting, Selection: `{"pipeline": "criticizer"}`,
		Plan:      recoup.ReplayPlan{Rate: 2.5, Concurrency: 10, Canary: 1, Share: 0.1, Limit: 0.2},
		CreatedAt: d.now, CreatedBy: "ada", Reason: "the upstream is back", StateAt: d.now, StateBy: "ada",
	}
	d.must(d.store.CreateReplay(d.Context(), r, recoup.Note{ReplayID: r.ID, Step: "CREATED", Actor: "ada", At: d.now}))
	return r
}

// join makes a dead letter a member of a replay, if it is validated and nothing
// else has it, and holds its expiry.
func (d *letterDriver) join(replay recoup.ID) store.DecideStaged {
	now := d.now
	return func(l store.StagedWork, _ time.Time) (store.StagedWork, store.StagedEffects, error) {
		if l.Dead.Step != recoup.StepValidated || !l.Dead.Open() {
			return l, store.StagedEffects{}, fmt.Errorf("%w: it is %s", errNo, l.Dead.Step)
		}
		effects := store.StagedEffects{Effects: touch(&l.Error, "replay", now)}
		l.Item = recoup.ReplayItem{ReplayID: replay, Round: l.Dead.Round, Stage: l.Dead.Stage}
		l.Dead.Step, l.Dead.UpdatedAt = recoup.StepReplaying, now
		l.Dead.HeldExpiry, l.Error.ExpiresAt = l.Error.ExpiresAt, time.Time{}
		return l, effects, nil
	}
}

// add adds members to a replay and returns how many were refused.
func (d *letterDriver) add(replay recoup.ID, cursor string, ids ...recoup.ID) (refused int) {
	d.Helper()
	outcomes, err := d.store.AddMembers(d.Context(), d.now, store.Members{ReplayID: replay, ErrorIDs: ids, Cursor: cursor, Decide: d.join(replay)})
	d.must(err)
	for _, out := range outcomes {
		if out.Err != nil {
			refused++
		}
	}
	return refused
}

// to is a decision that moves a replay to a state and releases n items.
func (d *letterDriver) to(state recoup.ReplayState, n int) store.DecideReplay {
	now := d.now
	return func(s store.ReplayStatus, _ time.Time) (recoup.Replay, store.ReplayEffects, error) {
		r := s.Replay
		if r.State != state {
			r.State, r.StateAt, r.StateBy = state, now, "ada"
		}
		if state == recoup.ReplayRunning && r.StartedAt.IsZero() {
			r.StartedAt, r.Phase, r.PhaseAt, r.NextAt = now, 1, now, now
		}
		if state.Over() {
			r.EndedAt, r.NextAt = now, time.Time{}
		}
		return r, store.ReplayEffects{Release: n, Notes: []recoup.Note{{
			ReplayID: r.ID, Step: recoup.WorkflowStep(state), Actor: "ada", At: now, Text: fmt.Sprint("release ", n)}}}, nil
	}
}

// steps applies an input to a replay.
func (d *letterDriver) steps(replay recoup.ID, decide store.DecideReplay) store.ReplayStatus {
	d.Helper()
	s, err := d.store.StepReplay(d.Context(), d.now, replay, decide)
	d.must(err)
	return s
}

// replayed begins a replay of dead letters and releases the first n.
func (d *letterDriver) replayed(n int, ids ...recoup.ID) recoup.ID {
	d.Helper()
	r := d.replayOf()
	for chunk := range slices.Chunk(ids, 500) {
		if refused := d.add(r.ID, "", chunk...); refused > 0 {
			d.Fatalf("%d of %d members are refused", refused, len(chunk))
		}
	}
	d.steps(r.ID, d.to(recoup.ReplayRunning, n))
	return r.ID
}

// wantCounts says how many items of a replay are in which state, also when the
// counts are folded.
func (d *letterDriver) wantCounts(replay recoup.ID, want ...store.ReplayCount) {
	d.Helper()
	for range 2 {
		s, err := d.store.Replay(d.Context(), replay)
		d.must(err)
		if !slices.Equal(s.ByPhase, want) {
			d.Errorf("the replay counts %+v, want %+v", s.ByPhase, want)
		}
		d.must(d.store.FoldDeadLetterCounts(d.Context()))
	}
}

func (d *letterDriver) items(replay recoup.ID, state recoup.ItemState) []recoup.ReplayItem {
	d.Helper()
	var all []recoup.ReplayItem
	for from := 0; from >= 0; {
		list, next, err := d.store.Items(d.Context(), replay, state, from, 7)
		d.must(err)
		all, from = append(all, list...), next
	}
	return all
}

func replayMembers(d *letterDriver) {
	ids := d.deadMany(11, slow)
	d.validated(ids[:8]...)
	r := d.replayOf()
	if got := d.add(r.ID, "a", ids[:4]...); got != 0 {
		d.Errorf("%d refused", got)
	}
	// The same stretch once more, as after a crash; some that are not ready, one
	// that nobody knows, one twice.
	if got := d.add(r.ID, "b", slices.Concat(ids[:4], ids[4:10], []recoup.ID{d.id()}, ids[4:5])...); got != 4+2+1+1 {
		d.Errorf("%d refused", got)
	}
	s, err := d.store.Replay(d.Context(), r.ID)
	d.must(err)
	want := r
	want.Members, want.Cursor = 8, "b"
	if s.Replay != want || s.Count(recoup.ItemPending) != 8 {
		d.Errorf("the replay is %+v", s)
	}
	for i, item := range d.items(r.ID, "") {
		if item.Position != i || item.ErrorID != ids[i] || item.State != recoup.ItemPending || item.Round != 1 || item.Stage != "fetch" {
			d.Errorf("item %d is %+v", i, item)
		}
	}
	l := d.read(ids[3])
	if l.Item.ReplayID != r.ID || l.Item.Position != 3 || l.Dead.Step != recoup.StepReplaying || !l.Error.ExpiresAt.IsZero() || l.Dead.HeldExpiry.IsZero() {
		d.Errorf("a member is %+v", l)
	}
	d.steps(r.ID, d.to(recoup.ReplayRunning, 0))
	d.validated(ids[10])
	_, err = d.store.AddMembers(d.Context(), d.now, store.Members{ReplayID: r.ID, ErrorIDs: ids[10:], Cursor: "b", Decide: d.join(r.ID)})
	if !errors.Is(err, store.ErrRefused) {
		d.Errorf("a late member is answered with %v", err)
	}
	if l := d.read(ids[10]); l.Dead.Step != recoup.StepValidated || l.Error.ExpiresAt.IsZero() {
		d.Errorf("it has become %+v", l)
	}
}

func replayOnce(d *letterDriver) {
	ids := d.deadMany(1, slow)
	d.validated(ids...)
	d.replayed(0, ids...)
	other := d.replayOf()
	if got := d.add(other.ID, "", ids...); got != 1 {
		d.Errorf("%d refused", got)
	}
	// Also when the decision does not look.
	_, err := d.store.AddMembers(d.Context(), d.now, store.Members{ReplayID: other.ID, ErrorIDs: ids, Decide: func(l store.StagedWork, _ time.Time) (store.StagedWork, store.StagedEffects, error) {
		l.Item = recoup.ReplayItem{ReplayID: other.ID, Round: 1, Stage: "fetch"}
		return l, store.StagedEffects{}, nil
	}})
	if err == nil {
		d.Errorf("a dead letter is in two replays")
	}
	if n := len(d.items(other.ID, "")); n != 0 {
		d.Errorf("the other has %d items", n)
	}
}

func replayRelease(d *letterDriver) {
	ids := d.deadMany(10, slow)
	d.validated(ids...)
	replay := d.replayed(1, ids...)
	d.wantCounts(replay, store.ReplayCount{Phase: 0, State: recoup.ItemPending, N: 9}, store.ReplayCount{Phase: 1, State: recoup.ItemReleased, N: 1})
	d.wait(minute)
	d.steps(replay, func(s store.ReplayStatus, _ time.Time) (recoup.Replay, store.ReplayEffects, error) {
		r := s.Replay
		r.Phase, r.PhaseAt = 2, d.now
		return r, store.ReplayEffects{Release: 3}, nil
	})
	d.wantCounts(replay, store.ReplayCount{Phase: 0, State: recoup.ItemPending, N: 6},
		store.ReplayCount{Phase: 1, State: recoup.ItemReleased, N: 1}, store.ReplayCount{Phase: 2, State: recoup.ItemReleased, N: 3})
	got := d.claim(10)
	if len(got) != 4 {
		d.Fatalf("claimed %d", len(got))
	}
	for i, q := range got[:1] {
		want := d.read(ids[i])
		if q.ErrorID != ids[i] || q.WorkID != want.Dead.WorkID || q.ReplayID != replay || q.Stage != "fetch" || q.Class != slow.Class ||
			q.PayloadRef != want.Dead.PayloadRef || q.PayloadHash != "abc" || q.Claims != 1 || want.Queued != q {
			d.Errorf("claimed %+v, stored is %+v", q, want.Queued)
		}
	}
	for i, item := range d.items(replay, recoup.ItemReleased) {
		if item.ErrorID != ids[i] || i == 0 && (item.Phase != 1) || i > 0 && (item.Phase != 2 || !item.ReleasedAt.Equal(d.now)) {
			d.Errorf("released %+v", item)
		}
	}
	s := d.steps(replay, d.to(recoup.ReplayRunning, 500)) // more than there are
	if s.Count(recoup.ItemReleased) != 10 || len(d.claim(100)) != 6 {
		d.Errorf("released %+v", s)
	}
	if s = d.steps(replay, d.to(recoup.ReplayRunning, 5)); s.Count(recoup.ItemReleased) != 10 || len(d.claim(100)) != 0 {
		d.Errorf("released twice: %+v", s)
	}
	d.ack(d.queued(replay))
	if _, err := d.store.StepReplay(d.Context(), d.now, replay, d.to(recoup.ReplayDone, 0)); err != nil {
		d.Errorf("it cannot be done: %v", err)
	}
}

// queued returns the work of a replay that is in the queue.
func (d *letterDriver) queued(replay recoup.ID) []recoup.WorkItem {
	d.Helper()
	var list []recoup.WorkItem
	for _, item := range d.items(replay, recoup.ItemReleased) {
		list = append(list, d.read(item.ErrorID).Queued)
	}
	return list
}
