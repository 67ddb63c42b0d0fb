package deadletter_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/deadletter"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// All states of spec 002, 8.5, in order, with a history that only grows.
func TestWorkflow(t *testing.T) {
	everywhere(t, func(w *world) {
		id := w.dead("llm", "VALIDATION_ERROR")
		w.take(id, triage)
		w.take(id, deadletter.Triage{Cause: recoup.CauseCodeDefect, Note: "no: it is the parser"}) // on second thought
		w.take(id, deadletter.Remediation{Link: "INC-7", Release: "1.2.3", ValidatedIn: "staging"})
		w.take(id, deadletter.Validation{DuplicateSafe: "the receiver drops duplicates"})
		before := w.read(id)
		r := w.replay(id)
		if r.State != recoup.ReplayRunning || r.Members != 1 || !w.read(id).Error.ExpiresAt.IsZero() {
			w.Fatalf("the replay is %+v", r)
		}
		q := w.claim(1)[0]
		if q.Stage != "llm" || q.PayloadRef != "s3://in/1" || q.ErrorID != id || q.Class != "VALIDATION_ERROR" {
			w.Errorf("claimed %+v", q)
		}
		w.say(q, deadletter.Succeeded)
		if d := w.read(id); d.Dead.Step != recoup.StepReplayed || !d.Error.ExpiresAt.Equal(before.Error.ExpiresAt) || d.Replays[0].State != recoup.ItemSucceeded {
			w.Errorf("replayed it is %+v", d)
		}
		w.take(id, deadletter.Verification{Outcome: recoup.Delivered, Note: "the channel has it", Link: "INC-7"})
		d := w.read(id)
		if d.Dead.Step != recoup.StepVerified || d.Dead.ClosedAt.IsZero() || d.Error.State != recoup.Resolved {
			w.Errorf("verified it is %+v", d)
		}
		var steps []recoup.WorkflowStep
		for _, n := range d.Notes {
			steps = append(steps, n.Step)
		}
		want := []recoup.WorkflowStep{"TRIAGED", "TRIAGED", "REMEDIATED", "VALIDATED", "REPLAYING", "REPLAYED", "VERIFIED"}
		if !slices.Equal(steps, want) || d.Notes[1].Text != "no: it is the parser" || d.Notes[2].Link != "INC-7" || d.Notes[6].Text != "the channel has it" {
			w.Errorf("notes are %+v", d.Notes)
		}
		w.advance()
		if r, err := w.db.Replay(w.Context(), r.ID); err != nil || r.State != recoup.ReplayRunning && r.State != recoup.ReplayDone {
			w.Errorf("the replay is %+v, %v", r, err)
		}
		details := w.refused(second(w.Take(w.Context(), caller(ada), id, triage, nil)), fault.CodeInvalidTransition)
		if details["reason"] != "CLOSED" {
			w.Errorf("details are %v", details)
		}
	})
}

func second[T any](_ T, err error) error { return err }

// An act out of order is refused, and the answer names the missing one.
func TestSkippedSteps(t *testing.T) {
	everywhere(t, func(w *world) {
		id := w.dead("llm", "VALIDATION_ERROR")
		acts := []struct {
			name   string
			action deadletter.Action // nil: the replay
		}{{"triage", triage}, {"remediate", remedy}, {"validate", validated}, {"replay", nil}, {"verify", delivered}}
		for done := range 4 {
			for i, act := range acts {
				if i <= done {
					continue
				}
				before := w.read(id)
				var err error
				if act.action == nil {
					_, err = w.Replay(w.Context(), caller(ada), recoup.NewReplay{ReplaySelection: recoup.ReplaySelection{IDs: []recoup.ID{id}}, Reason: "r"})
				} else {
					_, err = w.Take(w.Context(), caller(ada), id, act.action, nil)
				}
				details := w.refused(err, fault.CodeInvalidTransition)
				if details["missing_step"] != acts[done].name {
					w.Errorf("%s after %d steps: details are %v", act.name, done, details)
				}
				if after := w.read(id); after.StagedWork != before.StagedWork || len(after.Notes) != len(before.Notes) {
					w.Errorf("%s has changed something", act.name)
				}
			}
			if acts[done].action != nil {
				w.take(id, acts[done].action)
			}
		}
		w.replay(id)
		if details := w.refused(second(w.Take(w.Context(), caller(ada), id, delivered, nil)), fault.CodeInvalidTransition); details["missing_step"] != "replay" {
			w.Errorf("verified during the replay: %v", details)
		}
		if details := w.refused(second(w.Take(w.Context(), caller(ada), id, triage, nil)), fault.CodeInvalidTransition); details["reason"] != "REPLAYING" {
			w.Errorf("triaged during the replay: %v", details)
		}
		for _, in := range []lifecycle.Input{lifecycle.Unpark{By: ada}, lifecycle.Resolve{By: ada}} {
			if err := w.apply(id, in); err == nil {
				w.Errorf("%T is a way out", in)
			}
		}
	})
}

