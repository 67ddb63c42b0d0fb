package api_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// onBoth runs a test on both stores.
func onBoth(t *testing.T, test func(t *testing.T, w *world)) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) { t.Parallel(); test(t, newWorld(t)) })
	t.Run("postgres", func(t *testing.T) { t.Parallel(); test(t, newPostgresWorld(t)) })
}

// retry claims a recovery as soon as it is eligible, and not before.
func (w *world) retry(r recoup.Recovery) recoup.GateZeroWork {
	w.Helper()
	w.wait(r.NextEligibleAt.Sub(w.clock()) - time.Second)
	for _, early := range w.gateWork(recoup.ClaimRecoveries) {
		if early.RecoveryID == r.ID {
			w.Fatal("it was claimed before its time")
		}
	}
	w.wait(time.Second)
	for _, work := range w.gateWork(recoup.ClaimRecoveries) {
		if work.RecoveryID == r.ID {
			return work
		}
	}
	w.Fatalf("%v is not to be had", r.ID)
	return recoup.GateZeroWork{}
}

// story is what happened to an intake, by the names of its events.
func (w *world) story(intake recoup.ID) (recoup.IntakeStory, string) {
	w.Helper()
	var s recoup.IntakeStory
	w.get("/v1/gate-zero/intakes/" + intake.String()).ok(&s)
	var events []string
	for _, e := range s.Timeline {
		events = append(events, string(e.Event))
	}
	return s, strings.Join(events, " ")
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// refusedWith fails the test unless a result was refused with this code.
func (w *world) refusedWith(err error, code recoup.Code) {
	w.Helper()
	if said, ok := errors.AsType[*fault.Error](err); !ok || said.Code != code {
		w.Errorf("answered with %v, want %s", err, code)
	}
}

// Spec 004, 4, 5 and 8: ACTIVE, three waits, each from the last failure, and then
// EXHAUSTED for good.
func TestGateZeroExhausted(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		r := w.fails(w.batch(), "STATE_MISMATCH")
		reasons := []string{"STATE_MISMATCH", "TIMEOUT", "API_UNAVAILABLE"}
		for i, wait := range []time.Duration{24 * time.Hour, 72 * time.Hour, 168 * time.Hour} {
			if r.Status != "ACTIVE" || r.AttemptCount != i+1 || !r.NextEligibleAt.Equal(w.clock().Add(wait)) || r.FailureReason != reasons[i] || r.Inconclusive != (i > 0) {
				t.Fatalf("after failure %d: %+v", i+1, r)
			}
			work := w.retry(r)
			done, err := w.verdict(work.Result(recoup.VerdictFail, reasons[min(i+1, 2)]))
			w.must(err)
			r = *done.Recovery
		}
		if r.Status != "EXHAUSTED" || r.AttemptCount != 3 {
			t.Fatalf("in the end: %+v", r)
		}
		s, events := w.story(r.IntakeID)
		if events != "FAIL FAIL FAIL FAIL EXHAUSTED" || s.Intake.Status != "FAILED" {
			t.Errorf("the record is %s, the intake %+v", events, s.Intake)
		}
		var page recoup.RecoveryPage
		w.get("/v1/gate-zero/recoveries?list=EXHAUSTED&batch_id=" + r.BatchID).ok(&page)
		if len(page.Recoveries) != 1 || page.Recoveries[0].ID != r.ID || !page.Recoveries[0].Inconclusive {
			t.Errorf("listed are %+v", page)
		}
		_, err := w.verdict(recoup.GateZeroResult{RecoveryID: r.ID, LeaseToken: r.ID, Verdict: recoup.VerdictPass}) // late
		w.refusedWith(err, fault.CodeInvalidTransition)
		if _, events := w.story(r.IntakeID); events != "FAIL FAIL FAIL FAIL EXHAUSTED LATE_RESULT" {
			t.Errorf("after a late pass the record is %s", events)
		}
		w.wait(60 * 24 * time.Hour)
		if work := w.gateWork(""); len(work) != 0 {
			t.Errorf("an exhausted recovery was claimed: %+v", work)
		}
	})
}

