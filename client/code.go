package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
)

// Codes returns the server's registry, sorted by code.
func (c *Client) Codes(ctx context.Context, options ...CallOption) ([]fault.Definition, error) {
	answer, err := get[Codes](ctx, c, "/v1/codes", nil, options)
	return answer.Codes, err
}

// Code returns what is registered about a code or an alias.
func (c *Client) Code(ctx context.Context, code recoup.Code, options ...CallOption) (fault.Definition, error) {
	return get[fault.Definition](ctx, c, "/v1/codes/"+url.PathEscape(string(code)), nil, options)
}

// PutCode registers a code, or changes one that a program has registered. The
// codes that Recoup ships cannot be changed.
func (c *Client) PutCode(ctx context.Context, def fault.Definition, options ...CallOption) (fault.Definition, error) {
	r := request{method: http.MethodPut, path: "/v1/codes/" + url.PathEscape(string(def.Code)), body: def}
	return call[fault.Definition](ctx, c, r, options)
}

// Classify asks the server what a failure means. Go programs can call
// fault.Classify instead, which needs no server.
func (c *Client) Classify(ctx context.Context, f RawFailure, options ...CallOption) (Classified, error) {
	return call[Classified](ctx, c, request{method: http.MethodPost, path: "/v1/classify", body: f}, options)
}
