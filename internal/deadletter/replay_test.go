package deadletter_test

import (
	"errors"
	"testing"
	"time"

	"recoup"
	"recoup/fault"
	"recoup/internal/deadletter"
	"recoup/internal/lifecycle"
	"recoup/internal/store"
)

// buried makes n dead letters that can be replayed, by a group's means.
func (w *world) buried(count int) []recoup.ID {
	w.Helper()
	var ids []recoup.ID
	for len(ids) < count {
		batch := make([]deadletter.Failure, min(count-len(ids), 500))
		for i := range batch {
			batch[i] = w.failing("llm", "VALIDATION_ERROR")
		}
		letters := w.bury(batch...)
		for _, l := range letters {
			ids = append(ids, l.Dead.ErrorID)
		}
	}
	group := w.read(ids[0]).Dead.Group
	for _, step := range []deadletter.Step{triage, remedy, validated} {
		if r, err := w.TakeGroup(w.Context(), ada, group, deadletter.GroupAct{Step: step}); err != nil || r.Applied != count {
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
		results := make([]deadletter.Result, len(list))
		for i, q := range list {
			results[i] = deadletter.Result{WorkID: q.WorkID, Token: q.LeaseToken, Outcome: deadletter.Succeeded}
			if c := class(*done); c != "" {
				results[i].Outcome, results[i].Failure = deadletter.Failed, w.failing("llm", c)
			}
			*done++
		}
		out, err := w.Results(w.Context(), "w", results)
		w.must(err)
		for _, o := range out {
			w.must(o.Err)
		}
	}
}

func healthy(int) string { return "" }

// pace is how many items per second the present step of a replay has released.
func (w *world) pace(s *store.ReplayStatus) float64 {
	w.Helper()
	var first, last time.Time
	n := 0
	for from := 0; from >= 0; {
		items, next, err := w.db.Items(w.Context(), s.ID, "", from, store.MaxPage)
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

// A planted bad class stops a replay at its canary; after the fix the rest goes at
// the rate that was set, and everything has its result.
func TestReplayRamp(t *testing.T) {
	everywhere(t, func(w *world) {
		const rate = 200.0
		members := 1500
		if testing.Short() {
			members = 400
		}
		w.buried(members)
		r, err := w.Replay(w.Context(), ada, deadletter.NewReplay{
			Selection: deadletter.Selection{Pipeline: pipeline}, Plan: store.ReplayPlan{Rate: rate, Concurrency: 5000}, Reason: "corrected",
		})
		w.must(err)
		done := 0
		bad := func(int) string { return "VALIDATION_ERROR" }
		for range 20 {
			w.advance()
			w.serve(bad, &done)
			w.wait(time.Second)
		}
		s := w.status(r.ID)
		if s.State != store.ReplayPaused || s.StateBy != recoup.System || s.Members != members || done != 1 || s.Count(store.ItemRepeated) != 1 || s.Count(store.ItemPending) != int64(members-1) {
			w.Fatalf("after the bad class: %+v, %d done", s, done)
		}
		if _, err := w.ActOnReplay(w.Context(), ada, r.ID, deadletter.ActResume, "the fix is out"); err != nil {
			w.Fatal(err)
		}
		for range 1000 {
			if s = w.status(r.ID); s.State == store.ReplayDone {
				break
			}
			w.wait(100 * time.Millisecond)
			w.advance()
			w.serve(healthy, &done)
		}
		if s.State != store.ReplayDone || s.Count(store.ItemSucceeded) != int64(members-1) || done != members {
			w.Fatalf("in the end: %+v, %d done", s, done)
		}
		if got := w.pace(s); got < 0.9*rate || got > 1.1*rate {
			w.Errorf("the last step goes at %.1f per second, not at %v", got, rate)
		}
	})
}

// A replay that is cancelled in the middle leaves the rest as it was, and finishes
// what workers have.
func TestReplayCancel(t *testing.T) {
	everywhere(t, func(w *world) {
		ids := w.buried(40)
		r, err := w.Replay(w.Context(), ada, deadletter.NewReplay{
			Selection: deadletter.Selection{Pipeline: pipeline}, Plan: store.ReplayPlan{Rate: 10, Concurrency: 10, Canary: -1}, Reason: "corrected",
		})
		w.must(err)
		w.wait(time.Second)
		w.advance()
		held := w.claim(3)
		cancelled, err := w.ActOnReplay(w.Context(), ada, r.ID, deadletter.ActCancel, "wrong fix")
		w.must(err)
		if s := &cancelled; s.State != store.ReplayCancelling || len(held) != 3 {
			w.Fatalf("cancelled it is %+v, %d held", s, len(held))
		}
		w.say(held[0], deadletter.Succeeded)
		w.say(held[1], deadletter.Failed, w.failing("llm", "VALIDATION_ERROR"))
		w.wait(time.Minute) // the third worker is lost
		w.advance()
		w.wait(time.Second)
		w.advance()
		s := w.status(r.ID)
		if s.State != store.ReplayCancelled || s.Count(store.ItemCancelled) != 38 || s.Count(store.ItemSucceeded) != 1 || s.Count(store.ItemRepeated) != 1 {
			w.Fatalf("in the end: %+v", s)
		}
		steps := map[store.WorkflowStep]int{}
		for _, id := range ids {
			d := w.read(id)
			steps[d.Dead.Step]++
			if d.Error.ExpiresAt.IsZero() || d.Dead.Round == 1 && d.Dead.Step == store.StepValidated && len(d.Rounds) != 1 {
				w.Errorf("it is %+v", d)
			}
		}
		if steps[store.StepValidated] != 38 || steps[store.StepReplayed] != 1 || steps[store.StepNew] != 1 {
			w.Errorf("they are %v", steps)
		}
		if got := w.claim(100); len(got) != 0 {
			w.Errorf("claimed %d of a cancelled replay", len(got))
		}
		w.refused(second(w.ActOnReplay(w.Context(), ada, r.ID, deadletter.ActResume, "go on")), fault.CodeInvalidTransition)
		again, err := w.Replay(w.Context(), ada, deadletter.NewReplay{Selection: deadletter.Selection{Pipeline: pipeline}, Reason: "the right fix"})
		if err != nil || again.Members != 38 {
			w.Errorf("again: %+v, %v", again, err)
		}
	})
}

func TestReplayPauseAndPreview(t *testing.T) {
	everywhere(t, func(w *world) {
		ids := w.buried(5)
		fresh, gone := w.dead("fetch", "INVALID_API_KEY"), w.dead("notify", "INVALID_API_KEY")
		w.must(w.apply(gone, lifecycle.ArchiveNow{By: ada, Reason: "not needed"}))
		p, err := w.Preview(w.Context(), deadletter.Selection{IDs: append([]recoup.ID{fresh, gone, w.id()}, ids...)})
		if err != nil || p.Eligible != 5 || p.NotEligible["MISSING_triage"] != 1 || p.NotEligible["ARCHIVED"] != 1 || p.NotEligible["UNKNOWN"] != 1 || len(p.Refused) != 3 {
			w.Errorf("the preview is %+v, %v", p, err)
		}
		w.invalid(second(w.Preview(w.Context(), deadletter.Selection{})), "filter")
		w.invalid(second(w.Preview(w.Context(), deadletter.Selection{IDs: ids, Stage: "llm"})), "ids")
		w.refused(second(w.Replay(w.Context(), ada, deadletter.NewReplay{Selection: deadletter.Selection{Stage: "fetch"}, Reason: "r"})), fault.CodeBusinessRuleViolation)
		w.invalid(second(w.Replay(w.Context(), ada, deadletter.NewReplay{
			Selection: deadletter.Selection{All: true}, Plan: store.ReplayPlan{Rate: -1, Concurrency: -1, Canary: 2000, Share: 2, Limit: -1},
		})), "rate", "concurrency", "canary", "share", "limit", "reason")
		r, err := w.Replay(w.Context(), ada, deadletter.NewReplay{Selection: deadletter.Selection{All: true}, Plan: store.ReplayPlan{Rate: 1, Canary: -1}, Reason: "corrected"})
		w.must(err)
		if r.State != store.ReplayRunning || r.Members != 5 || r.Count(store.ItemReleased) != 1 {
			w.Fatalf("the replay is %+v", r)
		}
		if p, err := w.Preview(w.Context(), deadletter.Selection{All: true}); err != nil || p.Eligible != 0 || p.NotEligible["REPLAYING"] != 5 {
			w.Errorf("the preview is %+v, %v", p, err)
		}
		for range 2 { // twice is as good as once
			if s, err := w.ActOnReplay(w.Context(), ada, r.ID, deadletter.ActPause, "lunch"); err != nil || s.State != store.ReplayPaused || s.StateBy != ada {
				w.Errorf("paused: %+v, %v", s, err)
			}
		}
		w.wait(time.Hour)
		w.advance()
		if got := w.claim(10); len(got) != 0 || w.status(r.ID).Count(store.ItemReleased) != 1 {
			w.Errorf("claimed %d of a paused replay", len(got))
		}
		if s, err := w.ActOnReplay(w.Context(), ada, r.ID, deadletter.ActResume, "back"); err != nil || s.State != store.ReplayRunning || s.Phase != r.Phase || s.Count(store.ItemReleased) != 2 {
			w.Errorf("resumed: %+v, %v", s, err)
		}
		if s := w.status(r.ID); s.Reason != "corrected" || s.CreatedBy != ada {
			w.Errorf("it is %+v", s)
		}
		if _, err := w.ActOnReplay(w.Context(), ada, w.id(), deadletter.ActPause, "x"); !errors.Is(err, store.ErrNotFound) {
			w.Errorf("a replay that there is not: %v", err)
		}
	})
}

// A node that is gone at any point is replaced by any other: all that a replay
// knows is stored. Two at once do no harm.
func TestReplayOnTwoNodes(t *testing.T) {
	everywhere(t, func(w *world) {
		w.buried(60)
		r, err := w.Replay(w.Context(), ada, deadletter.NewReplay{Selection: deadletter.Selection{All: true}, Plan: store.ReplayPlan{Rate: 20, Canary: -1}, Reason: "corrected"})
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
		if out := w.status(r.ID).Count(store.ItemReleased); out != 21 {
			w.Errorf("after a second %d are released", out)
		}
	})
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }
