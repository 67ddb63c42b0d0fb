package push_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/gatezero"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

const day = 24 * time.Hour

// intake takes in a company.
func (w *world) intake(batch, name string) recoup.ID {
	w.Helper()
	got, _, err := w.gate.Create(w.Context(), recoup.Intake{BatchID: batch, CompanyName: name})
	w.must(err)
	return got.Intake.ID
}

// failed takes in a company that fails its first verification.
func (w *world) failed(batch, name string) recoup.ID {
	w.Helper()
	id := w.intake(batch, name)
	out, err := w.gate.Record(w.Context(), []recoup.GateZeroResult{{IntakeID: id, Worker: "w1", Verdict: "FAIL", Reason: "STATE_MISMATCH"}})
	w.must(err)
	w.must(out[0].Err)
	return id
}

func (w *world) batch(id string) {
	w.Helper()
	_, err := w.gate.CreateBatch(w.Context(), id)
	w.must(err)
}

// events lists what happened to an intake.
func (w *world) events(id recoup.ID) string {
	w.Helper()
	story, err := w.gate.Story(w.Context(), id)
	w.must(err)
	var list []string
	for _, row := range story.Rows {
		list = append(list, strings.TrimSuffix(string(row.Event)+" "+row.Reason, " "))
	}
	return strings.Join(list, ", ")
}

// gateAnswers are all answers to a verification: what it comes to, and what that leaves
// of a first one and of a retry.
var gateAnswers = []struct {
	name         string
	answer       http.HandlerFunc
	outcome      string
	first, again string
}{
	{"pass", says(200, `{"verdict":"PASS"}`), "pass", "AUTH", "FAIL STATE_MISMATCH, AUTH, REENTER"},
	{"fail", says(200, `{"verdict":"FAIL","reason":"DOMAIN_NOT_FOUND"}`), "fail", "FAIL DOMAIN_NOT_FOUND", "FAIL STATE_MISMATCH, FAIL DOMAIN_NOT_FOUND"},
	{"taken", says(202, ""), "taken", "", "FAIL STATE_MISMATCH"},

	{"no content", says(204, ""), "failed", "", "FAIL STATE_MISMATCH"},
	{"pass in lower case", says(200, `{"verdict":"pass"}`), "failed", "", "FAIL STATE_MISMATCH"},
	{"pass with a reason", says(200, `{"verdict":"PASS","reason":"TIMEOUT"}`), "failed", "", "FAIL STATE_MISMATCH"},
	{"fail without a reason", says(200, `{"verdict":"FAIL"}`), "failed", "", "FAIL STATE_MISMATCH"},
	{"fail for a reason that is none", says(200, `{"verdict":"FAIL","reason":"NO_IDEA"}`), "failed", "", "FAIL STATE_MISMATCH"},
	{"no verdict", says(200, `{}`), "failed", "", "FAIL STATE_MISMATCH"},
	{"a result of work", says(200, `{"outcome":"succeed"}`), "failed", "", "FAIL STATE_MISMATCH"},
	{"two verdicts", says(200, `{"verdict":"FAIL","verdict":"PASS"}`), "failed", "", "FAIL STATE_MISMATCH"},
	{"about another", says(200, `{"verdict":"PASS","intake_id":"00000000-0000-0000-0000-000000000001"}`), "failed", "", "FAIL STATE_MISMATCH"},
	{"many", says(200, `[{"verdict":"PASS"}]`), "failed", "", "FAIL STATE_MISMATCH"},
	{"no JSON", says(200, `PASS`), "failed", "", "FAIL STATE_MISMATCH"},
	{"unavailable", says(503, `{"verdict":"FAIL","reason":"TIMEOUT"}`), "failed", "", "FAIL STATE_MISMATCH"},
	{"gone", says(410, ""), "failed", "", "FAIL STATE_MISMATCH"},
	{"dropped", drop, "failed", "", "FAIL STATE_MISMATCH"},
}

