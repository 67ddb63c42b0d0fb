package client

import (
	"context"
	"net/http"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/internal/query"
)

// DeadLetterGroupFilter is which groups are listed, and with what.
type DeadLetterGroupFilter struct {
	Pipeline string // of one pipeline; none: of all
	Days     bool   // with what they gained on each day of the last month
}

// List lists groups, the last seen first.
func (s DeadLetterGroupService) List(ctx context.Context, f DeadLetterGroupFilter, p Page, options ...CallOption) (recoup.DeadLetterGroupPage, error) {
	return get[recoup.DeadLetterGroupPage](ctx, s.c, "/v1/dead-letter-groups", pageQuery(p, query.Values{}.Text("pipeline", f.Pipeline).Flag("days", f.Days)), options)
}

// Get returns a group with its trend and its notes.
func (s DeadLetterGroupService) Get(ctx context.Context, id recoup.ID, options ...CallOption) (recoup.DeadLetterGroupDetails, error) {
	return get[recoup.DeadLetterGroupDetails](ctx, s.c, "/v1/dead-letter-groups/"+id.String(), nil, options)
}

// Note sets the owner and the note of a group.
func (s DeadLetterGroupService) Note(ctx context.Context, id recoup.ID, n recoup.GroupNote, options ...CallOption) (recoup.DeadLetterGroup, error) {
	return call[recoup.DeadLetterGroup](ctx, s.c, Request{Method: http.MethodPost, Path: "/v1/dead-letter-groups/" + id.String() + "/note", Body: n, Safety: NotIdempotent}, options)
}

// Triage is [DeadLetterService.Triage] for all open dead letters of a group. A preview
// shows what would happen; send its Token with the act.
func (s DeadLetterGroupService) Triage(ctx context.Context, id recoup.ID, t recoup.GroupTriage, options ...CallOption) (recoup.BulkResult, error) {
	return s.step(ctx, id, "triage", t, t.Preview, options)
}

// Remediate is [DeadLetterService.Remediate] for a group.
func (s DeadLetterGroupService) Remediate(ctx context.Context, id recoup.ID, r recoup.GroupRemediation, options ...CallOption) (recoup.BulkResult, error) {
	return s.step(ctx, id, "remediate", r, r.Preview, options)
}

// Validate is [DeadLetterService.Validate] for a group.
func (s DeadLetterGroupService) Validate(ctx context.Context, id recoup.ID, v recoup.GroupValidation, options ...CallOption) (recoup.BulkResult, error) {
	return s.step(ctx, id, "validate", v, v.Preview, options)
}

// Verify is [DeadLetterService.Verify] for a group.
func (s DeadLetterGroupService) Verify(ctx context.Context, id recoup.ID, v recoup.GroupVerification, options ...CallOption) (recoup.BulkResult, error) {
	return s.step(ctx, id, "verify", v, v.Preview, options)
}

func (s DeadLetterGroupService) step(ctx context.Context, id recoup.ID, verb string, body any, preview bool, options []CallOption) (recoup.BulkResult, error) {
	r := Request{Method: http.MethodPost, Path: "/v1/dead-letter-groups/" + id.String() + "/" + verb, Body: body, Safety: NotIdempotent}
	if preview {
		r.Safety = Idempotent
	}
	return call[recoup.BulkResult](ctx, s.c, r, options)
}