// A person may not archive what a worker holds: the replay is cancelled first, or its
// result comes. Who archived a dead letter, and why, is in its notes.
func TestArchiveInMidReplay(t *testing.T) {
	everywhere(t, func(w *world) {
		id := w.dead("llm", "VALIDATION_ERROR")
		w.prepared(id)
		w.replay(id)
		q := w.claim(1)[0]
		var refusal *lifecycle.Refusal
		if err := w.apply(id, lifecycle.ArchiveNow{By: ada, Reason: "enough"}); !errors.As(err, &refusal) || refusal.Code != lifecycle.InvalidTransition {
			w.Errorf("archived in mid-replay: %v", err)
		}
		w.say(q, deadletter.Succeeded)
		before := len(w.read(id).Notes)
		w.must(w.apply(id, lifecycle.ArchiveNow{By: ada, Reason: "enough"}))
		d := w.read(id)
		if len(d.Notes) != before+1 || d.Error.State != recoup.Archived {
			w.Fatalf("archived it is %+v", d)
		}
		if n := d.Notes[before]; n.Step != recoup.NoteArchived || n.Actor != ada || n.Text != "enough" || n.Round != 1 {
			w.Errorf("the note says %+v", n)
		}
	})
}

// Triage says what was looked at, all of it, and is refused where the dead letter
// says otherwise. The note keeps what was confirmed; of a group it is reported once.
func TestTriageConfirms(t *testing.T) {
	everywhere(t, func(w *world) {
		f := w.failing("llm", "NETWORK_TIMEOUT")
		f.Exhausted = true
		l := w.deadLetter(f)[0].Dead
		spent := true
		good := deadletter.Triage{Cause: recoup.CauseData, Stage: "llm", Class: "NETWORK_TIMEOUT", Exhausted: &spent}
		for _, row := range []struct {
			in   deadletter.Triage
			want []string
		}{
			{deadletter.Triage{Cause: recoup.CauseData}, []string{"stage", "error_class", "exhausted"}},
			{deadletter.Triage{Cause: recoup.CauseData, Stage: "fetch", Class: "OTHER", Exhausted: new(bool)}, []string{"stage", "error_class", "exhausted"}},
			{deadletter.Triage{Cause: recoup.CauseData, Stage: "llm", Class: "NETWORK_TIMEOUT", Exhausted: new(bool)}, []string{"exhausted"}},
		} {
			w.invalid(second(w.Take(w.Context(), caller(ada), l.ErrorID, row.in, nil)), row.want...)
		}
		other := good
		other.Stage = "fetch"
		w.invalid(second(w.TakeGroup(w.Context(), caller(ada), l.GroupID, other, recoup.ForGroup{})), "stage")
		other = good
		other.Exhausted = new(bool)
		if r, err := w.TakeGroup(w.Context(), caller(ada), l.GroupID, other, recoup.ForGroup{}); err != nil || r.NotDone != 1 || r.Applied != 0 {
			w.Errorf("a group of which one is exhausted: %+v, %v", r, err)
		}
		_, err := w.Take(w.Context(), caller(ada), l.ErrorID, good, nil)
		w.must(err)
		want := recoup.EncodeJSON(map[string]any{"cause": "DATA", "stage": "llm", "error_class": "NETWORK_TIMEOUT", "exhausted": true})
		if got := w.read(l.ErrorID).Notes[0].Fields; got != want {
			w.Errorf("confirmed is %s, want %s", got, want)
		}
	})
}

