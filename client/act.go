package client

import (
	"context"
	"net/http"

	"github.com/recoup-dev/recoup"
)

// Verb is an act of a person on errors, one or many.
type Verb string

// The verbs.
const (
	Park     Verb = "park"
	Unpark   Verb = "unpark"
	Resolve  Verb = "resolve"
	Escalate Verb = "escalate"
	Archive  Verb = "archive"
	Assign   Verb = "assign"
	Review   Verb = "review"
)

// Verbs lists every verb.
func Verbs() []Verb { return []Verb{Park, Unpark, Resolve, Escalate, Archive, Assign, Review} }

// Act applies a verb to one error. A verb that its state does not allow is refused
// with INVALID_TRANSITION, whose details name those that it does.
func (c *Client) Act(ctx context.Context, verb Verb, id recoup.ID, a Act, options ...CallOption) (Acted, error) {
	path := "/v1/errors/" + id.String() + "/" + string(verb)
	return call[Acted](ctx, c, request{method: http.MethodPost, path: path, body: a, safety: keyed}, options)
}

// Park takes an error out of automatic retry until a person acts on it.
func (c *Client) Park(ctx context.Context, id recoup.ID, a Act, options ...CallOption) (Acted, error) {
	return c.Act(ctx, Park, id, a, options...)
}

// Unpark returns a parked error to automatic retry.
func (c *Client) Unpark(ctx context.Context, id recoup.ID, a Act, options ...CallOption) (Acted, error) {
	return c.Act(ctx, Unpark, id, a, options...)
}

// Resolve marks an error as resolved by hand.
func (c *Client) Resolve(ctx context.Context, id recoup.ID, a Act, options ...CallOption) (Acted, error) {
	return c.Act(ctx, Resolve, id, a, options...)
}

// Escalate moves a parked error to the next escalation tier, or to a.Tier.
func (c *Client) Escalate(ctx context.Context, id recoup.ID, a Act, options ...CallOption) (Acted, error) {
	return c.Act(ctx, Escalate, id, a, options...)
}

// Archive moves an error to the archive before its time.
func (c *Client) Archive(ctx context.Context, id recoup.ID, a Act, options ...CallOption) (Acted, error) {
	return c.Act(ctx, Archive, id, a, options...)
}

// Assign gives a parked error to a.To.
func (c *Client) Assign(ctx context.Context, id recoup.ID, a Act, options ...CallOption) (Acted, error) {
	return c.Act(ctx, Assign, id, a, options...)
}

// Review records that a person has looked at a parked error.
func (c *Client) Review(ctx context.Context, id recoup.ID, a Act, options ...CallOption) (Acted, error) {
	return c.Act(ctx, Review, id, a, options...)
}

// Bulk applies a verb to all errors that a filter selects, or to named errors. A
// filter is previewed first; the Token of the preview stands for the set that it
// has shown, and is sent with the act itself.
//
// The call is not retried where it may have taken effect, because a second
// escalation would be one more: after such a failure, check before acting again.
func (c *Client) Bulk(ctx context.Context, verb Verb, b Bulk, options ...CallOption) (recoup.BulkResult, error) {
	r := request{method: http.MethodPost, path: "/v1/errors/" + string(verb), body: b, safety: once}
	if b.Preview {
		r.safety = harmless
	}
	return call[recoup.BulkResult](ctx, c, r, options)
}
