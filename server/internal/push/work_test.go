package push_test

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/deadletter"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/push"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// submit puts work into the queue.
func (w *world) submit(n int) []recoup.ID {
	w.Helper()
	subs := make([]recoup.NewWorkItem, n)
	for i := range subs {
		subs[i] = recoup.NewWorkItem{Pipeline: "criticizer", Stage: "fetch", PayloadRef: "s3://in/1", Payload: []byte("the payload")}
	}
	done, err := w.letters.Submit(w.Context(), engine.Caller{}, subs, nil)
	w.must(err)
	ids := make([]recoup.ID, n)
	for i := range done {
		w.must(done[i].Err)
		ids[i] = done[i].Letter.Queued.WorkID
	}
	return ids
}

// claim is what another worker would get.
func (w *world) claim() []recoup.ClaimedWork {
	w.Helper()
	got, err := w.letters.Claim(w.Context(), engine.Caller{}, recoup.WorkClaim{Lanes: []recoup.Lane{{Pipeline: "criticizer", Stage: "fetch"}}, Worker: "w2", Limit: 100})
	w.must(err)
	return got
}

// deadLettered lists the classes of dead letters.
func (w *world) deadLettered() (classes []string) {
	w.Helper()
	list, _, err := w.db.DeadLetters(w.Context(), store.DeadLetterFilter{}, sqldb.Page{})
	w.must(err)
	for i := range list {
		classes = append(classes, string(list[i].Dead.Class))
	}
	return classes
}

// forward answers with where somebody else would be.
func forward(w http.ResponseWriter, r *http.Request) {
	http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
}

// drop closes the connection without an answer.
func drop(w http.ResponseWriter, _ *http.Request) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	_ = conn.Close()
}

// switched leaves HTTP, and is silent until the other side has gone.
func switched(w http.ResponseWriter, _ *http.Request) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	defer func() { _ = conn.Close() }()
	_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: silence\r\n\r\n")
	_, _ = io.Copy(io.Discard, conn)
}

// drip begins an answer and never comes to its end.
func drip(w http.ResponseWriter, r *http.Request) {
	w.WriteHeader(200)
	_, _ = io.WriteString(w, `{"outcome":`)
	_ = http.NewResponseController(w).Flush()
	hang(w, r)
}

// flood answers with more than anybody wants to read.
func flood(w http.ResponseWriter, _ *http.Request) {
	w.WriteHeader(200)
	piece := strings.Repeat(" ", 64<<10)
	for range 1000 {
		if _, err := io.WriteString(w, piece); err != nil {
			return
		}
	}
}

// What becomes of work.
const (
	gone   = "gone"   // it is done, or dead
	held   = "held"   // the lease stays
	queued = "queued" // it went back, and can be claimed at once
)

