package deadletter_test

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/deadletter"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// deadLettered makes n dead letters that can be replayed, by a group's means.
func (w *world) deadLettered(count int) []recoup.ID {
	w.Helper()
	var ids []recoup.ID
	for len(ids) < count {
		batch := make([]recoup.StageFailure, min(count-len(ids), 500))
		for i := range batch {
			batch[i] = w.failing("llm", "VALIDATION_ERROR")
		}
		letters := w.deadLetter(batch...)
		for _, l := range letters {
			ids = append(ids, l.Dead.ErrorID)
		}
	}
	group := w.read(ids[0]).Dead.GroupID
	for _, step := range []deadletter.Action{triage, remedy, validated} {
		if r, err := w.TakeGroup(w.Context(), caller(ada), group, step, recoup.ForGroup{}); err != nil || r.Applied != count {
			w.Fatalf("%T: %+v, %v", step, r, err)
		}
	}
	return ids
}

func (w *world) status(id recoup.ID) *store.ReplayStatus {
	w.Helper()
	s, err := w.db.Replay(w.Context(), id)
	w.must(err)
	return &s
}

// serve lets workers do what there is, and fails what the fault is in.
func (w *world) serve(class func(work int) string, done *int) {
	w.Helper()
	for {
		list := w.claim(500)
		if len(list) == 0 {
			return
		}
		results := make([]recoup.WorkResult, len(list))
		for i, q := range list {
			results[i] = recoup.WorkResult{WorkID: q.WorkID, LeaseToken: q.LeaseToken, Outcome: deadletter.Succeeded}
			if c := class(*done); c != "" {
				failure := w.failing("llm", c)
				results[i].Outcome, results[i].Failure = deadletter.Failed, &failure
			}
			*done++
		}
		out, err := w.Results(w.Context(), caller("w"), results, nil)
		w.must(err)
		for _, o := range out {
			w.must(o.Err)
		}
	}
}

func healthy(int) string { return "" }

// pace is how many items per second the present ramp stage of a replay has released.
func (w *world) pace(s *store.ReplayStatus) float64 {
	w.Helper()
	var first, last time.Time
	n := 0
	for from := 0; from >= 0; {
		items, next, err := w.db.Items(w.Context(), s.ID, "", from, sqldb.MaxPage)
		w.must(err)
		for _, i := range items {
			if i.Phase != s.Phase {
				continue
			}
			if n++; first.IsZero() {
				first = i.ReleasedAt
			}
			last = i.ReleasedAt
		}
		from = next
	}
	return float64(n-1) / last.Sub(first).Seconds()
}

// soaking reports whether the long tests are wanted.
func soaking() bool { return os.Getenv("RECOUP_SOAK") != "" }

// A planted bad class stops a replay of ten thousand at its canary, of which its
// team is notified; after the fix the rest goes at the rate that was set, until somebody
// cancels it; a replay of what that left untouched has a result for everything.
func TestReplayRamp(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		members := 10_000
		if testing.Short() {
			members = 400
		}
		crowded(t, members).ramp(members)
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		members := 400
		if soaking() {
			members = 10_000
		}
		crowdedPostgres(t, members).ramp(members)
	})
}

