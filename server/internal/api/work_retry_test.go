package api_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
)

// hiccup is a failure that may be retried, as somebody writes it who has nothing but
// HTTP: what the server counts is left out.
func (w *world) hiccup(token recoup.ID, more object) object {
	failure := object{"stage": "fetch", "error_class": "network_timeout", "last_stack": "none", "sanitized_context": object{}, "first_failure_at": w.clock(), "last_failure_at": w.clock()}
	for name, value := range more {
		failure[name] = value
	}
	return object{"lease_token": token, "failure": failure}
}

// A failure of claimed work whose class may be retried puts the work back, with the
// attempt counted and a time to come back, alone and among many; after the attempts of
// the policy it is a dead letter that closes the gate of its entity.
func TestRetriesOverHTTP(t *testing.T) {
	onBothStores(t, func(w *world) {
		pipeline, entity := w.pipeline(""), w.entity()
		work := w.enterFor(entity, pipeline)
		for n := 1; n < 5; n++ {
			held := w.claimWork(pipeline, "fetch")[0]
			if got := held.FailedStages()["fetch"].Attempts; got != n-1 {
				w.Errorf("attempt %d is handed out with %d failures", n, got)
			}
			var done recoup.WorkDone
			w.post("/v1/work/"+held.WorkID.String()+"/fail", w.hiccup(held.LeaseToken, nil)).ok(&done)
			if done.Work == nil || done.DeadLetter != nil || done.Work.FailedStages()["fetch"].Attempts != n || done.Work.DueAt.Sub(w.clock()) > 8*time.Second {
				w.Fatalf("attempt %d is answered with %+v", n, done)
			}
			if w.gate(entity).Blocked {
				w.Errorf("a retry blocks %s", entity)
			}
			w.wait(8 * time.Second)
		}
		held := w.claimWork(pipeline, "fetch")[0]
		var done recoup.WorkDoneBatch
		result := w.hiccup(held.LeaseToken, nil)
		result["work_id"], result["outcome"] = held.WorkID, "fail"
		w.post("/v1/work/results", object{"results": []object{result}}).ok(&done)
		d := done.Items[0].Result.DeadLetter
		if d == nil || d.WorkID != work.WorkID || !d.Exhausted || d.ParkReason != recoup.MaxRetriesExceeded || d.Stage != "fetch" {
			w.Fatalf("the fifth is answered with %+v", done.Items[0])
		}
		if round := w.details(*d).Rounds[0]; string(round.Context) != `{"attempts":{"fetch":5}}` {
			w.Errorf("its round is %+v", round)
		}
		w.closedBy(entity, *d, d.CreatedAt.Add(90*24*time.Hour))
	})
}

// How long work waits is the longer of the policy's back-off and what the failing side
// asked for, within the policy's bound; what may not be retried is a dead letter at once.
func TestRetryAfterOfWork(t *testing.T) {
	onBothStores(t, func(w *world) {
		for name, row := range map[string]struct {
			more  object
			least time.Duration // zero: a dead letter
			most  time.Duration
		}{
			"back-off":       {nil, 1, time.Second},
			"asked for":      {object{"error_class": "rate_limited", "retry_after": 40}, 40 * time.Second, 40 * time.Second},
			"too much":       {object{"error_class": "rate_limited", "retry_after": 4000}, 5 * time.Minute, 5 * time.Minute},
			"at its stage":   {object{"stage": "llm"}, 1, time.Second},
			"not retryable":  {object{"error_class": "validation_failed", "retry_after": 40}, 0, 0},
			"not registered": {object{"error_class": "tuesday"}, 0, 0},
			"final":          {object{"final": true}, 0, 0},
			"exhausted":      {object{"exhausted": true}, 0, 0},
		} {
			held := w.held()
			var done recoup.WorkDone
			w.post("/v1/work/"+held.WorkID.String()+"/fail", w.hiccup(held.LeaseToken, row.more)).ok(&done)
			if row.least == 0 {
				if done.Work != nil || done.DeadLetter == nil {
					w.Errorf("%s: answered with %+v", name, done)
				}
				continue
			}
			if done.DeadLetter != nil || done.Work == nil {
				w.Fatalf("%s: answered with %+v", name, done)
			}
			if wait := done.Work.DueAt.Sub(w.clock()); wait < 0 || wait > row.most || row.least > 1 && wait < row.least {
				w.Errorf("%s: it waits %s, want %s", name, wait, row.most)
			}
			if stage, _ := row.more["stage"].(string); stage != "" {
				if w.wait(row.most); len(w.claimWork(held.Pipeline, stage)) != 1 {
					w.Errorf("%s: nobody gets it at %s", name, stage)
				}
			}
		}
		held := w.held()
		w.post("/v1/work/"+held.WorkID.String()+"/fail", w.hiccup(held.LeaseToken, object{"retry_after": -1})).invalid("failure.retry_after", "minimum")
	})
}

// A result that is sent again under its key counts once; without one it comes too late.
func TestRepeatedFailureOfWork(t *testing.T) {
	onBothStores(t, func(w *world) {
		held := w.held()
		at, body := "/v1/work/"+held.WorkID.String()+"/fail", w.hiccup(held.LeaseToken, nil)
		var one, two recoup.WorkDone
		w.post(at, body, "Idempotency-Key", "once").ok(&one)
		w.post(at, body, "Idempotency-Key", "once").ok(&two)
		if !two.Repeated || two.Work == nil || two.Work.Failures != one.Work.Failures {
			w.Errorf("repeated, it is answered with %+v, before with %+v", two.Work, one.Work)
		}
		w.post(at, body).failed(http.StatusConflict, fault.CodeLeaseLost)
	})
}
