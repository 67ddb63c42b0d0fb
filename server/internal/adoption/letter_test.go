package adoption_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/adoption"
	"github.com/recoup-dev/recoup/server/internal/adoption/preset/presettest"
	"github.com/recoup-dev/recoup/server/internal/deadletter"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/test/node"
)

const (
	letters = `select d.pipeline, d.stage, d.error_class, d.step, d.round, e.entity_id, e.state, e.blocking
		from recoup.dead_letter d join recoup.error e using (error_id) order by d.created_at`
	originals = "select state, resolved_by, resolution_reason like 'dead letter %' as letter from recoup.error where table_name = 'outreach.dol_errors' order by created_at, error_id"
	blocked   = "select recoup.is_blocked('o2')"
)

// newLetters is a queue whose job o2 has become a dead letter.
func newLetters(t *testing.T, q presettest.Queue) (*world, recoup.ID) {
	t.Helper()
	w := newQueueOf(t, q, "CONSTRAINT_VIOLATION")
	w.follow("9.0.0", "{dead_letters: true}")
	w.later(time.Second)
	return w, w.letter()
}

// letter is the id of the only open dead letter.
func (w *world) letter() recoup.ID {
	w.Helper()
	id, err := recoup.ParseID(w.ask("select error_id from recoup.dead_letter where closed_at is null"))
	w.Must(err)
	return id
}

// step does an act of the workflow.
func (w *world) step(id recoup.ID, in deadletter.Action) {
	w.Helper()
	_, err := w.Letters.Take(w.Context(), node.Ada, id, in, nil)
	w.Must(err)
}

// replay takes a dead letter through the workflow until it is replayed.
func (w *world) replay(id recoup.ID) {
	w.Helper()
	l, err := w.db.DeadLetter(w.Context(), id)
	w.Must(err)
	w.step(id, deadletter.Triage{Cause: recoup.CauseData, Stage: l.Dead.Stage, Class: l.Dead.Class, Exhausted: &l.Dead.Exhausted})
	w.step(id, deadletter.Remediation{Link: "INC-1", Corrected: "the address"})
	w.step(id, deadletter.Validation{Idempotent: true})
	_, err = w.Letters.Replay(w.Context(), node.Ada, recoup.NewReplay{ReplaySelection: recoup.ReplaySelection{IDs: []recoup.ID{id}}, Reason: "corrected"})
	w.Must(err)
	w.Wait(time.Second)
	for more := true; more; {
		more, err = w.Letters.Advance(w.Context())
		w.Must(err)
	}
}

// TestAJobIsReplayed goes the whole way with every queue, by plain SQL: the policy parks the
// error of a failed job, which becomes a dead letter; its replays set the job off, and what
// becomes of the job is their result. The entity is blocked until that is verified.
func TestAJobIsReplayed(t *testing.T) {
	for _, q := range presettest.Queues {
		t.Run(q.Preset, func(t *testing.T) {
			t.Parallel()
			w, id := newLetters(t, q)
			lane := map[string]string{
				"river": "shop.river_job:default charge", "oban": "shop.oban_jobs:default Shop.Charge",
				"graphile-worker": "shop._private_jobs charge", "pg-boss": "shop.job charge",
			}[q.Preset]
			w.want(letters, lane+" CONSTRAINT_VIOLATION NEW 1 o2 PARKED true")
			w.want(originals, "RESOLVED source true")
			w.want("select d.payload_ref = '"+q.Table+"/"+q.Key+"', e.correlation_id = d.work_id, e.message from recoup.dead_letter d join recoup.error e using (error_id)", "true true no answer")
			w.want("select count(*) from recoup.adopted_row r join recoup.dead_letter d using (error_id)", "1")
			w.want("select count(*) from recoup.error_event", "1") // one failure is one event
			w.want(blocked, "true")

			w.replay(id)
			w.later(time.Second)
			w.want("select w.lease_worker, r.attempt = w.lease_token as off from recoup.work w join recoup.adopted_row r using (error_id)", "source true")
			w.exec(q.Start)
			w.later(3 * time.Minute)
			w.later(3 * time.Minute) // the lease would be over
			w.want("select lease_ends_at > '2026-02-02 09:06Z', lapses from recoup.work", "true 0")
			w.exec(q.Fail)
			w.later(time.Second)
			w.want(letters, lane+" CONSTRAINT_VIOLATION NEW 2 o2 ESCALATED true")
			w.want("select count(*) from recoup.adopted_row where attempt is not null", "0")
			w.want(blocked, "true")

			w.replay(id)
			w.later(time.Second)
			w.exec(q.Start)
			w.later(time.Second)
			w.exec(q.Done)
			w.later(time.Second)
			w.want(letters, lane+" CONSTRAINT_VIOLATION REPLAYED 2 o2 ESCALATED true")
			w.want("select count(*) from recoup.adopted_row where length(digest) > 0 or attempt is not null", "0")
			w.want("select state from recoup.replay_item order by ended_at", "REPEATED\nSUCCEEDED")
			w.want(blocked, "true")
			w.step(id, deadletter.Verification{Outcome: recoup.Delivered, Note: "seen"})
			w.later(time.Second)
			w.want(letters, lane+" CONSTRAINT_VIOLATION VERIFIED 2 o2 RESOLVED false")
			w.want(blocked, "false")
			w.want("select count(*) from recoup.dead_letter", "1")
		})
	}
}