// The form asks for what its cause needs, and for nothing else.
func TestRemediationByCause(t *testing.T) {
	everywhere(t, func(w *world) {
		full := deadletter.Remediation{Link: "INC-1", UpstreamChecked: "a", Corrected: "b", Fixed: "c", Release: "d", ValidatedIn: "e"}
		for cause, row := range map[recoup.Cause]struct {
			good            deadletter.Remediation
			missing, beside []string
		}{
			recoup.CauseTransient:  {deadletter.Remediation{UpstreamChecked: "up"}, []string{"upstream_checked"}, []string{"corrected", "fixed", "release", "validated_in"}},
			recoup.CauseData:       {deadletter.Remediation{Corrected: "title"}, []string{"corrected"}, []string{"upstream_checked", "fixed", "release", "validated_in"}},
			recoup.CauseAuthConfig: {deadletter.Remediation{Fixed: "rotated"}, []string{"fixed"}, []string{"upstream_checked", "corrected", "release", "validated_in"}},
			recoup.CauseCodeDefect: {deadletter.Remediation{Release: "1.1", ValidatedIn: "staging"}, []string{"release", "validated_in"}, []string{"upstream_checked", "corrected", "fixed"}},
		} {
			id := w.dead("llm", "VALIDATION_ERROR")
			w.take(id, deadletter.Triage{Cause: cause})
			w.invalid(second(w.Take(w.Context(), caller(ada), id, deadletter.Remediation{Link: "INC-1"}, nil)), row.missing...)
			w.invalid(second(w.Take(w.Context(), caller(ada), id, full, nil)), row.beside...)
			w.invalid(second(w.Take(w.Context(), caller(ada), id, row.good, nil)), "link")
			row.good.Link = "INC-1"
			w.take(id, row.good)
		}
		id := w.dead("llm", "VALIDATION_ERROR")
		w.invalid(second(w.Take(w.Context(), caller(ada), id, deadletter.Triage{Cause: "MAGIC", Stage: "llm", Class: "VALIDATION_ERROR", Exhausted: new(bool)}, nil)), "cause")
		w.prepared(id)
		w.invalid(second(w.Take(w.Context(), caller(ada), id, deadletter.Validation{}, nil)), "idempotent")
		w.invalid(second(w.Take(w.Context(), caller(ada), id, deadletter.Verification{Outcome: "MAYBE"}, nil)), "outcome", "note")
	})
}

// The same class again, where no retry helps, is for the engineers: tier 2 at
// once, in the next round of the same dead letter. Another class, or one that is
// worth a retry, is not.
func TestSameClassAgain(t *testing.T) {
	everywhere(t, func(w *world) {
		for _, row := range []struct {
			first, then string
			tier        int
			item        recoup.ItemState
		}{
			{"VALIDATION_ERROR", "VALIDATION_ERROR", 2, recoup.ItemRepeated},
			{"VALIDATION_ERROR", "INVALID_API_KEY", 1, recoup.ItemFailed},
			{"NETWORK_TIMEOUT", "NETWORK_TIMEOUT", 1, recoup.ItemRepeated},
		} {
			id := w.dead("llm", row.first)
			w.prepared(id)
			r := w.replay(id)
			w.wait(time.Minute)
			f := w.failing("notify", row.then)
			f.Exhausted = row.first == "NETWORK_TIMEOUT"
			l := w.say(w.claim(1)[0], deadletter.Failed, f)
			d := w.read(id)
			if l.Dead.ErrorID != id || d.Dead.Round != 2 || d.Dead.Step != recoup.StepNew || d.Dead.Cause != "" || d.Dead.Stage != "notify" || d.Dead.Class != recoup.Code(row.then) {
				w.Errorf("%s, then %s: it is %+v", row.first, row.then, d.Dead)
			}
			if d.Error.EscalationLevel != row.tier || (row.tier == 2) != (d.Error.State == recoup.Escalated) || d.Error.ExpiresAt.IsZero() {
				w.Errorf("%s, then %s: %s on tier %d", row.first, row.then, d.Error.State, d.Error.EscalationLevel)
			}
			if d.Replays[0].State != row.item || len(d.Rounds) != 2 || d.Rounds[1].ReplayID != r.ID || d.Rounds[0].Class != recoup.Code(row.first) {
				w.Errorf("%s, then %s: rounds %+v, items %+v", row.first, row.then, d.Rounds, d.Replays)
			}
			details := w.refused(second(w.Replay(w.Context(), caller(ada), recoup.NewReplay{ReplaySelection: recoup.ReplaySelection{IDs: []recoup.ID{id}}, Reason: "again"})), fault.CodeInvalidTransition)
			if details["missing_step"] != "triage" {
				w.Errorf("the new round begins with %v", details)
			}
		}
		if n := len(w.events()); n != 6 {
			w.Errorf("the ledger has %d events", n)
		}
	})
}

