package store_test

import (
	"errors"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

var (
	letterTime = time.Date(2026, 2, 2, 9, 0, 0, 0, time.UTC)
	workID     = recoup.ID{1}
	letterID   = recoup.ID{2}
	replayID   = recoup.ID{3}
)

// openLetter is a dead letter whose replay is under way.
func openLetter() store.StagedWork {
	return store.StagedWork{
		Queued: recoup.WorkItem{WorkID: workID, Pipeline: "p", Stage: "s", ReplayID: replayID, ErrorID: letterID},
		Dead: recoup.DeadLetter{
			ErrorID: letterID, WorkID: workID, Pipeline: "p", Stage: "s", Class: "C", Step: recoup.StepReplaying, Round: 1,
			GroupID: recoup.GroupID("p", "s", "C", ""),
		},
		Error: recoup.Error{ID: letterID, State: recoup.Parked},
		Item:  recoup.ReplayItem{ReplayID: replayID, Position: 4, ErrorID: letterID, WorkID: workID, State: recoup.ItemReleased},
	}
}

func letterWork(l store.StagedWork) *store.UnitOfWork {
	w := store.NewUnitOfWork(letterTime, []recoup.Error{l.Error})
	w.AddLetters([]store.StagedWork{l})
	return w
}

// decided is a decision that changes a dead letter.
func decided(change func(l *store.StagedWork)) store.DecideStaged {
	return func(l store.StagedWork, _ time.Time) (store.StagedWork, store.StagedEffects, error) {
		change(&l)
		return l, store.StagedEffects{}, nil
	}
}

func TestLetterWorkSeesWhatCameBefore(t *testing.T) {
	t.Parallel()
	w := letterWork(openLetter())
	w.StepLetter(store.StagedStep{WorkID: workID, Decide: decided(func(l *store.StagedWork) {
		l.Item.State, l.Item.EndedAt, l.Queued, l.Dead.Step = recoup.ItemSucceeded, letterTime, recoup.WorkItem{}, recoup.StepReplayed
	})})
	w.StepLetter(store.StagedStep{ErrorID: letterID, Decide: decided(func(l *store.StagedWork) {
		if l.Item.ReplayID != (recoup.ID{}) || l.Dead.Step != recoup.StepReplayed {
			t.Errorf("the next one sees %+v", l)
		}
		l.Dead.Step, l.Dead.ClosedAt = recoup.StepVerified, letterTime
	})})
	w.StepLetter(store.StagedStep{WorkID: workID, Decide: decided(func(l *store.StagedWork) {
		if l.Dead.ErrorID != (recoup.ID{}) || l.Previous.ErrorID != letterID {
			t.Errorf("the same work again sees %+v", l)
		}
		l.Error.ID = recoup.ID{9}
		l.Dead = recoup.DeadLetter{ErrorID: l.Error.ID, WorkID: workID, Round: 1}
	})})
	added, changed := w.Items()
	if len(added) != 0 || len(changed) != 1 || changed[0].State != recoup.ItemSucceeded || changed[0].Position != 4 {
		t.Errorf("items %+v, %+v", added, changed)
	}
	if queued, _, gone := w.Queue(); len(gone) != 1 || gone[0].WorkID != workID || len(queued) != 0 {
		t.Errorf("out of the queue go %v", gone)
	}
	if n, moved, u := w.DeadLetters(); len(n) != 1 || len(moved) != 0 || len(u) != 1 || n[0].ErrorID != (recoup.ID{9}) || u[0].Step != recoup.StepVerified {
		t.Errorf("letters %+v, %+v", n, u)
	}
	if len(w.Inserts()) != 1 {
		t.Errorf("errors %+v", w.Inserts())
	}
}

// What the database does by itself when an error is archived is not written.
func TestLetterWorkArchives(t *testing.T) {
	t.Parallel()
	w := letterWork(openLetter())
	out := w.StepLetter(store.StagedStep{ErrorID: letterID, Decide: decided(func(l *store.StagedWork) {
		l.Error.State, l.Error.ArchivedAt = recoup.Archived, letterTime
		l.Dead.Cause = recoup.CauseData // which comes to nothing
	})})
	if out.Err != nil || !out.Letter.Dead.ClosedAt.Equal(letterTime) || out.Letter.Item.ReplayID != (recoup.ID{}) || out.Letter.Dead.Cause != "" {
		t.Errorf("archived it is %+v", out)
	}
	moved := w.Ended()
	_, items := w.Items()
	added, changed, gone := w.Queue()
	_, stepped, letters := w.DeadLetters()
	if len(moved) != 1 || len(items)+len(gone)+len(changed)+len(added)+len(stepped)+len(letters) != 0 {
		t.Errorf("written are %v, %v, %v, %v", items, gone, stepped, letters)
	}
	again := w.StepLetter(store.StagedStep{WorkID: workID, Decide: decided(func(l *store.StagedWork) {
		if l.Previous.ErrorID != letterID || l.Queued.WorkID != (recoup.ID{}) {
			t.Errorf("its work is %+v", l)
		}
	})})
	if again.Err != nil {
		t.Error(again.Err)
	}
}

func TestLetterWorkRefuses(t *testing.T) {
	t.Parallel()
	w := letterWork(openLetter())
	no := errors.New("no")
	out := w.StepLetter(store.StagedStep{WorkID: workID, Decide: func(l store.StagedWork, _ time.Time) (store.StagedWork, store.StagedEffects, error) {
		l.Dead.Step = recoup.StepNew
		return l, store.StagedEffects{Notes: []recoup.Note{{Actor: "ada"}}, Forget: true, Round: recoup.Round{Round: 2}}, no
	}})
	if !errors.Is(out.Err, no) || out.Letter != openLetter() {
		t.Errorf("answered %+v", out)
	}
	_, moved, changed := w.DeadLetters()
	if len(moved)+len(changed)+len(w.Notes)+len(w.Rounds)+len(w.Forgotten) != 0 {
		t.Error("something is written")
	}
	if out := w.StepLetter(store.StagedStep{ErrorID: recoup.ID{7}}); !errors.Is(out.Err, sqldb.ErrNotFound) {
		t.Errorf("an unknown one is %v", out.Err)
	}
}

func TestLetterWorkJoins(t *testing.T) {
	t.Parallel()
	l := openLetter()
	l.Item, l.Queued = recoup.ReplayItem{}, recoup.WorkItem{}
	w := letterWork(l)
	r := recoup.Replay{ID: recoup.ID{8}, Members: 6}
	join := store.StagedStep{ErrorID: letterID, Decide: decided(func(l *store.StagedWork) { l.Item.ReplayID = r.ID })}
	for range 2 { // the second is of a member already
		if out := w.Join(&r, join); out.Err != nil || out.Letter.Item.Position != 6 || out.Letter.Item.WorkID != workID {
			t.Errorf("joined %+v", out)
		}
	}
	if added, _ := w.Items(); r.Members != 7 || len(added) != 1 || added[0].State != recoup.ItemPending {
		t.Errorf("%d members, items %+v", r.Members, added)
	}
}

// What was claimed between the search and the lock is left to its worker.
func TestLetterWorkEnds(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		change func(l *store.StagedWork)
		want   int
	}{
		"free":              {func(*store.StagedWork) {}, 1},
		"lapsed":            {func(l *store.StagedWork) { l.Queued.LeaseToken, l.Queued.LeaseEndsAt = recoup.ID{5}, letterTime }, 1},
		"held":              {func(l *store.StagedWork) { l.Queued.LeaseToken, l.Queued.LeaseEndsAt = recoup.ID{5}, letterTime.Add(1) }, 0},
		"of another replay": {func(l *store.StagedWork) { l.Item.ReplayID = recoup.ID{6} }, 0},
		"ended":             {func(l *store.StagedWork) { l.Item = recoup.ReplayItem{} }, 0},
	} {
		l := openLetter()
		row.change(&l)
		got := letterWork(l).End(replayID, []recoup.ID{letterID, {77}}, decided(func(l *store.StagedWork) { l.Item.State = recoup.ItemCancelled }))
		if got != row.want {
			t.Errorf("%s: ended %d, want %d", name, got, row.want)
		}
	}
}

func TestGroupIDDistinguishesParts(t *testing.T) {
	t.Parallel()
	seen := map[recoup.ID]bool{}
	for _, parts := range [][4]string{{"a", "b", "c", "d"}, {"ab", "", "c", "d"}, {"a", "b", "cd", ""}, {"a", "b", "c", ""}, {"", "ab", "c", "d"}} {
		seen[recoup.GroupID(parts[0], parts[1], recoup.Code(parts[2]), parts[3])] = true
	}
	if len(seen) != 5 {
		t.Errorf("%d groups", len(seen))
	}
}