// Spec 004, 9: what failed never becomes AUTHORIZED; a new intake does.
func TestGateZeroReentry(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		r := w.fails(w.batch(), "DOMAIN_NO_IMPRINT")
		_, err := w.verdict(recoup.GateZeroResult{IntakeID: r.IntakeID, Verdict: recoup.VerdictPass})
		w.refusedWith(err, fault.CodeInvalidTransition) // a first result, again
		work := w.retry(r)
		result := work.Result(recoup.VerdictPass, "")
		done, err := w.verdict(result)
		w.must(err)
		if done.Intake.Status != "REENTER_SUCCEEDED" || done.Recovery.Status != "SUCCEEDED" || done.NewIntakeID.IsZero() {
			t.Errorf("passed: %+v", done)
		}
		old, events := w.story(r.IntakeID)
		fresh, _ := w.story(done.NewIntakeID)
		if events != "FAIL AUTH REENTER" || old.Timeline[2].NewIntakeID != done.NewIntakeID {
			t.Errorf("the record is %+v", old.Timeline)
		}
		if i := fresh.Intake; i.Status != "AUTHORIZED" || i.PreviousID != r.IntakeID || i.BatchID != r.BatchID || i.CompanyName != old.Intake.CompanyName || fresh.Recovery != nil {
			t.Errorf("the new intake is %+v", i)
		}
		_, err = w.verdict(result)
		w.refusedWith(err, fault.CodeInvalidTransition)
		if _, again := w.story(r.IntakeID); again != events {
			t.Errorf("said twice, the record is %s", again)
		}
	})
}

// Spec 004, 6: the eight reasons, and no other.
func TestGateZeroReasons(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	batch := w.batch()
	for _, reason := range strings.Fields(`DOMAIN_NOT_FOUND DOMAIN_NO_IMPRINT NO_LINKEDIN_COMPANY STATE_MISMATCH
		STATE_AMBIGUOUS STATE_MISSING API_UNAVAILABLE TIMEOUT`) {
		if r := w.fails(batch, reason); r.FailureReason != reason || r.Inconclusive != (reason == "TIMEOUT" || reason == "API_UNAVAILABLE") {
			t.Errorf("%s is kept as %+v", reason, r)
		}
	}
	for _, reason := range []string{"", "timeout", "BAD_LUCK"} {
		_, err := w.verdict(recoup.GateZeroResult{IntakeID: w.intake(batch).ID, Verdict: recoup.VerdictFail, Reason: reason})
		w.refusedWith(err, fault.CodeValidationError)
	}
	var status recoup.GateZeroStatus
	w.get("/v1/gate-zero/status").ok(&status)
	if status.Batches != 1 || status.Intakes["FAILED"] != 8 || status.Intakes["PENDING"] != 3 || len(status.Recoveries) != 8 {
		t.Errorf("the status is %+v", status)
	}
	w.post("/cl/gate-zero/kill-switch?batch_id="+batch, nil).ok()
	figures := w.get("/metrics").Body.String()
	for _, want := range []string{
		`recoup_gate_zero{reason_class="inconclusive",state="ACTIVE"} 2`, `recoup_gate_zero{reason_class="company",state="ACTIVE"} 6`,
		`recoup_gate_zero{reason_class="company",state="EXHAUSTED"} 0`, `recoup_gate_zero_reasons{reason="TIMEOUT",state="ACTIVE"} 1`,
		`recoup_gate_zero_intakes{status="FAILED"} 8`, "recoup_gate_zero_killed_batches 1", "recoup_gate_zero_frozen_batches 0",
	} {
		if !strings.Contains(figures, want+"\n") {
			t.Errorf("the metrics lack %s", want)
		}
	}
	if n := len(slices.DeleteFunc(status.Recoveries, func(c recoup.RecoveryCount) bool { return !c.Inconclusive })); n != 2 {
		t.Errorf("%d reasons say nothing about the company", n)
	}
}

