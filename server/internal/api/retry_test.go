package api_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/app"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// notifier signals when a claim has found nothing.
type notifier struct {
	app.Store
	claims chan struct{}
}

func newNotifier() *notifier { return &notifier{claims: make(chan struct{}, 100)} }

func (n *notifier) option() option {
	return wrapped(func(under app.Store) app.Store { n.Store = under; return n })
}

func (n *notifier) ClaimDue(ctx context.Context, claim store.Claim) ([]recoup.Error, error) {
	claimed, err := n.Store.ClaimDue(ctx, claim)
	if len(claimed) == 0 {
		n.claims <- struct{}{}
	}
	return claimed, err
}

// A claim that finds nothing waits until something falls due.
func TestLongPoll(t *testing.T) {
	t.Parallel()
	n := newNotifier()
	w := newWorld(t, n.option())
	e := w.report(dol, "CO-1")
	w.post("/v1/errors/"+e.ID.String()+"/park", recoup.Act{Reason: "wait"}).ok()
	waiting := w.later("worker", "POST", "/v1/retries/claim", recoup.RetryClaim{Worker: "w", WaitSeconds: 60})
	<-n.claims
	w.post("/v1/errors/"+e.ID.String()+"/unpark", recoup.Act{Reason: "go on"}).ok()
	var claimed recoup.RetryClaimed
	(<-waiting).ok(&claimed)
	if len(claimed.Errors) != 1 || claimed.Errors[0].ID != e.ID || claimed.Errors[0].LeaseToken.IsZero() {
		t.Errorf("claimed %+v", claimed)
	}
	w.do("worker", http.MethodPost, "/v1/retries/claim", recoup.RetryClaim{Worker: "w"}).ok(&claimed)
	if len(claimed.Errors) != 0 {
		t.Errorf("claimed it twice: %+v", claimed)
	}
}

// A claim whose caller has gone ends with it.
func TestLongPollOfTheGone(t *testing.T) {
	t.Parallel()
	n := newNotifier()
	w := newWorld(t, n.option())
	r := w.request("worker", http.MethodPost, "/v1/retries/claim", recoup.RetryClaim{Worker: "w", WaitSeconds: 60})
	ctx, leave := context.WithCancel(t.Context())
	done := make(chan *answer, 1)
	go func() { done <- w.send(r.WithContext(ctx)) }()
	<-n.claims
	leave()
	if got := <-done; got.Code != http.StatusOK && got.Code != 499 { // where it was looking at that moment
		t.Errorf("it is answered %d %s", got.Code, got.Body)
	}
}

// The life of a retry, and what a token is worth: it is its worker's, it is nowhere
// to be read, and once it is lost it is good for nothing.
func TestRetries(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.report(dol, "CO-1")
	e := w.claim(dol)[0]
	at := "/v1/retries/" + e.ID.String()
	mine := recoup.RetryResult{LeaseToken: e.LeaseToken, LeaseSeconds: 60}
	for _, path := range []string{"/v1/errors", "/v1/errors/" + e.ID.String(), "/v1/errors/" + e.ID.String() + "/history", "/v1/errors/" + e.ID.String() + "/explain", "/v1/promotion/CO-1"} {
		w.get(path).ok() // which looks for tokens
	}

	w.post(at+"/succeed", object{}).invalid("lease_token", "required")
	w.post(at+"/succeed", recoup.RetryResult{LeaseToken: e.ID}).failed(http.StatusConflict, fault.CodeLeaseLost)
	var extended recoup.ActResult
	w.post(at+"/extend", mine).ok(&extended)
	if extended.Error.LeaseToken != e.LeaseToken || !extended.Error.LeaseEndsAt.Equal(w.clock().Add(time.Minute)) {
		t.Errorf("extended to %+v", extended.Error.Lease)
	}
	w.post(at+"/fail", mine).invalid("code", "pattern")
	mine.Code = "NETWORK_TIMEOUT"
	var failed recoup.ActResult
	w.post(at+"/fail", mine).ok(&failed)
	if failed.Error.RetryCount != 1 || failed.Error.State != recoup.RetryPending {
		t.Errorf("failed to %+v", failed.Error)
	}

	next := w.claim(dol)[0]
	w.post("/v1/errors/"+e.ID.String()+"/park", recoup.Act{Reason: "a person looks at it"}).ok()
	lost := w.post(at+"/succeed", recoup.RetryResult{LeaseToken: next.LeaseToken}).failed(http.StatusConflict, fault.CodeLeaseLost)
	if lost.Details["state"] != string(recoup.Parked) {
		t.Errorf("details are %v", lost.Details)
	}
	var history recoup.ErrorHistory
	w.get("/v1/errors/" + e.ID.String() + "/history").ok(&history)
	var inputs []string
	for _, row := range history.Transitions {
		inputs = append(inputs, row.Input)
	}
	if !slices.Equal(inputs, []string{"report", "fail", "park", "succeed"}) || history.Transitions[1].Worker != "w" || history.Transitions[2].Actor != "admin" {
		t.Errorf("the history is %v: %+v", inputs, history)
	}
}

