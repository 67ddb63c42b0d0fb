package admin

import (
	"context"
	"iter"
	"net/http"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/internal/query"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// Alerts reads alerts, and silences them.
type Alerts struct{ c *client.Client }

// List lists alerts, newest first.
func (s Alerts) List(ctx context.Context, f wire.AlertFilter, p client.Page, options ...client.CallOption) (wire.AlertPage, error) {
	q := query.Values{}.Text("state", string(f.State)).Flag("open", f.Open).Text("rule", f.Rule).Text("scope", f.Scope)
	return Get[wire.AlertPage](ctx, s.c, "/v1/alerts", pageQuery(p, q), options)
}

// All walks alerts, newest first, page by page. It ends with the first
// failure.
func (s Alerts) All(ctx context.Context, f wire.AlertFilter) iter.Seq2[wire.Alert, error] {
	return client.Walk(ctx, func(ctx context.Context, p client.Page) ([]wire.Alert, string, error) {
		page, err := s.List(ctx, f, p)
		return page.Alerts, page.Next, err
	})
}

// Get returns one alert.
func (s Alerts) Get(ctx context.Context, id recoup.ID, options ...client.CallOption) (wire.Alert, error) {
	return Get[wire.Alert](ctx, s.c, "/v1/alerts/"+id.String(), nil, options)
}

// Silences lists active silences, or, with past, all of them, newest first.
func (s Alerts) Silences(ctx context.Context, past bool, p client.Page, options ...client.CallOption) (wire.SilencePage, error) {
	return Get[wire.SilencePage](ctx, s.c, "/v1/silences", pageQuery(p, query.Values{}.Flag("past", past)), options)
}

// Silence keeps people from being notified of alerts. The call is not retried where
// it may have taken effect: two silences would have to be ended instead of one.
func (s Alerts) Silence(ctx context.Context, silence wire.NewSilence, options ...client.CallOption) (wire.Silence, error) {
	return Call[wire.Silence](ctx, s.c, client.Request{Method: http.MethodPost, Path: "/v1/silences", Body: silence, Safety: client.NotIdempotent}, options)
}

// EndSilence ends a silence before its time. Ending it again changes nothing.
func (s Alerts) EndSilence(ctx context.Context, id recoup.ID, options ...client.CallOption) (wire.Silence, error) {
	return Call[wire.Silence](ctx, s.c, client.Request{Method: http.MethodDelete, Path: "/v1/silences/" + id.String()}, options)
}