// workAnswers are all answers to a delivery of work: what it comes to, what becomes of
// the work, and what is said where it is no result.
var workAnswers = []struct {
	name    string
	answer  http.HandlerFunc
	outcome string
	work    string
	class   string // of its dead letter
	says    string // of the last error
}{
	{"succeed", says(200, `{"outcome":"succeed"}`), "succeed", gone, "", ""},
	{"no content", says(204, ""), "succeed", gone, "", ""},
	{"fail", says(200, `{"outcome":"fail","failure":{"stage":"fetch","error_class":"validation_error","last_stack":"password=hunter2"}}`), "fail", gone, "VALIDATION_ERROR", ""},
	{"fail for good", says(200, `{"outcome":"fail","failure":{"error_class":"network_timeout","final":true,"last_stack":"none"}}`), "fail", gone, "NETWORK_TIMEOUT", ""},
	{"release", says(200, `{"outcome":"release"}`), "release", queued, "", ""},
	{"taken", says(202, "whatever"), "taken", held, "", ""},

	{"extend is no answer", says(200, `{"outcome":"extend"}`), "failed", queued, "", "no result: outcome (enum)"},
	{"no outcome", says(200, `{}`), "failed", queued, "", "no result: outcome (enum)"},
	{"unknown outcome", says(200, `{"outcome":"hunter2"}`), "failed", queued, "", "no result: outcome (enum)"},
	{"unknown field", says(200, `{"outcome":"succeed","hunter2":1}`), "failed", queued, "", "no result: a field (unknown)"},
	{"unknown field of a failure", says(200, `{"outcome":"fail","failure":{"hunter2":1}}`), "failed", queued, "", "no result: failure (unknown)"},
	{"a field twice", says(200, `{"outcome":"fail","outcome":"succeed"}`), "failed", queued, "", "no result: outcome (unique)"},
	{"a field of another type", says(200, `{"outcome":7}`), "failed", queued, "", "no result: outcome (type)"},
	{"fail without a failure", says(200, `{"outcome":"fail"}`), "failed", queued, "", "no result: failure (required)"},
	{"a failure that is none", says(200, `{"outcome":"fail","failure":{"stage":"fetch","error_class":"?!","last_stack":"none"}}`), "failed", queued, "", "no result: failure.error_class (pattern)"},
	{"fail, as short as can be", says(200, `{"outcome":"fail","failure":{"error_class":"validation_error","last_stack":"none"}}`), "fail", gone, "VALIDATION_ERROR", ""},
	{"a failure without a stack", says(200, `{"outcome":"fail","failure":{"error_class":"network_timeout"}}`), "failed", queued, "", "no result: failure.last_stack (required)"},
	{"a failure without a class", says(200, `{"outcome":"fail","failure":{"last_stack":"none"}}`), "failed", queued, "", "no result: failure.error_class (pattern)"},
	{"succeed with a failure", says(200, `{"outcome":"succeed","failure":{"stage":"fetch","error_class":"TIMEOUT"}}`), "failed", queued, "", "no result: failure (outcome)"},
	{"about other work", says(200, `{"outcome":"succeed","work_id":"00000000-0000-0000-0000-000000000001"}`), "failed", queued, "", "no result: "},
	{"another lease", says(200, `{"outcome":"succeed","lease_token":"00000000-0000-0000-0000-000000000001"}`), "failed", queued, "", "no result: "},
	{"empty", says(200, ""), "failed", queued, "", "no result: "},
	{"null", says(200, "null"), "failed", queued, "", "no result: "},
	{"no JSON", says(200, "<html>hunter2</html>"), "failed", queued, "", "no result: "},
	{"two documents", says(200, `{"outcome":"succeed"}{}`), "failed", queued, "", "no result: "},
	{"another success", says(201, `{"outcome":"succeed"}`), "failed", queued, "", "answered with status 201"},
	{"bad request", says(400, "hunter2"), "failed", queued, "", "answered with status 400"},
	{"unauthorized", says(401, ""), "failed", queued, "", "answered with status 401"},
	{"forbidden", says(403, ""), "failed", queued, "", "answered with status 403"},
	{"not found", says(404, ""), "failed", queued, "", "answered with status 404"},
	{"gone", says(410, ""), "failed", queued, "", "answered with status 410"},
	{"too many", says(429, "", "Retry-After", "7"), "failed", queued, "", "answered with status 429"},
	{"internal", says(500, `{"outcome":"succeed"}`), "failed", queued, "", "answered with status 500"},
	{"unavailable", says(503, ""), "failed", queued, "", "answered with status 503"},
	{"redirect", forward, "failed", queued, "", "answered with status 307, and redirects are not followed"},
	{"dropped", drop, "failed", queued, "", "the connection failed"},
	{"time-out", hang, "failed", queued, "", "no answer in time"},
	{"switched", switched, "failed", queued, "", "answered with status 101"},
	{"slow drip", drip, "failed", queued, "", "no answer in time"},
	{"flood", flood, "failed", queued, "", "answered with more than 1048576 bytes"},
}

// Every answer decides what becomes of the work, and only a result does anything to it.
func TestWorkAnswers(t *testing.T) {
	everywhere(t, func(w *world) {
		for _, row := range workAnswers {
			r := w.receiver(row.answer)
			timeout := "1m"
			if row.name == "time-out" || row.name == "slow drip" {
				timeout = "50ms"
			}
			p := w.pusher(push.Work, r.values("lanes", lane, "timeout", timeout))
			id, before := w.submit(1)[0], len(w.deadLettered())
			is := p.run()
			if is.Deliveries[row.outcome] != 1 || len(r.keys()) != 1 {
				w.Errorf("%s: deliveries are %v", row.name, is.Deliveries)
			}
			if failed := row.outcome == "failed"; failed != (is.State == wire.ReceiverBackingOff) || !strings.Contains(is.LastError, row.says) ||
				strings.Contains(is.LastError, "hunter2") || row.says == "" && is.LastError != "" {
				w.Errorf("%s: it is %s, %q", row.name, is.State, is.LastError)
			}
			misconfigured := slices.Contains([]string{"unauthorized", "forbidden", "not found", "gone", "redirect"}, row.name)
			if is.Misconfigured != misconfigured {
				w.Errorf("%s: misconfigured is %v", row.name, is.Misconfigured)
			}
			if classes := w.deadLettered(); row.class != "" && (len(classes) != before+1 || classes[0] != row.class) || row.class == "" && len(classes) != before {
				w.Errorf("%s: the dead letters are %v", row.name, classes)
			}
			w.checkQueue(row.name, row.work, id)
		}
	})
}

