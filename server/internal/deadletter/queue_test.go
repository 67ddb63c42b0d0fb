package deadletter_test

import (
	"context"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/deadletter"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// submit puts work into the queue.
func (w *world) submit(stage string, payload []byte) recoup.ID {
	w.Helper()
	done, err := w.Submit(w.Context(), engine.Caller{}, []recoup.NewWorkItem{{Pipeline: pipeline, Stage: stage, Payload: payload}}, nil)
	w.must(first(done, err))
	return done[0].Letter.Queued.WorkID
}

func (w *world) result(q recoup.ClaimedWork, outcome string) error {
	r := recoup.WorkResult{WorkID: q.WorkID, LeaseToken: q.LeaseToken, Outcome: outcome}
	if failure := w.failing("llm", "VALIDATION_ERROR"); outcome == deadletter.Failed {
		r.Failure = &failure
	}
	return first(w.Results(w.Context(), caller("w"), []recoup.WorkResult{r}, nil))
}

// Work is submitted once, handed to one worker with its payload, and gone when it
// is done; the word of whoever has lost it counts for nothing.
func TestWork(t *testing.T) {
	everywhere(t, func(w *world) {
		work := w.submit("fetch", []byte("in"))
		again, err := w.Submit(w.Context(), engine.Caller{}, []recoup.NewWorkItem{{WorkID: work, Pipeline: pipeline, Stage: "fetch"}, {WorkID: work, Pipeline: "other", Stage: "fetch"}}, nil)
		w.must(err)
		w.must(again[0].Err)
		w.refused(again[1].Err, fault.CodeConflict)
		q := w.claim(10)
		if len(q) != 1 || q[0].WorkID != work || string(q[0].Payload) != "in" || len(w.claim(10)) != 0 {
			w.Fatalf("claimed %+v", q)
		}
		stranger := q[0]
		stranger.LeaseToken = w.id()
		for _, outcome := range []string{deadletter.Succeeded, deadletter.Failed, deadletter.Extended, deadletter.Released} {
			w.refused(w.result(stranger, outcome), fault.CodeLeaseLost)
		}
		w.must(w.SaveCheckpoint(w.Context(), engine.Caller{}, work, q[0].LeaseToken, "fetch", []byte("a page")))
		w.refused(w.SaveCheckpoint(w.Context(), engine.Caller{}, work, stranger.LeaseToken, "fetch", []byte("another")), fault.CodeLeaseLost)
		w.refused(second(w.Progress(w.Context(), engine.Caller{}, work, stranger.LeaseToken)), fault.CodeLeaseLost)
		w.refused(w.Forget(w.Context(), engine.Caller{}, work, recoup.ID{}), fault.CodeLeaseLost)
		w.wait(50 * time.Second)
		w.say(q[0], deadletter.Extended)
		w.wait(50 * time.Second)
		if got := w.claim(10); len(got) != 0 {
			w.Errorf("claimed while it is held: %+v", got)
		}
		w.say(q[0], deadletter.Released)
		q = w.claim(10)
		if p, err := w.Progress(w.Context(), engine.Caller{}, work, q[0].LeaseToken); err != nil || string(p.Outputs["fetch"]) != "a page" || q[0].Lapses != 0 || q[0].Claims != 2 {
			w.Errorf("progress %+v, %v; claimed %+v", p, err, q)
		}
		w.say(q[0], deadletter.Succeeded)
		w.refused(w.result(q[0], deadletter.Succeeded), fault.CodeLeaseLost)
		if p, err := w.Progress(w.Context(), engine.Caller{}, work, recoup.ID{}); err != nil || len(p.Outputs) != 0 {
			w.Errorf("left is %+v, %v", p, err)
		}
	})
}

// A dead letter of claimed work keeps the payload and the outputs, and its replay
// has them at hand; begun anew it has none, and says so.
func TestReplayGoesOnWhereItFailed(t *testing.T) {
	everywhere(t, func(w *world) {
		work := w.submit("fetch", []byte("in"))
		q := w.claim(1)[0]
		w.must(w.SaveCheckpoint(w.Context(), engine.Caller{}, work, q.LeaseToken, "fetch", []byte("a page")))
		id := w.say(q, deadletter.Failed, w.failing("llm", "VALIDATION_ERROR")).Dead.ErrorID
		w.refused(first(w.Submit(w.Context(), engine.Caller{}, []recoup.NewWorkItem{{WorkID: work, Pipeline: pipeline, Stage: "fetch"}}, nil)), fault.CodeConflict)
		w.prepared(id)
		w.replay(id)
		q = w.claim(1)[0]
		p, err := w.Progress(w.Context(), engine.Caller{}, work, q.LeaseToken)
		if err != nil || q.Stage != "llm" || string(q.Payload) != "in" || string(p.Outputs["fetch"]) != "a page" || p.Restart != 0 {
			w.Errorf("claimed %+v, progress %+v, %v", q, p, err)
		}
		w.say(q, deadletter.Failed, w.failing("llm", "VALIDATION_ERROR"))
		w.prepared(id)
		w.advance()
		_, err = w.Replay(w.Context(), caller(ada), recoup.NewReplay{ReplaySelection: recoup.ReplaySelection{IDs: []recoup.ID{id}, FromStart: "fetch"}, Reason: "all of it"})
		w.must(err)
		q = w.claim(1)[0]
		p, err = w.Progress(w.Context(), engine.Caller{}, work, q.LeaseToken)
		if err != nil || q.Stage != "fetch" || len(p.Outputs) != 0 || p.Restart != 2 || string(q.Payload) != "in" {
			w.Errorf("begun anew: claimed %+v, progress %+v, %v", q, p, err)
		}
	})
}

// Three lost workers make a dead letter, of new work and of a replay. Nobody but the
// queue knows then what the new work was about.
func TestLostWorkers(t *testing.T) {
	everywhere(t, func(w *world) {
		id := w.dead("llm", "VALIDATION_ERROR")
		w.prepared(id)
		w.replay(id)
		entered, err := w.Submit(w.Context(), engine.Caller{}, []recoup.NewWorkItem{{Pipeline: pipeline, Stage: "fetch", EntityID: "CO-7"}}, nil)
		w.must(err)
		work := entered[0].Letter.Queued.WorkID
		for n := range deadletter.MaxLapses {
			if got := w.claim(10); len(got) != 2 || got[0].Lapses != n {
				w.Fatalf("round %d: claimed %+v", n, got)
			}
			w.advance()
			w.wait(time.Minute)
		}
		if got := w.claim(10); len(got) != 0 {
			w.Errorf("claimed once more: %+v", got)
		}
		w.advance()
		fresh, err := w.db.StagedWork(w.Context(), work)
		w.must(err)
		if fresh.Dead.Class != fault.CodeWorkerLost || fresh.Dead.Stage != "fetch" || !fresh.Queued.CreatedAt.IsZero() || fresh.Error.EntityID != "CO-7" || !fresh.Error.Blocking {
			w.Errorf("the new work is %+v", fresh)
		}
		if d := w.read(id); d.Dead.Class != fault.CodeWorkerLost || d.Dead.Round != 2 || d.Replays[0].State != recoup.ItemFailed {
			w.Errorf("the replayed work is %+v", d)
		}
	})
}

// A claim waits for work, and is woken; a pause keeps it waiting.
func TestClaimWaits(t *testing.T) {
	everywhere(t, func(w *world) {
		w.must(second(w.Pause(w.Context(), caller("ada"), recoup.NewPause{PauseScope: recoup.PauseScope{Stage: "llm"}, Reason: "the model is down"})))
		lanes := []recoup.Lane{{Pipeline: pipeline, Stage: "fetch"}, {Pipeline: pipeline, Stage: "llm"}}
		got := make(chan []recoup.ClaimedWork, 1)
		go func() {
			list, _ := w.Claim(context.Background(), engine.Caller{}, recoup.WorkClaim{Lanes: lanes, Worker: "w", Limit: 5, WaitSeconds: 30})
			got <- list
		}()
		held := w.submit("llm", nil)
		work := w.submit("fetch", nil)
		if list := <-got; len(list) != 1 || list[0].WorkID != work {
			w.Errorf("claimed %+v", list)
		}
		if list, err := w.Pauses(w.Context(), engine.Caller{}); err != nil || len(list) != 1 || list[0].By != ada {
			w.Errorf("paused is %+v, %v", list, err)
		}
		w.must(w.Unpause(w.Context(), caller(ada), recoup.PauseScope{Stage: "llm"}, "it is back"))
		if list := w.claim(5); len(list) != 1 || list[0].WorkID != held {
			w.Errorf("claimed %+v", list)
		}
		w.invalid(second(w.Pause(w.Context(), caller("ada"), recoup.NewPause{Until: epoch})), "pipeline", "reason", "until")
		w.StopWaiting()
		if list, err := w.Claim(w.Context(), engine.Caller{}, recoup.WorkClaim{Lanes: lanes, Worker: "w", Limit: 5, WaitSeconds: 30}); err != nil || len(list) != 0 {
			w.Errorf("stopped: %v, %v", list, err)
		}
		w.invalid(second(w.Claim(w.Context(), engine.Caller{}, recoup.WorkClaim{Limit: -1, LeaseSeconds: -1, WaitSeconds: 3600})), "worker", "limit", "lease_seconds", "wait_seconds", "lanes")
		rows, _, err := w.db.Audit(w.Context(), wire.AuditFilter{}, store.AuditCursor{}, 10)
		if err != nil || len(rows) < 2 || rows[0].Act != "work.unpause" || rows[1].Act != "work.pause" {
			w.Errorf("the audit has %+v, %v", rows, err)
		}
	})
}
