package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
)

// List returns the server's registry, sorted by code.
func (s CodeService) List(ctx context.Context, options ...CallOption) ([]fault.Definition, error) {
	answer, err := get[struct{ Codes []fault.Definition }](ctx, s.c, "/v1/codes", nil, options)
	return answer.Codes, err
}

// Get returns what is registered about a code or an alias.
func (s CodeService) Get(ctx context.Context, code recoup.Code, options ...CallOption) (fault.Definition, error) {
	return get[fault.Definition](ctx, s.c, "/v1/codes/"+url.PathEscape(string(code)), nil, options)
}

// Put registers a code, or changes one that a program has registered. The
// codes that Recoup ships cannot be changed.
func (s CodeService) Put(ctx context.Context, def fault.Definition, options ...CallOption) (fault.Definition, error) {
	r := Request{Method: http.MethodPut, Path: "/v1/codes/" + url.PathEscape(string(def.Code)), Body: def}
	return call[fault.Definition](ctx, s.c, r, options)
}

// Classify asks the server what a failure means. Go programs can call
// fault.Classify instead, which needs no server.
func (c *Client) Classify(ctx context.Context, f fault.RawFailure, options ...CallOption) (fault.Classified, error) {
	return call[fault.Classified](ctx, c, Request{Method: http.MethodPost, Path: "/v1/classify", Body: f, Safety: Idempotent}, options)
}