// checkQueue looks what became of work, and takes it out of the way.
func (w *world) checkQueue(name, want string, id recoup.ID) {
	w.Helper()
	got := w.claim()
	if (want == queued) != (len(got) == 1) {
		w.Errorf("%s: %d can be claimed", name, len(got))
	}
	if want == held {
		w.wait(75 * time.Second) // its time-out, and what is added
		if got = w.claim(); len(got) != 1 || got[0].Lapses != 1 {
			w.Errorf("%s: its lease does not run out: %v", name, got)
		}
	}
	for _, c := range got {
		if c.WorkID != id || want == queued && c.Lapses != 0 {
			w.Errorf("%s: claimed %+v", name, c.WorkItem)
		}
		done, err := w.letters.Results(w.Context(), caller("w2"), []recoup.WorkResult{{WorkID: c.WorkID, LeaseToken: c.LeaseToken, Outcome: deadletter.Succeeded}}, nil)
		w.must(err)
		w.must(done[0].Err)
	}
}

// A delivery is what a claim would have been answered with, and whoever has said that
// it has taken it sends the result with the token in it.
func TestDeliveryIsAClaim(t *testing.T) {
	everywhere(t, func(w *world) {
		r := w.receiver(says(202, ""))
		p := w.pusher(push.Work, r.values("lanes", "other/stage, "+lane))
		id := w.submit(1)[0]
		p.run()
		got := <-r.arrived
		var work recoup.ClaimedWork
		if err := json.Unmarshal([]byte(got.body), &work); err != nil {
			w.Fatal(err)
		}
		if work.WorkID != id || work.Pipeline != "criticizer" || work.Stage != "fetch" || string(work.Payload) != "the payload" ||
			work.PayloadRef != "s3://in/1" || work.LeaseToken.IsZero() || !work.LeaseEndsAt.Equal(w.clock().Add(45*time.Second)) || work.Claims != 1 {
			w.Errorf("delivered %s", got.body)
		}
		if want := "work/" + id.String() + "/fetch"; got.key != want {
			w.Errorf("the key is %q, want %q", got.key, want)
		}
		done, err := w.letters.Results(w.Context(), caller("later"), []recoup.WorkResult{{WorkID: id, LeaseToken: work.LeaseToken, Outcome: deadletter.Succeeded}}, nil)
		w.must(err)
		w.must(done[0].Err)
		w.wait(time.Hour)
		if left := w.claim(); len(left) != 0 {
			w.Errorf("%v is left", left)
		}
	})
}

// A node that dies between a delivery and its result loses nothing: when the lease is
// over another delivers the same under the same key. What the first hears then comes
// too late.
func TestLostBetweenDeliveryAndResult(t *testing.T) {
	everywhere(t, func(w *world) {
		let := make(chan struct{})
		slow := w.receiver(func(rw http.ResponseWriter, q *http.Request) {
			<-let
			says(200, `{"outcome":"fail","failure":{"error_class":"TIMEOUT","last_stack":"none"}}`)(rw, q)
		})
		quick := w.receiver(says(204, ""))
		first, second := w.pusher(push.Work, slow.values("lanes", lane)), w.pusher(push.Work, quick.values("lanes", lane))
		w.submit(1)
		w.must(first.Run(w.Context()))
		one := <-slow.arrived
		if second.run(); len(quick.keys()) != 0 {
			w.Fatal("delivered twice at once")
		}
		w.wait(45 * time.Second)
		second.run()
		second.wants(map[string]int64{"succeed": 1})
		two := <-quick.arrived
		if one.key != two.key || one.body == two.body {
			w.Errorf("first %+v, then %+v", one, two)
		}
		close(let)
		first.Settle()
		first.wants(map[string]int64{"lost": 1})
		if classes := w.deadLettered(); len(classes) != 0 || first.is().State != wire.ReceiverUp {
			w.Errorf("there are %v, and it is %+v", classes, first.is())
		}
	})
}