// Spec 004, 5: the kill switch at its own address, at once, with who and why.
func TestGateZeroKillSwitch(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		batch := w.batch()
		at := "/cl/gate-zero/kill-switch?batch_id=" + batch
		held := w.fails(batch, "TIMEOUT")
		w.fails(batch, "TIMEOUT")
		w.wait(24 * time.Hour)
		work := w.gateWork(recoup.ClaimRecoveries)
		if len(work) != 2 {
			t.Fatalf("claimed %+v", work)
		}
		var k recoup.KillSwitch
		w.do("operator", http.MethodPost, at, recoup.IntakeBatchAct{Reason: "a bad file"}).ok(&k)
		if !k.Killed || k.KilledBy != "operator" || k.Reason != "a bad file" || !k.KilledAt.Equal(w.clock()) {
			t.Errorf("killed: %+v", k)
		}
		for _, x := range work {
			_, err := w.verdict(x.Result(recoup.VerdictPass, ""))
			w.refusedWith(err, fault.CodeBatchKilled)
		}
		w.wait(time.Hour)
		if again := w.gateWork(""); len(again) != 0 {
			t.Errorf("claimed in a killed batch: %+v", again)
		}
		var page recoup.RecoveryPage
		w.get("/v1/gate-zero/recoveries?batch_id=" + batch).ok(&page)
		if len(page.Recoveries) != 2 || !page.Recoveries[0].BatchKilled || page.Recoveries[0].AttemptCount != 1 {
			t.Errorf("listed are %+v", page.Recoveries)
		}
		w.do("operator", http.MethodDelete, at, nil).ok(&k) // no body is needed
		w.get(at).ok(&k)
		if k.Killed {
			t.Errorf("released: %+v", k)
		}
		if again := w.gateWork(""); len(again) != 2 {
			t.Errorf("after the release %d are claimed", len(again))
		}
		if _, events := w.story(held.IntakeID); events != "FAIL REVOKE" {
			t.Errorf("the record is %s", events)
		}
		w.holdAudit(batch, "gate_zero.kill operator a bad file", "gate_zero.release operator ")
	})
}

// holdAudit says what the audit must have of a batch, oldest first.
func (w *world) holdAudit(batch string, want ...string) {
	w.Helper()
	var page wire.AuditPage
	w.get("/v1/audit?target=" + batch).ok(&page)
	var got []string
	for _, e := range slices.Backward(page.Entries) {
		got = append(got, e.Act+" "+e.Actor+" "+e.Reason)
	}
	if !slices.Equal(got, want) {
		w.Errorf("the audit has %q, want %q", got, want)
	}
}

func TestGateZeroKillSwitchRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const at = "/cl/gate-zero/kill-switch"
	w.get(at).invalid("batch_id", "required")
	w.get(at+"?batch_id=none").failed(http.StatusNotFound, fault.CodeNotFound)
	w.post(at+"?batch_id=none", nil).failed(http.StatusNotFound, fault.CodeNotFound)
	w.post(at+"?batch_id="+w.batch(), recoup.IntakeBatchAct{Reason: strings.Repeat("x", 1001)}).invalid("reason", "max_length")
	w.do("admin", http.MethodPut, at+"?batch_id=b", nil).failed(http.StatusMethodNotAllowed, fault.CodeMethodNotAllowed)
}