// What did not arrive goes back to triage; what did cannot be dead-lettered twice.
func TestNotDelivered(t *testing.T) {
	everywhere(t, func(w *world) {
		id := w.dead("llm", "VALIDATION_ERROR")
		w.prepared(id)
		w.replay(id)
		w.say(w.claim(1)[0], deadletter.Succeeded)
		w.refused(second(w.Take(w.Context(), caller(ada), id, triage, nil)), fault.CodeInvalidTransition)
		if l := w.take(id, deadletter.Verification{Outcome: recoup.NotDelivered, Note: "nothing there"}); l.Dead.Step != recoup.StepNew || !l.Dead.Open() || l.Error.State != recoup.Parked {
			w.Errorf("it is %+v", l)
		}
		w.prepared(id)
		w.advance()
		w.replay(id)
		w.say(w.claim(1)[0], deadletter.Succeeded)
		w.take(id, delivered)
	})
}

// A group is taken through the workflow at once: first it is counted, and what is
// not ready is said.
func TestGroups(t *testing.T) {
	everywhere(t, func(w *world) {
		var failures []recoup.StageFailure
		for i := range 12 {
			f := w.failing("llm", "VALIDATION_ERROR")
			f.LastStack = "item " + string(rune('0'+i%10)) + `: missing field "x` + string(rune('a'+i)) + `"`
			failures = append(failures, f)
		}
		letters := w.deadLetter(append(failures, w.failing("fetch", "VALIDATION_ERROR"))...)
		group := letters[0].Dead.GroupID
		for _, l := range letters[:12] {
			if l.Dead.GroupID != group {
				w.Errorf("%q is not with the others", l.Dead.Signature)
			}
		}
		if letters[12].Dead.GroupID == group {
			w.Error("another stage is another group")
		}
		w.take(letters[3].Dead.ErrorID, triage)
		r, err := w.TakeGroup(w.Context(), caller(ada), group, remedy, recoup.ForGroup{Preview: true})
		if err != nil || r.Matched != 12 || r.Applied != 1 || r.NotDone != 11 || len(r.Refused) != 11 {
			w.Errorf("the preview is %+v, %v", r, err)
		}
		if d := w.read(letters[3].Dead.ErrorID); d.Dead.Step != recoup.StepTriaged {
			w.Errorf("a preview has changed it: %s", d.Dead.Step)
		}
		w.refused(second(w.TakeGroup(w.Context(), caller(ada), group, triage, recoup.ForGroup{Token: r.Token})), fault.CodeValidationError)
		for _, step := range []deadletter.Action{triage, remedy, validated} {
			seen, err := w.TakeGroup(w.Context(), caller(ada), group, step, recoup.ForGroup{Preview: true})
			w.must(err)
			for _, want := range []int{12, 0} { // the second time all have changed since
				w.wait(time.Second)
				r, err := w.TakeGroup(w.Context(), caller(ada), group, step, recoup.ForGroup{Token: seen.Token})
				if err != nil || r.Applied != want || r.NotDone != 12-want {
					w.Errorf("%T: %+v, %v", step, r, err)
				}
			}
		}
		g, err := w.NoteGroup(w.Context(), caller(ada), group, "bob", "the vendor has changed its format")
		w.must(err)
		details, err := w.Group(w.Context(), engine.Caller{}, group)
		w.must(err)
		if g.Owner != "bob" || details.Open != 12 || details.Total != 12 || len(details.Days) != 1 || details.Days[0].N != 12 || len(details.Notes) != 1 {
			w.Errorf("the group is %+v", details)
		}
		if _, err := w.TakeGroup(w.Context(), caller(ada), w.id(), triage, recoup.ForGroup{}); !errors.Is(err, sqldb.ErrNotFound) {
			w.Errorf("a group that there is not: %v", err)
		}
	})
}