// A failure that may be retried is delivered again after its back-off, with a key of its
// own: a receiver that remembers its answers would fail once more.
func TestRetriedDelivery(t *testing.T) {
	everywhere(t, func(w *world) {
		r := w.receiver(says(200, `{"outcome":"fail","failure":{"error_class":"TIMEOUT","retry_after":9,"last_stack":"none"}}`))
		p := w.pusher(push.Work, r.values("lanes", lane))
		id := w.submit(1)[0]
		p.run()
		r.from(says(204, ""))
		w.wait(9*time.Second - time.Millisecond)
		if p.run(); len(r.keys()) != 1 {
			w.Errorf("delivered before it is due: %v", r.keys())
		}
		w.wait(time.Millisecond)
		p.run()
		if keys := r.keys(); len(keys) != 2 || keys[0] != "work/"+id.String()+"/fetch" || keys[1] != keys[0]+"/2" {
			w.Errorf("the keys are %v", keys)
		}
		p.wants(map[string]int64{"fail": 1, "succeed": 1})
	})
}

// A replay is a new attempt, with a key of its own.
func TestReplayHasAKeyOfItsOwn(t *testing.T) {
	everywhere(t, func(w *world) {
		r := w.receiver(says(200, `{"outcome":"fail","failure":{"error_class":"VALIDATION_ERROR","last_stack":"none"}}`))
		p := w.pusher(push.Work, r.values("lanes", lane))
		id := w.submit(1)[0]
		p.run()
		replay := w.replay()
		r.from(says(204, ""))
		p.run()
		if keys := r.keys(); len(keys) != 2 || keys[0] != "work/"+id.String()+"/fetch" || keys[1] != keys[0]+"/"+replay.String() {
			w.Errorf("the keys are %v, the replay is %v", keys, replay)
		}
		p.wants(map[string]int64{"fail": 1, "succeed": 1})
	})
}

// A pause keeps work from being delivered, and lets what is on its way end.
func TestPausedWhileDelivering(t *testing.T) {
	everywhere(t, func(w *world) {
		let := make(chan struct{})
		r := w.receiver(func(rw http.ResponseWriter, q *http.Request) { <-let; says(204, "")(rw, q) })
		p := w.pusher(push.Work, r.values("lanes", lane, "concurrency", "1"))
		w.submit(2)
		w.must(p.Run(w.Context()))
		<-r.arrived
		pause := recoup.NewPause{PauseScope: recoup.PauseScope{Pipeline: "criticizer"}, Reason: "an incident"}
		_, err := w.letters.Pause(w.Context(), caller("ada"), pause)
		w.must(err)
		close(let)
		p.Settle()
		p.run()
		p.wants(map[string]int64{"succeed": 1})
		w.must(w.letters.Unpause(w.Context(), caller("ada"), recoup.PauseScope{Pipeline: "criticizer"}, "over"))
		p.run()
		p.wants(map[string]int64{"succeed": 2})
	})
}

// replay sends the one dead letter that there is back to work, as its workflow demands.
func (w *world) replay() recoup.ID {
	w.Helper()
	list, _, err := w.db.DeadLetters(w.Context(), store.DeadLetterFilter{}, sqldb.Page{})
	w.must(err)
	d := &list[0].Dead
	id := d.ErrorID
	for _, step := range []deadletter.Action{
		deadletter.Triage{Cause: recoup.CauseData, Stage: d.Stage, Class: d.Class, Exhausted: &d.Exhausted}, deadletter.Remediation{Link: "INC-1", Corrected: "the title"}, deadletter.Validation{Idempotent: true},
	} {
		_, err := w.letters.Take(w.Context(), caller("ada"), id, step, nil)
		w.must(err)
	}
	r, err := w.letters.Replay(w.Context(), caller("ada"), recoup.NewReplay{ReplaySelection: recoup.ReplaySelection{IDs: []recoup.ID{id}}, Reason: "corrected"})
	w.must(err)
	for more := true; more; {
		more, err = w.letters.Advance(w.Context())
		w.must(err)
	}
	return r.ID
}

// caller is somebody who may do everything.
func caller(name string) engine.Caller { return engine.Caller{Name: name} }
