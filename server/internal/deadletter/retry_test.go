package deadletter_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/deadletter"
	"github.com/recoup-dev/recoup/server/internal/policy"
)

// broken is a failure as a worker without a runner sends it: it does not say how often
// it tried.
func (w *world) broken(stage, class string, change ...func(*recoup.StageFailure)) recoup.StageFailure {
	f := recoup.StageFailure{Stage: stage, Class: recoup.Code(class), LastStack: "upstream: " + class, Context: map[string]any{}, FirstFailureAt: w.clock(), LastFailureAt: w.clock()}
	for _, c := range change {
		c(&f)
	}
	return f
}

func after(seconds int) func(*recoup.StageFailure) {
	return func(f *recoup.StageFailure) { f.RetryAfter = seconds }
}

// What becomes of a failed attempt: it is retried after a delay, or it is a dead letter.
// The node draws the longest delay, so that the schedule is 1, 2, 4 and 8 s (spec 002, 8.2).
func TestFailedAttempts(t *testing.T) {
	const dead = -1
	second := time.Second
	everywhere(t, func(w *world) {
		for name, row := range map[string]struct {
			failures []recoup.StageFailure
			waits    []time.Duration // dead: a dead letter
			spent    bool
		}{
			"retryable until its attempts are used up": {
				[]recoup.StageFailure{w.broken("fetch", "network_timeout"), w.broken("fetch", "network_timeout"), w.broken("fetch", "connection_reset"), w.broken("fetch", "network_timeout"), w.broken("fetch", "network_timeout")},
				[]time.Duration{second, 2 * second, 4 * second, 8 * second, dead}, true,
			},
			"not retryable":          {[]recoup.StageFailure{w.broken("fetch", "validation_error")}, []time.Duration{dead}, false},
			"not registered":         {[]recoup.StageFailure{w.broken("fetch", "tuesday")}, []time.Duration{dead}, false},
			"retryable, then not":    {[]recoup.StageFailure{w.broken("fetch", "network_timeout"), w.broken("fetch", "invalid_api_key")}, []time.Duration{second, dead}, false},
			"the stage is its own":   {[]recoup.StageFailure{w.broken("fetch", "network_timeout"), w.broken("llm", "network_timeout"), w.broken("llm", "network_timeout")}, []time.Duration{second, second, 2 * second}, false},
			"retry_after":            {[]recoup.StageFailure{w.broken("fetch", "rate_limit_exceeded", after(30))}, []time.Duration{30 * second}, false},
			"retry_after is smaller": {[]recoup.StageFailure{w.broken("fetch", "rate_limit_exceeded"), w.broken("fetch", "rate_limit_exceeded", after(1))}, []time.Duration{second, 2 * second}, false},
			"retry_after is bounded": {[]recoup.StageFailure{w.broken("fetch", "rate_limit_exceeded", after(3600))}, []time.Duration{5 * time.Minute}, false},
			"conditional":            {[]recoup.StageFailure{w.broken("fetch", "duplicate_write")}, []time.Duration{second}, false},
			"final":                  {[]recoup.StageFailure{w.broken("fetch", "network_timeout", func(f *recoup.StageFailure) { f.Final = true })}, []time.Duration{dead}, false},
			"exhausted where it ran": {[]recoup.StageFailure{w.broken("fetch", "network_timeout", func(f *recoup.StageFailure) { f.Exhausted = true })}, []time.Duration{dead}, true},
		} {
			work := w.submit("fetch", nil)
			for i, f := range row.failures {
				q := w.claim(1)[0]
				l := w.say(q, deadletter.Failed, f)
				if row.waits[i] == dead {
					if l.Dead.WorkID != work || l.Dead.Stage != f.Stage || l.Dead.Exhausted != row.spent || !l.Queued.WorkID.IsZero() {
						w.Errorf("%s: failure %d left %+v and %+v", name, i+1, l.Queued, l.Dead)
					}
					continue
				}
				if got := l.Queued.DueAt.Sub(w.clock()); got != row.waits[i] || l.Queued.Stage != f.Stage || l.Dead.Open() || !l.Queued.LeaseToken.IsZero() {
					w.Errorf("%s: after failure %d it waits %s at %s, want %s at %s; its dead letter is %+v", name, i+1, got, l.Queued.Stage, row.waits[i], f.Stage, l.Dead)
				}
				if w.wait(row.waits[i] - time.Millisecond); len(w.claim(1)) > 0 {
					w.Fatalf("%s: claimed before it is due", name)
				}
				w.wait(time.Millisecond)
			}
			for _, q := range w.claim(10) {
				w.say(q, deadletter.Succeeded)
			}
		}
	})
}