func (w *world) ramp(members int) {
	w.Helper()
	rate := float64(members) / 5
	plan := recoup.ReplayPlan{Rate: rate, Concurrency: 50_000}
	begin := func(want int) *store.ReplayStatus {
		w.Helper()
		begun, err := w.shown(recoup.ReplaySelection{Pipeline: pipeline}, plan)
		w.must(err)
		w.advance()
		r := w.status(begun.ID)
		for ; r.State == recoup.ReplayCollecting; r = w.status(begun.ID) {
			w.advance()
		}
		if r.Members != want {
			w.Fatalf("it has %d members, want %d", r.Members, want)
		}
		return r
	}
	r, done := begin(members), 0
	for range 20 {
		w.advance()
		w.serve(func(int) string { return "VALIDATION_ERROR" }, &done)
		w.wait(time.Second)
	}
	s := w.status(r.ID)
	if s.State != recoup.ReplayPaused || s.StateBy != recoup.System || done != 1 || s.Count(recoup.ItemRepeated) != 1 || s.Count(recoup.ItemPending) != int64(members-1) {
		w.Fatalf("after the bad class: %+v, %d done", s, done)
	}
	w.notifiedOf(s)
	if _, err := w.ActOnReplay(w.Context(), caller(ada), r.ID, deadletter.ActResume, "the fix is out"); err != nil {
		w.Fatal(err)
	}
	w.until(r.ID, &done, func(s *store.ReplayStatus) bool { return done > members*4/5 })
	s = w.status(r.ID)
	w.wantPace(s, rate)
	cancelled, err := w.ActOnReplay(w.Context(), caller(ada), r.ID, deadletter.ActCancel, "the fix is half a fix")
	w.must(err)
	w.advance()
	left := members - done
	if s = w.status(r.ID); s.State != recoup.ReplayCancelled || s.Count(recoup.ItemCancelled) != int64(left) || s.Count(recoup.ItemSucceeded) != int64(done-1) {
		w.Fatalf("cancelled: %+v, then %+v, %d done", cancelled, s, done)
	}
	if got := w.claim(10); len(got) != 0 {
		w.Errorf("%d can be claimed of what was cancelled", len(got))
	}
	r = begin(left) // all of them are as they were
	w.until(r.ID, &done, func(s *store.ReplayStatus) bool { return s.State == recoup.ReplayDone })
	if s = w.status(r.ID); s.State != recoup.ReplayDone || s.Count(recoup.ItemSucceeded) != int64(left) || done != members {
		w.Fatalf("in the end: %+v, %d done", s, done)
	}
	w.wantPace(s, rate)
}

// until lets the clock and healthy workers go on until something is so.
func (w *world) until(replay recoup.ID, done *int, so func(*store.ReplayStatus) bool) {
	w.Helper()
	for range 1000 {
		if so(w.status(replay)) {
			return
		}
		w.wait(100 * time.Millisecond)
		w.advance()
		w.serve(healthy, done)
	}
	w.Fatal("it never is so")
}

func (w *world) wantPace(s *store.ReplayStatus, rate float64) {
	w.Helper()
	if got := w.pace(s); got < 0.9*rate || got > 1.1*rate {
		w.Errorf("the last step goes at %.1f per second, not at %v", got, rate)
	}
}

// notifiedOf checks that the team was notified, once, that a replay has stopped itself, and
// why.
func (w *world) notifiedOf(s *store.ReplayStatus) {
	w.Helper()
	list, _, err := w.db.Notices(w.Context(), wire.NoticeFilter{Kind: wire.NoticeReplayStopped}, sqldb.Page{})
	w.must(err)
	if len(list) != 1 {
		w.Fatalf("notified is %+v", list)
	}
	var said store.ReplayStop
	w.must(json.Unmarshal([]byte(list[0].Body), &said))
	table, _ := policy.Default().Table(w.read(w.member(s.ID)).Error.Table)
	want := store.ReplayStop{ReplayID: s.ID, Why: s.Why, Members: s.Members, Left: int(s.Count(recoup.ItemPending))}
	if list[0].To != table.Owner(1) || said != want || !strings.Contains(said.Why, "the same class came back") {
		w.Errorf("%s is notified %+v, want %s and %+v", list[0].To, said, table.Owner(1), want)
	}
}

// member is the first member of a replay.
func (w *world) member(replay recoup.ID) recoup.ID {
	w.Helper()
	items, _, err := w.db.Items(w.Context(), replay, "", 0, 1)
	w.must(err)
	return items[0].ErrorID
}