// TestLettersAreThePolicys: without the policy saying so nothing becomes a dead letter; with
// it, what was parked before does, and what a person has parked does not.
func TestLettersAreThePolicys(t *testing.T) {
	t.Parallel()
	w := newQueueOf(t, presettest.Queues[0], "CONSTRAINT_VIOLATION")
	w.exec(`insert into shop.river_job (state, attempt, max_attempts, finalized_at, args, kind) values ('discarded', 1, 1, now(), '{"order": "o3"}', 'charge')`)
	w.later(time.Minute)
	w.want("select entity_id, state from recoup.error order by 1", "o2 PARKED\no3 PARKED")
	id := w.one(3).ID
	w.Act(engine.Act{ID: id, Input: lifecycle.Unpark{Reason: "once more"}})
	w.Act(engine.Act{ID: id, Input: lifecycle.Park{Reason: "we look first"}})
	w.want("select count(*) from recoup.dead_letter", "0")
	w.follow("9.0.0", "{dead_letters: true}")
	w.later(time.Second)
	w.later(time.Second)
	w.want(letters, "shop.river_job:default charge CONSTRAINT_VIOLATION NEW 1 o2 PARKED true")
	w.want("select entity_id, state from recoup.error where table_name = 'outreach.dol_errors' order by 1", "o2 RESOLVED\no3 PARKED")
}

// TestRetriesComeFirst: a job whose code can be retried is set off by the policy until its
// attempts are used up, and only then is it a dead letter, which says so.
func TestRetriesComeFirst(t *testing.T) {
	t.Parallel()
	q := presettest.Queues[0]
	w := newQueue(t, q)
	w.follow("9.0.0", "{dead_letters: true}")
	for range 5 {
		w.later(time.Hour)
		w.want("select count(*) from recoup.dead_letter", "0")
		w.exec(q.Start)
		w.exec(strings.Replace(q.Fail, "again", "again, password=hunter2-swordfish", 1))
		w.later(time.Second)
	}
	w.want("select exhausted, error_class from recoup.dead_letter", "true NETWORK_TIMEOUT")
	w.want("select context -> 'attempts' ->> 'charge', right(last_stack, 35) from recoup.dead_letter_round", "6 again, password=[redacted:password]")
	w.want(originals, "RESOLVED source true")
}

// TestLettersFollowTheirJobs: a job that its owner deletes, or sets off by hand so that it is
// done, ends its dead letter; one that fails again after its replay has worked is a new error.
func TestLettersFollowTheirJobs(t *testing.T) {
	t.Parallel()
	q := presettest.Queues[0]
	t.Run("deleted", func(t *testing.T) {
		t.Parallel()
		w, _ := newLetters(t, q)
		w.exec("delete from shop.river_job where id = 2")
		w.later(time.Second)
		w.want("select archive_reason, archived_by from recoup.error_archive", "MANUAL source")
		w.want("select closed_at is not null from recoup.dead_letter", "true")
		w.want("select count(*) from recoup.adopted_row", "0")
	})
	t.Run("done by hand", func(t *testing.T) {
		t.Parallel()
		w, _ := newLetters(t, q)
		w.exec("update shop.river_job set state = 'available', finalized_at = null, max_attempts = 4 where id = 2")
		w.later(time.Second)
		w.want("select count(*) from recoup.dead_letter where closed_at is null", "1")
		w.exec(q.Start + ";" + q.Done)
		w.later(time.Second)
		w.want("select closed_at is not null from recoup.dead_letter", "true")
		w.want(blocked, "false")
	})
	t.Run("fails after its replay", func(t *testing.T) {
		t.Parallel()
		w, id := newLetters(t, q)
		w.replay(id)
		w.later(time.Second)
		w.exec(q.Start + ";" + q.Done)
		w.later(time.Second)
		w.exec(`update shop.river_job set state = 'discarded', errors = errors || '{"error": "a third time"}'::jsonb where id = 2`)
		w.later(time.Second) // an error, which is parked, and so a dead letter
		w.later(time.Second)
		w.want("select step, count(*) from recoup.dead_letter group by 1 order by 1", "NEW 1\nREPLAYED 1")
	})
}

