package client

import (
	"context"
	"net/http"
)

// Policy returns the policy in force.
func (c *Client) Policy(ctx context.Context, options ...CallOption) (Policy, error) {
	return get[Policy](ctx, c, "/v1/policy", nil, options)
}

// PolicyVersions lists the policies that were in force, newest first, without
// their texts.
func (c *Client) PolicyVersions(ctx context.Context, p Page, options ...CallOption) (PolicyVersionPage, error) {
	return get[PolicyVersionPage](ctx, c, "/v1/policy/versions", p.query(query{}), options)
}

// PlanPolicy says what a policy file would change of the open errors, and
// changes nothing. A bad file is refused with all that is wrong with it.
func (c *Client) PlanPolicy(ctx context.Context, text string, options ...CallOption) (PolicyPlan, error) {
	return call[PolicyPlan](ctx, c, request{method: http.MethodPost, path: "/v1/policy/plan", body: PolicyFile{Text: text}}, options)
}

// ApplyPolicy puts a policy in force. A policy that is in force already is not
// added again, so the call may be repeated.
func (c *Client) ApplyPolicy(ctx context.Context, p PolicyChange, options ...CallOption) (PolicyApplied, error) {
	return call[PolicyApplied](ctx, c, request{method: http.MethodPut, path: "/v1/policy", body: p}, options)
}
