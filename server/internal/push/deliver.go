package push

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/internal/redact"
	"github.com/recoup-dev/recoup/internal/signature"
	"github.com/recoup-dev/recoup/retry"
	"github.com/recoup-dev/recoup/server/internal/notify"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// The outcomes of deliveries.
const (
	outcomeTaken  = "taken"  // the receiver sends the result later
	outcomeLost   = "lost"   // it was answered, and the lease was gone by then
	outcomeFailed = "failed" // it came to nothing: the work went back
)

// maxAnswer is how long an answer may be: as long as a result that the API takes.
const maxAnswer = 1 << 20

// trouble is why a delivery failed. Its text contains neither the address nor the
// secret, and nothing of the response.
type trouble struct {
	reason        string
	after         time.Duration // how long the receiver wants to be left alone
	misconfigured bool          // time alone will not mend it
}

func (t *trouble) Error() string { return t.reason }

// Unusable says why an answer is no result: which fields break which rule, in our own
// words. Result is an empty result, whose fields it may name.
func Unusable(err error, result any) error {
	why := "it is not in the form of a result"
	if f, ok := errors.AsType[*fault.Error](err); ok {
		why = f.Message
		if fields := f.Fields(); len(fields) > 0 {
			why = complaint(fields, result)
		}
	}
	why, _ = redact.Default().String("answered with what is no result: " + why)
	return &trouble{reason: cut(why, maxReason)}
}

// Lost reports whether a result was refused because of what has happened to the work
// meanwhile, and not because of what it says.
func Lost(err error) bool {
	var code recoup.Code
	if f, ok := errors.AsType[*fault.Error](err); ok {
		code = f.Code
	}
	if refusal, ok := errors.AsType[interface {
		error
		Fault() *fault.Error
	}](err); ok {
		code = refusal.Fault().Code
	}
	switch code {
	case fault.CodeLeaseLost, fault.CodeBatchKilled, fault.CodeInvalidTransition, fault.CodeConflict:
		return true
	}
	return errors.Is(err, sqldb.ErrNotFound)
}

// deliver sends one delivery and records the result in the answer. If the delivery fails,
// the delivery is given back.
func (r *receiver) deliver(ctx context.Context, p Delivery, era int) {
	a, err := r.send(ctx, p)
	ctx, cancel := context.WithTimeout(ctx, margin)
	defer cancel()
	outcome := outcomeTaken
	if err == nil && a.Status != http.StatusAccepted {
		outcome, err = p.Record(ctx, a)
	}
	t, theirs := errors.AsType[*trouble](err)
	switch {
	case err == nil:
		r.note(p, outcome, era)
	case theirs:
		if t != errCut {
			r.fail(p, t, era)
		}
		r.sendBack(ctx, p, t == errCut)
	case Lost(err):
		r.note(p, outcomeLost, era)
	default: // the store has failed: the lease runs out, and it is delivered again
		r.note(p, outcomeLost, era)
		r.log.Warn("receiver's answer could not be stored; it will be asked again", "receiver", r.status.Name, "cause", err)
	}
}

// sendBack gives a delivery back through no fault of its own: at once, or, where it would
// be claimed again before all others, later. What the store does not take now is given
// back in a later pass.
func (r *receiver) sendBack(ctx context.Context, p Delivery, atOnce bool) {
	if until, yes := p.Aside(); yes && !atOnce {
		r.putAside(p, until)
		return
	}
	if err := p.GiveBack(ctx); err != nil && !Lost(err) {
		r.putAside(p, r.now())
	}
}

// errCut is the trouble of a delivery that the node has broken off.
var errCut = &trouble{reason: "broken off"}

// send makes a delivery and returns the answer if it is one of those that a receiver
// may give.
func (r *receiver) send(ctx context.Context, p Delivery) (*Answer, error) {
	now := r.now()
	ctx, cancel := context.WithTimeout(ctx, min(r.timeout, max(soonest, p.Until().Sub(now)-RecordTime)))
	defer cancel()
	go func() {
		select {
		case <-r.cut:
			cancel()
		case <-ctx.Done():
		}
	}()
	body, err := json.Marshal(p.Message())
	if err != nil {
		return nil, &trouble{reason: "the delivery cannot be written"}
	}
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url, bytes.NewReader(body))
	if err != nil {
		return nil, &trouble{reason: "its address cannot be used", misconfigured: true}
	}
	q.Header.Set("Content-Type", "application/json")
	q.Header.Set("User-Agent", "recoup")
	q.Header.Set(notify.IDHeader, p.Key())
	q.Header.Set(signature.Header, signature.Sign(r.secret, now.Unix(), body))
	w, err := r.client.Do(q)
	if err != nil {
		return nil, r.unanswered(err)
	}
	defer func() { _ = w.Body.Close() }()
	if w.StatusCode < http.StatusOK { // it has switched protocols: what follows is no body, and has no end
		return nil, turnedAway(w, r.now())
	}
	defer context.AfterFunc(ctx, func() { _ = w.Body.Close() })()
	said, err := io.ReadAll(io.LimitReader(w.Body, maxAnswer+1))
	switch {
	case w.StatusCode != http.StatusOK && w.StatusCode != http.StatusAccepted && w.StatusCode != http.StatusNoContent:
		return nil, turnedAway(w, r.now())
	case err != nil:
		return nil, r.unanswered(err)
	case len(said) > maxAnswer:
		return nil, &trouble{reason: fmt.Sprintf("answered with more than %d bytes", maxAnswer)}
	}
	return &Answer{w.StatusCode, said}, nil
}

// unanswered says why there was no answer, or not the whole of it.
func (r *receiver) unanswered(err error) error {
	select {
	case <-r.cut:
		return errCut
	default:
		return &trouble{reason: notify.Unreachable(err).Reason}
	}
}

// turnedAway says what a status that is no answer means.
func turnedAway(w *http.Response, now time.Time) *trouble {
	t := &trouble{reason: fmt.Sprintf("answered with status %d", w.StatusCode)}
	if after, ok := retry.ParseRetryAfter(w.Header.Get("Retry-After"), now); ok {
		t.after = after
	}
	switch code := w.StatusCode; {
	case code >= 300 && code < 400:
		t.reason += ", and redirects are not followed"
		t.misconfigured = true
	case code == http.StatusUnauthorized, code == http.StatusForbidden, code == http.StatusNotFound, code == http.StatusGone:
		t.misconfigured = true
	}
	return t
}