// Many results are answered each for itself.
func TestResults(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.report(dol, "CO-1")
	w.report(dol, "CO-2")
	claimed := w.claim(dol)
	var out recoup.ActResultBatch
	w.post("/v1/retries/results", recoup.RetryResultBatch{Results: []recoup.RetryResult{
		{ErrorID: claimed[0].ID, LeaseToken: claimed[0].LeaseToken, Outcome: "succeed"},
		{ErrorID: claimed[1].ID, LeaseToken: claimed[0].ID, Outcome: "succeed"},
		{ErrorID: claimed[1].ID, LeaseToken: claimed[1].LeaseToken, Outcome: "explode"},
		{ErrorID: claimed[1].ID, LeaseToken: claimed[1].LeaseToken, Outcome: "fail", Code: "TIMEOUT"},
	}}).ok(&out)
	codes := []recoup.Code{"", fault.CodeLeaseLost, fault.CodeValidationError, ""}
	for i, want := range codes {
		var e fault.Error
		if out.Items[i].Failure != nil {
			decodeInto(t, out.Items[i].Failure, &e)
		}
		if e.Code != want || (want == "") != (out.Items[i].Result != nil) {
			t.Errorf("item %d is %s, want %q", i, out.Items[i].Failure, want)
		}
	}
	if out.Items[0].Result.Error.State != recoup.Resolved {
		t.Errorf("the first is %s", out.Items[0].Result.Error.State)
	}
}

// Whoever prefers a minimal answer learns which results were taken, and of none what
// became of its error.
func TestResultsInBrief(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 4 {
		w.report(dol, fmt.Sprint("CO-", i))
	}
	claimed := w.claim(dol)
	for _, pair := range [][]recoup.Error{claimed[:2], claimed[2:]} { // which is decided as the first was
		answer := w.post("/v1/retries/results", recoup.RetryResultBatch{Results: []recoup.RetryResult{
			{ErrorID: pair[0].ID, LeaseToken: pair[0].LeaseToken, Outcome: "succeed"},
			{ErrorID: pair[1].ID, LeaseToken: pair[1].ID, Outcome: "succeed"},
			{ErrorID: pair[1].ID, LeaseToken: pair[1].LeaseToken, Outcome: "succeed"},
		}}, "Prefer", "return=minimal")
		var out recoup.ActResultBatch
		answer.ok(&out)
		if answer.Header().Get("Preference-Applied") != "return=minimal" || strings.Contains(answer.Body.String(), `"error":`) {
			t.Errorf("%v %s", answer.Header(), answer.Body)
		}
		for i, done := range []bool{true, false, true} {
			if got := out.Items[i]; (got.Result != nil) != done || (got.Failure == nil) != done {
				t.Errorf("item %d is %+v", i, got)
			}
		}
		for _, e := range pair {
			var got recoup.Error
			if w.get("/v1/errors/" + e.ID.String()).ok(&got); got.State != recoup.Resolved {
				t.Errorf("it is %s", got.State)
			}
		}
	}
}
