// Package admin makes the calls of administrators, which only the CLI and the console make. They
// are no part of the public client: other programs use the HTTP API for them.
package admin

import (
	"context"
	"net/http"
	"net/url"

	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/internal/query"
)

// Calls are the calls of administrators, by what they are about.
type Calls struct {
	AdoptedTables AdoptedTables
	Alerts        Alerts
	Audit         Audit
	Jobs          Jobs
	Keys          Keys
	Notifications Notifications
	PayloadKeys   PayloadKeys
	Policy        Policy
	Providers     Providers
	System        System
	TenantKeys    TenantKeys
	Views         Views
}

// New returns the calls of administrators over a client.
func New(c *client.Client) Calls {
	return Calls{
		AdoptedTables: AdoptedTables{c}, Alerts: Alerts{c}, Audit: Audit{c}, Jobs: Jobs{c}, Keys: Keys{c},
		Notifications: Notifications{c}, PayloadKeys: PayloadKeys{c}, Policy: Policy{c}, Providers: Providers{c},
		System: System{c}, TenantKeys: TenantKeys{c}, Views: Views{c},
	}
}

// Call makes a request and returns its answer.
func Call[T any](ctx context.Context, c *client.Client, r client.Request, options []client.CallOption) (T, error) {
	var answer T
	if err := c.Do(ctx, r, &answer, options...); err != nil {
		return *new(T), err
	}
	return answer, nil
}

// Get reads something.
func Get[T any](ctx context.Context, c *client.Client, path string, parameters url.Values, options []client.CallOption) (T, error) {
	return Call[T](ctx, c, client.Request{Method: http.MethodGet, Path: path, Query: parameters}, options)
}

func pageQuery(p client.Page, v query.Values) url.Values { return v.Page(p.Cursor, p.Limit).URL() }