// A dead letter of work that the server has retried says how often each stage was tried
// and when it failed first, and why it is parked. Every attempt is an event of the ledger.
func TestDeadLetterOfRetriedWork(t *testing.T) {
	everywhere(t, func(w *world) {
		work := w.submit("fetch", nil)
		first := w.clock()
		var l recoup.ID
		for range 6 {
			stage := "llm"
			if first.Equal(w.clock()) {
				stage = "fetch"
			}
			letter := w.say(w.claim(1)[0], deadletter.Failed, w.broken(stage, "network_timeout"))
			l = letter.Dead.ErrorID
			w.wait(time.Minute)
		}
		d := w.read(l)
		if string(d.Rounds[0].Context) != `{"attempts":{"fetch":1,"llm":5}}` || !d.Dead.FirstFailureAt.Equal(first.Add(time.Minute)) || !d.Dead.Exhausted {
			w.Errorf("the dead letter is %+v, its round %+v", d.Dead, d.Rounds[0])
		}
		if d.Error.ParkReason != recoup.MaxRetriesExceeded || d.Dead.WorkID != work {
			w.Errorf("the error is %+v", d.Error)
		}
		var events []string
		for _, e := range w.events() {
			if e.CorrelationID == work {
				events = append(events, fmt.Sprint(e.Code, e.Endpoint))
			}
		}
		if len(events) != 6 {
			w.Errorf("the ledger has %v", events)
		}
	})
}

// Work that is replayed has a budget of its own, and its replay waits for it.
func TestReplayedWorkIsRetried(t *testing.T) {
	everywhere(t, func(w *world) {
		id := w.dead("llm", "VALIDATION_ERROR")
		w.prepared(id)
		w.replay(id)
		for range 4 {
			w.say(w.claim(1)[0], deadletter.Failed, w.broken("llm", "network_timeout"))
			if d := w.read(id); d.Dead.Step != recoup.StepReplaying || d.Dead.Round != 1 {
				w.Fatalf("a retry made %+v", d.Dead)
			}
			w.wait(time.Minute)
			w.advance()
		}
		w.say(w.claim(1)[0], deadletter.Failed, w.broken("llm", "network_timeout"))
		if d := w.read(id); d.Dead.Step != recoup.StepNew || d.Dead.Round != 2 || !d.Dead.Exhausted || d.Replays[0].State != recoup.ItemFailed {
			w.Errorf("when its attempts are used up it is %+v", d.Dead)
		}
	})
}

// Whoever lost the lease has no say in when the work is tried again, and what a worker
// got wrong is not an attempt.
func TestAttemptsAreFenced(t *testing.T) {
	everywhere(t, func(w *world) {
		w.submit("fetch", nil)
		q := w.claim(1)[0]
		f := w.broken("fetch", "network_timeout")
		w.say(q, deadletter.Failed, f)
		r := recoup.WorkResult{WorkID: q.WorkID, LeaseToken: q.LeaseToken, Outcome: deadletter.Failed, Failure: &f}
		w.refused(first(w.Results(w.Context(), caller("w"), []recoup.WorkResult{r}, nil)), fault.CodeLeaseLost)
		w.wait(time.Second)
		q = w.claim(1)[0]
		f.RetryAfter, r.LeaseToken = -1, q.LeaseToken
		w.refused(first(w.Results(w.Context(), caller("w"), []recoup.WorkResult{r}, nil)), fault.CodeValidationError)
		if n := q.FailedStages()["fetch"]; n.Attempts != 1 || n.Class != "NETWORK_TIMEOUT" || n.FirstFailureAt.IsZero() {
			w.Errorf("counted %+v", n)
		}
	})
}

// The budget and the schedule are the policy's.
func TestAttemptsFollowThePolicy(t *testing.T) {
	everywhere(t, func(w *world) {
		p := *policy.Default()
		p.Stage.MaxRetries, p.Stage.Schedule.Base = 1, 7*time.Second
		w.Policies.Use(&p)
		w.submit("fetch", nil)
		if l := w.say(w.claim(1)[0], deadletter.Failed, w.broken("fetch", "network_timeout")); !l.Queued.DueAt.Equal(w.clock().Add(7 * time.Second)) {
			w.Errorf("it waits as %+v", l.Queued)
		}
		w.wait(7 * time.Second)
		if l := w.say(w.claim(1)[0], deadletter.Failed, w.broken("fetch", "network_timeout")); !l.Dead.Open() {
			w.Errorf("it is %+v", l.Queued)
		}
	})
}
