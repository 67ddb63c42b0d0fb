package admin

import (
	"context"
	"net/http"

	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/internal/query"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// Policy reads, plans and applies policies.
type Policy struct{ c *client.Client }

// Current returns the policy in force.
func (s Policy) Current(ctx context.Context, options ...client.CallOption) (wire.Policy, error) {
	return Get[wire.Policy](ctx, s.c, "/v1/policy", nil, options)
}

// Versions lists the policies that were in force, newest first, without
// their texts.
func (s Policy) Versions(ctx context.Context, p client.Page, options ...client.CallOption) (wire.PolicyVersionPage, error) {
	return Get[wire.PolicyVersionPage](ctx, s.c, "/v1/policy/versions", pageQuery(p, query.Values{}), options)
}

// Plan says what a policy file would change of the open errors, and
// changes nothing. A bad file is refused with all that is wrong with it.
func (s Policy) Plan(ctx context.Context, text string, options ...client.CallOption) (wire.PolicyPlan, error) {
	return Call[wire.PolicyPlan](ctx, s.c, client.Request{Method: http.MethodPost, Path: "/v1/policy/plan", Body: wire.PolicyFile{Text: text}, Safety: client.Idempotent}, options)
}

// Apply puts a policy in force. A policy that is in force already is not
// added again, so the call may be repeated.
func (s Policy) Apply(ctx context.Context, p wire.PolicyChange, options ...client.CallOption) (wire.PolicyApplied, error) {
	return Call[wire.PolicyApplied](ctx, s.c, client.Request{Method: http.MethodPut, Path: "/v1/policy", Body: p}, options)
}
