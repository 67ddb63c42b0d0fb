package client

import (
	"context"
	"iter"
	"net/http"
	"strconv"

	"github.com/recoup-dev/recoup"
)

// RecordDeadLetter records work that failed for good. For claimed work use
// [Client.WorkResults], which does the same for many results at once.
func (c *Client) RecordDeadLetter(ctx context.Context, f recoup.StageFailure, options ...CallOption) (recoup.DeadLetter, error) {
	return call[recoup.DeadLetter](ctx, c, request{method: http.MethodPost, path: "/v1/dead-letters", body: f, safety: keyed}, options)
}

// DeadLetters lists dead letters, newest first.
func (c *Client) DeadLetters(ctx context.Context, f recoup.DeadLetterFilter, p Page, options ...CallOption) (DeadLetterPage, error) {
	return get[DeadLetterPage](ctx, c, "/v1/dead-letters", p.query(letterQuery(f)), options)
}

// AllDeadLetters walks all dead letters that the filter selects, newest first.
func (c *Client) AllDeadLetters(ctx context.Context, f recoup.DeadLetterFilter) iter.Seq2[recoup.DeadLetter, error] {
	return all(ctx, func(ctx context.Context, p Page) ([]recoup.DeadLetter, string, error) {
		page, err := c.DeadLetters(ctx, f, p)
		return page.DeadLetters, page.Next, err
	})
}

// DeadLetter returns a dead letter with its rounds, notes and replays.
func (c *Client) DeadLetter(ctx context.Context, id recoup.ID, options ...CallOption) (recoup.DeadLetterDetails, error) {
	return get[recoup.DeadLetterDetails](ctx, c, "/v1/dead-letters/"+id.String(), nil, options)
}

// Triage records the root cause, and confirms the class, the stage and whether the
// retries were exhausted. It is the first act of the workflow: triage, remediate,
// validate, replay, verify. An act out of order is refused with INVALID_TRANSITION,
// whose details name the missing_step.
func (c *Client) Triage(ctx context.Context, id recoup.ID, t recoup.Triage, options ...CallOption) (recoup.DeadLetter, error) {
	return c.letterStep(ctx, id, "triage", t, options)
}

// Remediate records what was done about the cause.
func (c *Client) Remediate(ctx context.Context, id recoup.ID, r recoup.Remediation, options ...CallOption) (recoup.DeadLetter, error) {
	return c.letterStep(ctx, id, "remediate", r, options)
}

// Validate confirms that a replay is safe.
func (c *Client) Validate(ctx context.Context, id recoup.ID, v recoup.Validation, options ...CallOption) (recoup.DeadLetter, error) {
	return c.letterStep(ctx, id, "validate", v, options)
}

// Verify records whether the result of the replay has arrived; if so, it closes the
// dead letter.
func (c *Client) Verify(ctx context.Context, id recoup.ID, v recoup.Verification, options ...CallOption) (recoup.DeadLetter, error) {
	return c.letterStep(ctx, id, "verify", v, options)
}

func (c *Client) letterStep(ctx context.Context, id recoup.ID, verb string, body any, options []CallOption) (recoup.DeadLetter, error) {
	return call[recoup.DeadLetter](ctx, c, request{method: http.MethodPost, path: "/v1/dead-letters/" + id.String() + "/" + verb, body: body, safety: keyed}, options)
}

// ReplayOne sends one dead letter back to work. A second replay of it is refused
// while the first is under way.
func (c *Client) ReplayOne(ctx context.Context, id recoup.ID, r SingleReplay, options ...CallOption) (recoup.Replay, error) {
	return call[recoup.Replay](ctx, c, request{method: http.MethodPost, path: "/v1/dead-letters/" + id.String() + "/replay", body: r, safety: once}, options)
}

// ReadPayload returns the payload of a dead letter, if the server keeps it. Every
// read is audited.
func (c *Client) ReadPayload(ctx context.Context, id recoup.ID, reason string, options ...CallOption) ([]byte, error) {
	r := request{method: http.MethodPost, path: "/v1/dead-letters/" + id.String() + "/payload", body: PayloadLook{reason}}
	answer, err := call[Payload](ctx, c, r, options)
	return answer.Payload, err
}

// DeadLetterGroups lists groups, the last seen first.
func (c *Client) DeadLetterGroups(ctx context.Context, f DeadLetterGroupFilter, p Page, options ...CallOption) (DeadLetterGroupPage, error) {
	return get[DeadLetterGroupPage](ctx, c, "/v1/dead-letter-groups", p.query(query{}.text("pipeline", f.Pipeline).flag("days", f.Days)), options)
}

// DeadLetterGroup returns a group with its trend and its notes.
func (c *Client) DeadLetterGroup(ctx context.Context, id recoup.ID, options ...CallOption) (recoup.DeadLetterGroupDetails, error) {
	return get[recoup.DeadLetterGroupDetails](ctx, c, "/v1/dead-letter-groups/"+id.String(), nil, options)
}

