package client

import (
	"context"
	"net/http"

	"github.com/recoup-dev/recoup"
)

// Import records failures of earlier times, judged by the policy as of then. It
// may be sent again: rows that were imported before are recognised, by their key or else
// by their content. Refused rows are named by their lines; the others are recorded.
func (s ErrorService) Import(ctx context.Context, lines recoup.ErrorLines, options ...CallOption) (recoup.ErrorsImported, error) {
	return call[recoup.ErrorsImported](ctx, s.c, Request{Method: http.MethodPost, Path: "/v1/errors/import", Body: lines, Safety: Idempotent}, options)
}