// Spec 004, 5: fourteen days after it is complete a batch freezes. The jobs of the
// clock do it; whoever asks them to is audited too.
func TestGateZeroFreeze(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		batch := w.batch()
		active, late := w.fails(batch, "STATE_MISSING"), w.intake(batch)
		var b recoup.IntakeBatchSummary
		for range 2 { // saying it again changes nothing
			w.post("/v1/gate-zero/batches/"+batch+"/complete", recoup.IntakeBatchAct{}).ok(&b)
			if b.WindowDays != 14 || !b.CompletedAt.Equal(b.FreezeAt.Add(-14*24*time.Hour)) {
				t.Fatalf("complete: %+v", b)
			}
			w.wait(time.Hour)
		}
		w.post("/v1/gate-zero/intakes?batch_id="+batch, recoup.NewIntake{CompanyName: "Late"}).failed(http.StatusConflict, fault.CodeInvalidTransition)
		w.post("/cl/gate-zero/kill-switch?batch_id="+batch, nil).ok() // the freeze comes all the same
		w.wait(b.FreezeAt.Sub(w.clock()))
		w.post("/v1/jobs/freeze/run", wire.JobRunRequest{Reason: "now"}).ok()
		if s, events := w.story(active.IntakeID); events != "FAIL EXHAUSTED" || s.Timeline[1].Reason != "BATCH_FROZEN" || !s.Recovery.BatchFrozen {
			t.Errorf("the record is %+v", s)
		}
		first := recoup.GateZeroResult{IntakeID: late.ID, Verdict: recoup.VerdictFail, Reason: "TIMEOUT"}
		_, err := w.verdict(first)
		w.refusedWith(err, fault.CodeBatchKilled)
		w.do("admin", http.MethodDelete, "/cl/gate-zero/kill-switch?batch_id="+batch, nil).ok()
		born, err := w.verdict(first)
		w.must(err)
		if born.Recovery.Status != "EXHAUSTED" {
			t.Errorf("a failure in a frozen batch is %+v", born.Recovery)
		}
		var story recoup.IntakeBatchStory
		w.get("/v1/gate-zero/batches/" + batch).ok(&story)
		if story.Batch.FrozenAt.IsZero() || story.Batch.Recoveries["EXHAUSTED"] != 2 || len(story.Timeline) != 3 {
			t.Errorf("the batch is %+v", story)
		}
		w.holdAudit(batch, "gate_zero.complete admin ", "gate_zero.kill admin ", "gate_zero.freeze system ", "gate_zero.release admin ")
	})
}

// Spec 004, 10: there is no way through the API to what it forbids; the ones by
// plain SQL are tried on both stores.
func TestGateZeroAntiPatterns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.fails("", "TIMEOUT")
	early, err := w.verdict(recoup.GateZeroResult{RecoveryID: r.ID, LeaseToken: r.ID, Verdict: recoup.VerdictFail, Reason: "TIMEOUT"})
	w.refusedWith(err, fault.CodeLeaseLost) // retry before next_eligible_at: nobody can hold it
	if _, events := w.story(r.IntakeID); events != "FAIL" {
		t.Errorf("the record is %s, %+v", events, early)
	}
	_, err = w.verdict(recoup.GateZeroResult{IntakeID: r.IntakeID, Verdict: recoup.VerdictPass})
	w.refusedWith(err, fault.CodeInvalidTransition) // AUTHORIZED after a failure
	for _, path := range []string{"/v1/gate-zero/recoveries/" + r.ID.String(), "/v1/gate-zero/intakes/" + r.IntakeID.String()} {
		for _, method := range []string{http.MethodDelete, http.MethodPut, http.MethodPatch} {
			w.do("admin", method, path, recoup.Act{}).failed(http.StatusMethodNotAllowed, fault.CodeMethodNotAllowed)
		}
	}
	_, err = w.verdict(recoup.GateZeroResult{Verdict: recoup.VerdictPass})
	w.refusedWith(err, fault.CodeValidationError)
	_, err = w.verdict(recoup.GateZeroResult{IntakeID: r.ID, Verdict: recoup.VerdictPass})
	w.refusedWith(err, fault.CodeNotFound)
}