// NoteGroup sets the owner and the note of a group.
func (c *Client) NoteGroup(ctx context.Context, id recoup.ID, n GroupNote, options ...CallOption) (recoup.DeadLetterGroup, error) {
	return call[recoup.DeadLetterGroup](ctx, c, request{method: http.MethodPost, path: "/v1/dead-letter-groups/" + id.String() + "/note", body: n, safety: once}, options)
}

// TriageGroup is [Client.Triage] for all open dead letters of a group. A preview
// shows what would happen; send its Token with the act.
func (c *Client) TriageGroup(ctx context.Context, id recoup.ID, t GroupTriage, options ...CallOption) (recoup.BulkResult, error) {
	return c.groupStep(ctx, id, "triage", t, t.Preview, options)
}

// RemediateGroup is [Client.Remediate] for a group.
func (c *Client) RemediateGroup(ctx context.Context, id recoup.ID, r GroupRemediation, options ...CallOption) (recoup.BulkResult, error) {
	return c.groupStep(ctx, id, "remediate", r, r.Preview, options)
}

// ValidateGroup is [Client.Validate] for a group.
func (c *Client) ValidateGroup(ctx context.Context, id recoup.ID, v GroupValidation, options ...CallOption) (recoup.BulkResult, error) {
	return c.groupStep(ctx, id, "validate", v, v.Preview, options)
}

// VerifyGroup is [Client.Verify] for a group.
func (c *Client) VerifyGroup(ctx context.Context, id recoup.ID, v GroupVerification, options ...CallOption) (recoup.BulkResult, error) {
	return c.groupStep(ctx, id, "verify", v, v.Preview, options)
}

func (c *Client) groupStep(ctx context.Context, id recoup.ID, verb string, body any, preview bool, options []CallOption) (recoup.BulkResult, error) {
	r := request{method: http.MethodPost, path: "/v1/dead-letter-groups/" + id.String() + "/" + verb, body: body, safety: once}
	if preview {
		r.safety = harmless
	}
	return call[recoup.BulkResult](ctx, c, r, options)
}

// PreviewReplay says which dead letters a replay would include, and why others are left
// out. Send its Token with the replay.
func (c *Client) PreviewReplay(ctx context.Context, s recoup.ReplaySelection, options ...CallOption) (recoup.ReplayPreview, error) {
	return call[recoup.ReplayPreview](ctx, c, request{method: http.MethodPost, path: "/v1/replays/preview", body: s}, options)
}

// Replay sends dead letters back to work, at a rate and in a ramp: named ones, or those
// that a preview has shown, by its Token. Its members are fixed by the time it runs.
func (c *Client) Replay(ctx context.Context, r recoup.NewReplay, options ...CallOption) (recoup.Replay, error) {
	return call[recoup.Replay](ctx, c, request{method: http.MethodPost, path: "/v1/replays", body: r, safety: once}, options)
}

// Replays lists replays, in one state or in all, newest first.
func (c *Client) Replays(ctx context.Context, state string, p Page, options ...CallOption) (ReplayPage, error) {
	return get[ReplayPage](ctx, c, "/v1/replays", p.query(query{}.text("state", state)), options)
}

// ReplayStatus returns a replay, how far it has come, and its notes.
func (c *Client) ReplayStatus(ctx context.Context, id recoup.ID, options ...CallOption) (recoup.ReplayDetails, error) {
	return get[recoup.ReplayDetails](ctx, c, "/v1/replays/"+id.String(), nil, options)
}

// ReplayItems lists the members of a replay, in one state or in all, from a
// position on.
func (c *Client) ReplayItems(ctx context.Context, id recoup.ID, state string, from, limit int, options ...CallOption) (ReplayItems, error) {
	q := query{}.text("state", state).number("limit", limit)
	if from > 0 {
		q = q.text("from", strconv.Itoa(from))
	}
	return get[ReplayItems](ctx, c, "/v1/replays/"+id.String()+"/items", q.values(), options)
}

// PauseReplay stops a replay from releasing more; what workers have claimed goes on.
func (c *Client) PauseReplay(ctx context.Context, id recoup.ID, reason string, options ...CallOption) (recoup.Replay, error) {
	return c.replayAct(ctx, id, "pause", reason, options)
}

// ResumeReplay resumes a paused replay: where it stood, or, if it has stopped itself,
// with the ramp from the beginning.
func (c *Client) ResumeReplay(ctx context.Context, id recoup.ID, reason string, options ...CallOption) (recoup.Replay, error) {
	return c.replayAct(ctx, id, "resume", reason, options)
}

// CancelReplay ends a replay. Members that no worker has claimed are as they were
// before it.
func (c *Client) CancelReplay(ctx context.Context, id recoup.ID, reason string, options ...CallOption) (recoup.Replay, error) {
	return c.replayAct(ctx, id, "cancel", reason, options)
}

func (c *Client) replayAct(ctx context.Context, id recoup.ID, verb, reason string, options []CallOption) (recoup.Replay, error) {
	return call[recoup.Replay](ctx, c, request{method: http.MethodPost, path: "/v1/replays/" + id.String() + "/" + verb, body: ReplayAct{reason}}, options)
}