// Every answer decides what becomes of a company, and only a verdict does anything to
// it: whatever else comes uses no attempt, and it can be verified again.
func TestGateAnswers(t *testing.T) {
	everywhere(t, func(w *world) {
		for i, row := range gateAnswers {
			first, again := fmt.Sprintf("first-%d", i), fmt.Sprintf("again-%d", i)
			w.batch(first)
			w.batch(again)
			r := w.receiver(row.answer)
			id := w.intake(first, "Acme")
			fresh := w.pusher(gatezero.ReceiverKind, r.values("batch", first))
			if is := fresh.run(); is.Deliveries[row.outcome] != 1 || w.events(id) != row.first {
				w.Errorf("%s, first: deliveries are %v, happened is %q", row.name, is.Deliveries, w.events(id))
			}
			failed := w.failed(again, "Acme")
			w.wait(day)
			retry := w.pusher(gatezero.ReceiverKind, r.values("batch", again))
			if is := retry.run(); is.Deliveries[row.outcome] != 1 || w.events(failed) != row.again {
				w.Errorf("%s, again: deliveries are %v, happened is %q, %s", row.name, is.Deliveries, w.events(failed), is.LastError)
			}
			if keys := r.keys(); len(keys) != 2 || keys[0] != "intake/"+id.String() || !strings.HasPrefix(keys[1], "recovery/") || !strings.HasSuffix(keys[1], "/1") {
				w.Errorf("%s: the keys are %v", row.name, keys)
			}
			if row.outcome == "failed" {
				w.comesAgain(row.name, r, retry, failed)
			}
		}
	})
}

// comesAgain wants a retry that came to nothing to be delivered again under its key,
// once it was given back, and to pass then.
func (w *world) comesAgain(name string, r *receiver, p *pusher, id recoup.ID) {
	w.Helper()
	r.from(says(200, `{"verdict":"PASS"}`))
	w.wait(45 * time.Second)
	p.run() // gives back what it has kept
	p.run()
	if keys := r.keys(); len(keys) != 3 || keys[2] != keys[1] || w.events(id) != "FAIL STATE_MISMATCH, AUTH, REENTER" || p.is().State != wire.ReceiverUp {
		w.Errorf("%s: the keys are %v, happened is %q, %+v", name, r.keys(), w.events(id), p.is())
	}
}

// A delivery is what a claim would have been answered with.
func TestVerificationIsAClaim(t *testing.T) {
	everywhere(t, func(w *world) {
		r := w.receiver(says(202, ""))
		w.failed("", "Acme")
		w.wait(day)
		second := w.intake("", "Beta")
		w.pusher(gatezero.ReceiverKind, r.values("lease", "10m")).run()
		var got []recoup.GateZeroWork
		for range 2 {
			var one recoup.GateZeroWork
			w.must(json.Unmarshal([]byte((<-r.arrived).body), &one))
			got = append(got, one)
		}
		slices.SortFunc(got, func(a, b recoup.GateZeroWork) int { return strings.Compare(a.Intake.CompanyName, b.Intake.CompanyName) })
		if a := got[0]; a.Intake.CompanyName != "Acme" || a.RecoveryID.IsZero() || a.Attempt != 1 || a.LeaseToken.IsZero() || !a.LeaseEndsAt.Equal(w.clock().Add(10*time.Minute)) {
			w.Errorf("delivered %+v", a)
		}
		if b := got[1]; b.Intake.ID != second || !b.RecoveryID.IsZero() || !b.LeaseToken.IsZero() {
			w.Errorf("delivered %+v", b)
		}
		for _, one := range got {
			out, err := w.gate.Record(w.Context(), []recoup.GateZeroResult{{IntakeID: one.Intake.ID, RecoveryID: one.RecoveryID, LeaseToken: one.LeaseToken, Worker: "later", Verdict: "PASS"}})
			w.must(err)
			w.must(out[0].Err)
		}
	})
}

