package admin

import (
	"context"
	"net/http"
	"net/url"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// Providers switches groups of providers.
type Providers struct{ c *client.Client }

// Switch switches a group of providers to another of its members by hand. It
// stays there until the next switch, by a person or by an alert that fires later.
func (s Providers) Switch(ctx context.Context, group string, to wire.ProviderSwitch, options ...client.CallOption) (recoup.Provider, error) {
	path := "/v1/providers/" + url.PathEscape(group) + "/switch"
	return Call[recoup.Provider](ctx, s.c, client.Request{Method: http.MethodPost, Path: path, Body: to, Safety: client.Idempotent}, options)
}