// TestTakingOverIsOneAct: a node that is out of turn, or that does it again, changes
// nothing: neither is there a dead letter too many, nor an error too few.
func TestTakingOverIsOneAct(t *testing.T) {
	t.Parallel()
	w := newQueueOf(t, presettest.Queues[0], "CONSTRAINT_VIOLATION")
	was := w.one(2)
	turn, held, err := w.rows.TakeTurn(t.Context(), 1, "a", time.Minute)
	if w.Must(err); !held {
		t.Fatal("it is not its turn")
	}
	take := func(turn adoption.Lease) error {
		now := w.Now()
		done, err := w.Letters.TakeOver(t.Context(), engine.Caller{Name: adoption.By}, []deadletter.TakenOver{{
			ID: w.ID(), Attach: adoption.Pair{Turn: turn, Key: "2", Digest: []byte{1}}.Attachment(),
			Failure: recoup.StageFailure{
				WorkID: was.ID, EntityID: "o2", Pipeline: "shop.river_job:default", Stage: "charge", Class: was.Code, LastStack: "none",
				FirstFailureAt: now, LastFailureAt: now, Context: map[string]any{"attempts": map[string]any{"charge": 1}},
			},
		}})
		return errors.Join(err, func() error {
			if len(done) == 0 {
				return nil
			}
			return done[0].Err
		}())
	}
	if err := take(adoption.Lease{Adoption: 1, Number: turn.Number - 1}); !errors.Is(err, store.ErrOutOfTurn) {
		t.Errorf("out of turn: %v", err)
	}
	w.want("select (select count(*) from recoup.dead_letter), (select state from recoup.error)", "0 PARKED")
	if got := w.one(2); got.ID != was.ID {
		t.Error("the pair has changed")
	}
	w.Must(take(turn))
	_ = w.Refused(take(turn), fault.CodeConflict)
	w.want("select (select count(*) from recoup.dead_letter), (select count(*) from recoup.error where state = 'PARKED')", "1 1")
}

// TestReplaysSurviveNodes: a node ends after it has claimed the work of a replay, another
// while its job runs; and work of a dead letter that has lost its job fails.
func TestReplaysSurviveNodes(t *testing.T) {
	t.Parallel()
	q := presettest.Queues[2] // which deletes jobs that are done
	w, id := newLetters(t, q)
	w.replay(id)
	claimed, err := w.Letters.Claim(t.Context(), engine.Caller{}, recoup.WorkClaim{Lanes: []recoup.Lane{{Pipeline: "shop._private_jobs", Stage: "charge"}}, Worker: adoption.By, LeaseSeconds: 300})
	if w.Must(err); len(claimed) != 1 {
		t.Fatalf("claimed %v", claimed)
	}
	w.Must(w.rows.EndTurns(t.Context(), "a"))
	w.service = w.another("b", w.db)
	w.later(time.Second)
	w.want("select attempts from shop._private_jobs where id = 2", "3")
	w.later(6 * time.Minute)
	w.want("select attempts from shop._private_jobs where id = 2", "2")
	w.exec(q.Start)
	w.Must(w.rows.EndTurns(t.Context(), "b"))
	w.service = w.another("c", w.db)
	w.exec(q.Done)
	w.later(time.Second)
	w.want("select step from recoup.dead_letter", "REPLAYED")
	w.want("select count(*) from recoup.adopted_row", "0")

	w.step(id, deadletter.Verification{Outcome: recoup.NotDelivered, Note: "it never arrived"})
	w.replay(id)
	w.later(time.Second)
	w.want("select step, round, error_class from recoup.dead_letter", "NEW 2 ARTIFACT_NOT_FOUND")
}
