package api_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
)

// enterFor puts work about an entity into the queue.
func (w *world) enterFor(entity, pipeline string) recoup.WorkItem {
	w.Helper()
	var out recoup.WorkBatch
	w.post("/v1/work", recoup.NewWorkBatch{Work: []recoup.NewWorkItem{{Pipeline: pipeline, Stage: "fetch", EntityID: entity, Payload: []byte("in")}}}).ok(&out)
	if out.Items[0].Result == nil {
		w.Fatalf("not submitted: %s", out.Items[0].Failure)
	}
	return *out.Items[0].Result
}

// deadFor makes a dead letter of work about an entity, whose worker says nothing of it.
func (w *world) deadFor(entity string) recoup.DeadLetter {
	w.Helper()
	pipeline := w.pipeline("")
	w.enterFor(entity, pipeline)
	held := w.claimWork(pipeline, "fetch")[0]
	if held.EntityID != entity {
		w.Errorf("the worker of %s is handed work about %q", entity, held.EntityID)
	}
	failure := w.breakdown("")
	var done recoup.WorkDone
	w.post("/v1/work/"+held.WorkID.String()+"/fail", recoup.WorkResult{LeaseToken: held.LeaseToken, Failure: &failure}).ok(&done)
	return *done.DeadLetter
}

// closedBy holds that an entity is blocked by a dead letter alone: what it is, whose
// turn it is, until when, and that no promotion goes through.
func (w *world) closedBy(entity string, d recoup.DeadLetter, until time.Time) {
	w.Helper()
	g := w.gate(entity)
	if len(g.Blockers) != 1 {
		w.Fatalf("%s in step %s: the gate is %+v", entity, d.Step, g)
	}
	b := g.Blockers[0]
	if b.ErrorID != d.ErrorID || !b.DeadLetter || b.Table != "pipeline.dead_letters" || b.Code != d.Class || b.Owner != "platform-team" {
		w.Errorf("%s is blocked by %+v, want the dead letter %s", entity, b, d.ErrorID)
	}
	if !b.EndsAt.Equal(until) || !g.OpensAt.Equal(until) {
		w.Errorf("%s is blocked until %s, want %s", entity, b.EndsAt, until)
	}
	e := w.post("/v1/promotions", recoup.Promotion{EntityID: entity, Phase: "outreach"}).failed(http.StatusConflict, fault.CodePromotionBlocked)
	if e.Message != "The entity is blocked by a dead letter." {
		w.Errorf("the refusal says %q", e.Message)
	}
}

// promoted holds that nothing blocks an entity.
func (w *world) promoted(entity string) {
	w.Helper()
	if g := w.gate(entity); g.Blocked {
		w.Errorf("%s is blocked by %+v", entity, g.Blockers)
	}
	w.post("/v1/promotions", recoup.Promotion{EntityID: entity, Phase: "outreach"}).ok()
}

// Work that names an entity closes the entity's gate when it becomes a dead letter, and
// opens it when that is verified. Until then it is blocked, also while a replay runs and
// after it worked.
func TestDeadLetterOfWorkBlocksItsEntity(t *testing.T) {
	onBothStores(t, func(w *world) {
		entity := w.entity()
		w.promoted(entity)
		d := w.deadFor(entity)
		if d.EntityID != entity {
			w.Errorf("the dead letter names %q, want %s", d.EntityID, entity)
		}
		until := d.CreatedAt.Add(90 * 24 * time.Hour)
		for _, step := range []recoup.WorkflowStep{recoup.StepNew, recoup.StepValidated, recoup.StepReplaying, recoup.StepReplayed} {
			if d = w.taken(d, step); step == recoup.StepReplaying { // it does not expire meanwhile
				w.closedBy(entity, d, time.Time{})
			} else {
				w.closedBy(entity, d, until)
			}
		}
		w.taken(d, recoup.StepVerified)
		w.promoted(entity)
	})
}

// A replay hands the work out with its entity, and a second failure blocks as the first
// did.
func TestReplayedWorkKeepsItsEntity(t *testing.T) {
	onBothStores(t, func(w *world) {
		entity := w.entity()
		d := w.taken(w.deadFor(entity), recoup.StepReplaying)
		held := w.claimWork(d.Pipeline, d.Stage)[0]
		if held.EntityID != entity {
			w.Errorf("a replay hands out work about %q, want %s", held.EntityID, entity)
		}
		again := w.breakdown("")
		again.EntityID = "another" // the work is about what it was submitted for
		w.post("/v1/work/"+held.WorkID.String()+"/fail", recoup.WorkResult{LeaseToken: held.LeaseToken, Failure: &again}).ok()
		if g := w.gate(entity); len(g.Blockers) != 1 || g.Blockers[0].ErrorID != d.ErrorID {
			w.Errorf("after the replay failed the gate is %+v", g)
		}
		w.promoted("another")
	})
}

// Whatever ends the dead letter opens the gate. Work without an entity blocks nothing.
func TestGateOfArchivedDeadLetters(t *testing.T) {
	onBothStores(t, func(w *world) {
		archived, expired, none := w.entity(), w.entity(), w.entity()
		w.act(recoup.Error{ID: w.deadFor(archived).ErrorID}, "archive", recoup.Act{})
		w.promoted(archived)
		w.deadFor("")
		w.promoted(none)
		w.deadFor(expired)
		w.pass(90 * 24 * time.Hour)
		w.run("ttl")
		w.promoted(expired)
	})
}

// What identifies an entity must not open anything.
func TestEntityOfWorkIsAnIdentifier(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, entity := range map[string]string{"a secret": "sk-proj-abcdefghijklmnopqrstuvwx0123456789", "too long": string(make([]byte, 300))} {
		var out recoup.WorkBatch
		w.post("/v1/work", recoup.NewWorkBatch{Work: []recoup.NewWorkItem{{Pipeline: "p", Stage: "s", EntityID: entity}}}).ok(&out)
		if f := out.Items[0].Failure; !strings.Contains(string(f), `"entity_id"`) {
			t.Errorf("%s: answered with %s", name, f)
		}
	}
}