// A receiver that is down for days uses up nothing of a company's.
func TestDownReceiverUsesNoAttempt(t *testing.T) {
	everywhere(t, func(w *world) {
		r := w.receiver(says(500, ""))
		p := w.pusher(gatezero.ReceiverKind, r.values())
		id := w.failed("", "Acme")
		w.wait(day)
		for range 20 {
			p.run()
			w.wait(5 * time.Minute)
			p.run()
		}
		if got := w.events(id); got != "FAIL STATE_MISMATCH" || len(r.keys()) < 10 {
			w.Errorf("after %d deliveries happened is %q", len(r.keys()), got)
		}
		found, err := w.gate.Intake(w.Context(), id)
		w.must(err)
		if found.Recovery.AttemptCount != 1 || found.Lease.Lapses != 0 {
			w.Errorf("it is %+v", found)
		}
	})
}

// Companies for which a receiver has no answer do not keep it from verifying others,
// although they have waited longest: neither in retries nor in first verifications.
func TestOthersGetTheirTurn(t *testing.T) {
	everywhere(t, func(w *world) {
		for _, row := range []struct {
			kind string
			add  func(batch, name string) recoup.ID
		}{{"retries", w.failed}, {"first", w.intake}} {
			kind, add := row.kind, row.add
			r := w.receiver(nil)
			r.from(func(rw http.ResponseWriter, q *http.Request) {
				r.mu.Lock()
				last := r.got[len(r.got)-1]
				r.mu.Unlock()
				if strings.Contains(last.body, "Bad") {
					says(500, "")(rw, q)
					return
				}
				says(200, `{"verdict":"PASS"}`)(rw, q)
			})
			w.batch(kind)
			p := w.pusher(gatezero.ReceiverKind, r.values("concurrency", "1", "batch", kind))
			for i := range 8 {
				add(kind, fmt.Sprintf("Bad %d", i))
			}
			w.wait(time.Second)
			for i := range 3 {
				add(kind, fmt.Sprintf("Good %d", i))
			}
			w.wait(day)
			for range 600 {
				p.run()
				w.wait(time.Second) // as the clock of a node does
			}
			if got := p.is().Deliveries["pass"]; got != 3 {
				w.Errorf("%s: %d of 3 have passed: %v", kind, got, p.is().Deliveries)
			}
		}
	})
}

// What was claimed to look beyond companies that have failed, and is not delivered, is
// there for others at once, also where it is a first verification.
func TestSurplusIsGivenBack(t *testing.T) {
	everywhere(t, func(w *world) {
		r := w.receiver(says(500, ""))
		p := w.pusher(gatezero.ReceiverKind, r.values("concurrency", "3"))
		var bad []recoup.ID
		for i := range 3 {
			bad = append(bad, w.intake("", fmt.Sprintf("Bad %d", i)))
		}
		p.run() // all of them fail together
		for _, id := range bad {
			out, err := w.gate.Record(w.Context(), []recoup.GateZeroResult{{IntakeID: id, Worker: "w1", Verdict: "PASS"}})
			w.must(err)
			w.must(out[0].Err)
		}
		var good []recoup.ID
		for i := range 4 {
			good = append(good, w.intake("", fmt.Sprintf("Good %d", i)))
		}
		w.wait(time.Minute)
		let := make(chan struct{})
		r.from(func(rw http.ResponseWriter, q *http.Request) { <-let; says(200, `{"verdict":"PASS"}`)(rw, q) })
		w.must(p.Run(w.Context())) // one at a time, and three more because of those that have failed
		for range 4 {
			<-r.arrived
		}
		got, err := w.gate.Claim(w.Context(), recoup.GateZeroClaim{Worker: "w2", Limit: 10})
		w.must(err)
		var ids []recoup.ID
		for i := range got {
			ids = append(ids, got[i].Intake.ID)
		}
		if !slices.Equal(ids, good[1:]) {
			w.Errorf("another worker gets %v, want %v", ids, good[1:])
		}
		close(let)
		p.Settle()
		p.wants(map[string]int64{"failed": 3, "pass": 1})
	})
}