// The same class again where no retry helps goes to the engineers, who are notified.
func TestEngineeringReviewIsNotified(t *testing.T) {
	everywhere(t, func(w *world) {
		id := w.dead("llm", "VALIDATION_ERROR")
		w.prepared(id)
		w.replay(id)
		w.say(w.claim(1)[0], deadletter.Failed, w.failing("llm", "VALIDATION_ERROR"))
		d := w.read(id)
		list, _, err := w.db.Notices(w.Context(), wire.NoticeFilter{Kind: wire.NoticeEscalated}, sqldb.Page{})
		w.must(err)
		notified := slices.ContainsFunc(list, func(n wire.Notice) bool {
			return n.ErrorID == id && n.To == d.Error.EscalatedTo
		})
		if !notified || d.Error.EscalationReason != store.EngineeringReview || d.Error.EscalationLevel != 2 {
			w.Errorf("notified is %+v of %+v", list, d.Error)
		}
	})
}

// A replay that is cancelled in the middle leaves the rest as it was, and finishes
// what workers have.
func TestReplayCancel(t *testing.T) {
	everywhere(t, func(w *world) {
		ids := w.deadLettered(40)
		r, err := w.shown(recoup.ReplaySelection{Pipeline: pipeline}, recoup.ReplayPlan{Rate: 10, Concurrency: 10, Canary: -1})
		w.must(err)
		w.wait(time.Second)
		w.advance()
		held := w.claim(3)
		cancelled, err := w.ActOnReplay(w.Context(), caller(ada), r.ID, deadletter.ActCancel, "wrong fix")
		w.must(err)
		if s := &cancelled; s.State != recoup.ReplayCancelling || len(held) != 3 {
			w.Fatalf("cancelled it is %+v, %d held", s, len(held))
		}
		w.say(held[0], deadletter.Succeeded)
		w.say(held[1], deadletter.Failed, w.failing("llm", "VALIDATION_ERROR"))
		w.wait(time.Minute) // the third worker is lost
		w.advance()
		w.wait(time.Second)
		w.advance()
		s := w.status(r.ID)
		if s.State != recoup.ReplayCancelled || s.Count(recoup.ItemCancelled) != 38 || s.Count(recoup.ItemSucceeded) != 1 || s.Count(recoup.ItemRepeated) != 1 {
			w.Fatalf("in the end: %+v", s)
		}
		steps := map[recoup.WorkflowStep]int{}
		for _, id := range ids {
			d := w.read(id)
			steps[d.Dead.Step]++
			if d.Error.ExpiresAt.IsZero() || d.Dead.Round == 1 && d.Dead.Step == recoup.StepValidated && len(d.Rounds) != 1 {
				w.Errorf("it is %+v", d)
			}
		}
		if steps[recoup.StepValidated] != 38 || steps[recoup.StepReplayed] != 1 || steps[recoup.StepNew] != 1 {
			w.Errorf("they are %v", steps)
		}
		if got := w.claim(100); len(got) != 0 {
			w.Errorf("claimed %d of a cancelled replay", len(got))
		}
		w.refused(second(w.ActOnReplay(w.Context(), caller(ada), r.ID, deadletter.ActResume, "go on")), fault.CodeInvalidTransition)
		again, err := w.shown(recoup.ReplaySelection{Pipeline: pipeline}, recoup.ReplayPlan{})
		if err != nil || again.Members != 38 {
			w.Errorf("again: %+v, %v", again, err)
		}
	})
}

