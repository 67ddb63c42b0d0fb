package client

import (
	"context"
	"net/http"

	"github.com/recoup-dev/recoup"
)

// Adoptions are the tables that are governed where they are.
type Adoptions struct {
	Adoptions []recoup.Adoption `json:"adoptions" doc:"the tables, in the order in which they were adopted; none on the embedded store"`
}

// Adoptions lists the adopted tables, and how far nodes are with them.
func (c *Client) Adoptions(ctx context.Context, options ...CallOption) (Adoptions, error) {
	return get[Adoptions](ctx, c, "/v1/adoptions", nil, options)
}

// SourceLook asks for what is encrypted of the row of an error. The reason is audited.
type SourceLook struct {
	Reason string `json:"reason" maxLength:"1000" doc:"why it is read; the audit keeps it"`
}

// ErrorSource returns what an error keeps of its row of an adopted table.
func (c *Client) ErrorSource(ctx context.Context, id recoup.ID, options ...CallOption) (recoup.ErrorSource, error) {
	return get[recoup.ErrorSource](ctx, c, "/v1/errors/"+id.String()+"/source", nil, options)
}

// DecryptSource returns what of that is encrypted. It needs an administrator's key, and
// the read is audited.
func (c *Client) DecryptSource(ctx context.Context, id recoup.ID, reason string, options ...CallOption) (recoup.DecryptedSource, error) {
	r := request{method: http.MethodPost, path: "/v1/errors/" + id.String() + "/source/decrypt", body: SourceLook{reason}}
	return call[recoup.DecryptedSource](ctx, c, r, options)
}