// A first verification that came to nothing is given back after a while, and when the
// node stops, and not only when its time is over.
func TestFirstVerificationIsGivenBack(t *testing.T) {
	everywhere(t, func(w *world) {
		r := w.receiver(says(500, ""))
		p := w.pusher(gatezero.ReceiverKind, r.values("lease", "10m"))
		id := w.intake("", "Acme")
		claims := func(want int, when string) {
			w.Helper()
			got, err := w.gate.Claim(w.Context(), recoup.GateZeroClaim{Worker: "w2", Limit: 10, LeaseSeconds: 60})
			w.must(err)
			if len(got) != want || want == 1 && got[0].Intake.ID != id {
				w.Errorf("%s another worker gets %+v", when, got)
			}
		}
		p.run()
		claims(0, "at once")
		ended, cancel := context.WithCancel(w.Context())
		cancel()
		w.must(p.Drain(ended))
		claims(1, "when the node has stopped")
	})
}

// The kill switch and the freeze hold for what is on its way: of a killed batch nothing
// counts, and of a frozen one a PASS does and a FAIL is the last.
func TestBatchEndsWhileDelivering(t *testing.T) {
	everywhere(t, func(w *world) {
		for _, row := range []struct {
			name, answer string
			end          func(batch string)
			outcome      string
			want         string
		}{
			{"killed", `{"verdict":"PASS"}`, w.kill, "lost", "FAIL STATE_MISMATCH, REVOKE"},
			{"killed-fail", `{"verdict":"FAIL","reason":"TIMEOUT"}`, w.kill, "lost", "FAIL STATE_MISMATCH, REVOKE"},
			{"killed-down", `no answer`, w.kill, "failed", "FAIL STATE_MISMATCH, REVOKE"},
			{"frozen", `{"verdict":"PASS"}`, func(string) { w.wait(day) }, "pass", "FAIL STATE_MISMATCH, AUTH, REENTER"},
			{"frozen-fail", `{"verdict":"FAIL","reason":"TIMEOUT"}`, func(string) { w.wait(day) }, "fail", "FAIL STATE_MISMATCH, FAIL TIMEOUT, EXHAUSTED BATCH_FROZEN"},
		} {
			w.batch(row.name)
			let := make(chan struct{})
			r := w.receiver(func(rw http.ResponseWriter, q *http.Request) { <-let; says(200, row.answer)(rw, q) })
			p := w.pusher(gatezero.ReceiverKind, r.values("batch", row.name))
			id := w.intake(row.name, "Acme")
			_, err := w.gate.Complete(w.Context(), row.name, store.Act{By: "ada", At: w.clock()})
			w.must(err)
			w.wait(12*day + 12*time.Hour)
			out, err := w.gate.Record(w.Context(), []recoup.GateZeroResult{{IntakeID: id, Worker: "w1", Verdict: "FAIL", Reason: "STATE_MISMATCH"}})
			w.must(err)
			w.must(out[0].Err)
			w.wait(day)
			w.must(p.Run(w.Context()))
			<-r.arrived
			row.end(row.name)
			close(let)
			p.Settle()
			if is := p.is(); is.Deliveries[row.outcome] != 1 || w.events(id) != row.want {
				w.Errorf("%s: deliveries are %v, happened is %q", row.name, is.Deliveries, w.events(id))
			}
			w.wait(time.Hour)
			if p.run(); len(r.keys()) != 1 {
				w.Errorf("%s: it is delivered again", row.name)
			}
		}
	})
}

func (w *world) kill(batch string) {
	w.Helper()
	_, err := w.gate.Kill(w.Context(), batch, store.Act{By: "ada", At: w.clock()})
	w.must(err)
}