func TestReplayPauseAndPreview(t *testing.T) {
	everywhere(t, func(w *world) {
		ids := w.deadLettered(5)
		fresh, gone := w.dead("fetch", "INVALID_API_KEY"), w.dead("notify", "INVALID_API_KEY")
		w.must(w.apply(gone, lifecycle.ArchiveNow{By: ada, Reason: "not needed"}))
		p, err := w.Preview(w.Context(), engine.Caller{}, recoup.ReplaySelection{IDs: append([]recoup.ID{fresh, gone, w.id()}, ids...)})
		if err != nil || p.Eligible != 5 || p.NotEligible["MISSING_triage"] != 1 || p.NotEligible["ARCHIVED"] != 1 || p.NotEligible["UNKNOWN"] != 1 || len(p.Refused) != 3 {
			w.Errorf("the preview is %+v, %v", p, err)
		}
		w.invalid(second(w.Preview(w.Context(), engine.Caller{}, recoup.ReplaySelection{})), "filter")
		w.invalid(second(w.Preview(w.Context(), engine.Caller{}, recoup.ReplaySelection{IDs: ids, Stage: "llm"})), "ids")
		w.refused(second(w.Replay(w.Context(), caller(ada), recoup.NewReplay{ReplaySelection: recoup.ReplaySelection{IDs: []recoup.ID{fresh, gone}}, Reason: "r"})), fault.CodeBusinessRuleViolation)
		w.invalid(second(w.Replay(w.Context(), caller(ada), recoup.NewReplay{
			ReplaySelection: recoup.ReplaySelection{All: true}, Plan: recoup.ReplayPlan{Rate: -1, Concurrency: -1, Canary: 2000, Share: 2, Limit: -1},
		})), "token", "rate", "concurrency", "canary", "share", "limit", "reason")
		r, err := w.shown(recoup.ReplaySelection{All: true}, recoup.ReplayPlan{Rate: 1, Canary: -1})
		w.must(err)
		if r.State != recoup.ReplayRunning || r.Members != 5 || r.Counts.Released != 1 {
			w.Fatalf("the replay is %+v", r)
		}
		if p, err := w.Preview(w.Context(), engine.Caller{}, recoup.ReplaySelection{All: true}); err != nil || p.Eligible != 0 || p.NotEligible["REPLAYING"] != 5 {
			w.Errorf("the preview is %+v, %v", p, err)
		}
		for range 2 { // twice is as good as once
			if s, err := w.ActOnReplay(w.Context(), caller(ada), r.ID, deadletter.ActPause, "lunch"); err != nil || s.State != recoup.ReplayPaused || s.StateBy != ada {
				w.Errorf("paused: %+v, %v", s, err)
			}
		}
		w.wait(time.Hour)
		w.advance()
		if got := w.claim(10); len(got) != 0 || w.status(r.ID).Count(recoup.ItemReleased) != 1 {
			w.Errorf("claimed %d of a paused replay", len(got))
		}
		if s, err := w.ActOnReplay(w.Context(), caller(ada), r.ID, deadletter.ActResume, "back"); err != nil || s.State != recoup.ReplayRunning || s.Phase != r.Phase || s.Counts.Released != 2 {
			w.Errorf("resumed: %+v, %v", s, err)
		}
		if s := w.status(r.ID); s.Reason != "corrected" || s.CreatedBy != ada {
			w.Errorf("it is %+v", s)
		}
		if _, err := w.ActOnReplay(w.Context(), caller(ada), w.id(), deadletter.ActPause, "x"); !errors.Is(err, sqldb.ErrNotFound) {
			w.Errorf("a replay that there is not: %v", err)
		}
	})
}

// A node that is gone at any point is replaced by any other: all that a replay
// knows is stored. Two at once do no harm.
func TestReplayOnTwoNodes(t *testing.T) {
	everywhere(t, func(w *world) {
		w.deadLettered(60)
		r, err := w.shown(recoup.ReplaySelection{All: true}, recoup.ReplayPlan{Rate: 20, Canary: -1})
		w.must(err)
		keys, err := deadletter.NewKeyring(w.Context(), w.db, zeros{}, epoch)
		w.must(err)
		o := w.Options
		o.Keys = keys
		other, err := deadletter.New(o)
		w.must(err)
		for range 2 {
			w.wait(500 * time.Millisecond)
			ended := make(chan error, 1)
			go func() { _, err := other.Advance(w.Context()); ended <- err }()
			_, err := w.Advance(w.Context())
			w.must(errors.Join(err, <-ended))
		}
		if out := w.status(r.ID).Count(recoup.ItemReleased); out != 21 {
			w.Errorf("after a second %d are released", out)
		}
	})
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }
