package stage

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/internal/redact"
	"github.com/recoup-dev/recoup/retry"
)

// maxStack is how much of a stack is kept: its beginning, which is where it broke.
const maxStack = 16 << 10

// failures is what a stage has met so far.
type failures struct {
	first, last time.Time
	err         error
	verdict     fault.Verdict
}

func (f *failures) add(now time.Time, err error, verdict fault.Verdict) {
	if f.first.IsZero() {
		f.first = now
	}
	f.last, f.err, f.verdict = now, err, verdict
}

// failed returns the failure with everything that an operator needs.
func (r *run) failed(s *Stage, gaveUp *retry.Error, f *failures) *recoup.StageFailure {
	d := &recoup.StageFailure{
		WorkID: r.work.ID, EntityID: r.work.EntityID, Pipeline: r.pipeline.Name, Stage: s.Name, Class: f.verdict.Code, Final: true,
		Exhausted: gaveUp.Verdict != retry.NotRetryable, LastStack: stack(f.err), FirstFailureAt: f.first, LastFailureAt: f.last,
		PayloadRef: r.work.PayloadRef, PayloadHash: PayloadHash(r.work.Payload), Err: f.err,
	}
	attempts, requests := map[string]any{}, map[string]any{}
	for name, n := range r.result.Attempts {
		attempts[name] = n
	}
	for name, id := range r.work.RequestIDs {
		requests[name] = id
	}
	facts := map[string]any{
		"stage": s.Name, "attempts": attempts, "exhausted": d.Exhausted, "idempotency_key": r.work.key(s.Name),
	}
	if d.PayloadHash != "" {
		facts["payload_hash"] = d.PayloadHash
	}
	if len(requests) > 0 {
		facts["request_ids"] = requests
	}
	maps.Copy(facts, contextOf(f.err))
	d.Context, _ = redact.Context(facts)
	return d
}

// WithContext adds facts to a failure for the dead letter that it may become:
// upstream, upstream_status, request_id, prompt_hash and the like. Keys that are
// not allowed are left out, so that no prompt and no body gets in.
func WithContext(err error, facts map[string]any) error {
	if err == nil {
		return nil
	}
	return &annotated{err, facts}
}

type annotated struct {
	error
	facts map[string]any
}

func (a *annotated) Unwrap() error { return a.error }

// contextOf collects the facts of a chain; the last one added wins.
func contextOf(err error) map[string]any {
	facts := map[string]any{}
	for ; err != nil; err = errors.Unwrap(err) {
		if a, ok := err.(*annotated); ok { //nolint:errorlint // every link of the chain is looked at
			for key, value := range a.facts {
				if _, known := facts[key]; !known {
					facts[key] = value
				}
			}
		}
	}
	return facts
}

// stack is the chain of an error, and the stack of a panic, without secrets.
func stack(err error) string {
	var b strings.Builder
	for depth := 0; err != nil && depth < 20; depth++ {
		if _, ok := err.(*annotated); ok { //nolint:errorlint // this very link of the chain
			err = errors.Unwrap(err)
			continue
		}
		if b.Len() > 0 {
			b.WriteString("\ncaused by: ")
		}
		fmt.Fprintf(&b, "%T: %v", err, err)
		if p, ok := err.(*panicked); ok { //nolint:errorlint // this very link of the chain
			b.WriteString("\n" + p.stack)
		}
		err = errors.Unwrap(err)
	}
	clean, _ := redact.Default().String(b.String())
	if len(clean) > maxStack {
		clean = strings.ToValidUTF8(clean[:maxStack], "") + "\n…"
	}
	return clean
}
