package admin

import (
	"context"
	"iter"
	"net/http"
	"net/url"

	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/internal/query"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// Notifications reads notifications and the addresses that they and pushed work go to.
type Notifications struct{ c *client.Client }

// List lists notices, newest first.
func (s Notifications) List(ctx context.Context, f wire.NoticeFilter, p client.Page, options ...client.CallOption) (wire.NoticePage, error) {
	q := query.Values{}.Text("state", string(f.State)).Text("to", f.To).Text("kind", string(f.Kind))
	return Get[wire.NoticePage](ctx, s.c, "/v1/notices", pageQuery(p, q), options)
}

// All walks notices, newest first, page by page. It ends with the first
// failure.
func (s Notifications) All(ctx context.Context, f wire.NoticeFilter) iter.Seq2[wire.Notice, error] {
	return client.Walk(ctx, func(ctx context.Context, p client.Page) ([]wire.Notice, string, error) {
		page, err := s.List(ctx, f, p)
		return page.Notices, page.Next, err
	})
}

// Resend requeues undeliverable notices. Each is requeued once, however often
// it is asked for.
func (s Notifications) Resend(ctx context.Context, r wire.NoticeResend, options ...client.CallOption) (wire.NoticeResent, error) {
	return Call[wire.NoticeResent](ctx, s.c, client.Request{Method: http.MethodPost, Path: "/v1/notices/resend", Body: r, Safety: client.Idempotent}, options)
}

// Channels returns the state of the channels of the node that answers.
func (s Notifications) Channels(ctx context.Context, options ...client.CallOption) (wire.Channels, error) {
	return Get[wire.Channels](ctx, s.c, "/v1/channels", nil, options)
}

// TestChannel sends a test message through a channel of the node that answers. The
// call is not retried where the message may have been sent.
func (s Notifications) TestChannel(ctx context.Context, name string, options ...client.CallOption) (wire.ChannelTest, error) {
	return Call[wire.ChannelTest](ctx, s.c, client.Request{Method: http.MethodPost, Path: "/v1/channels/" + url.PathEscape(name) + "/test", Body: struct{}{}, Safety: client.NotIdempotent}, options)
}

// Receivers returns the state of the receivers of the node that answers.
func (s Notifications) Receivers(ctx context.Context, options ...client.CallOption) (wire.Receivers, error) {
	return Get[wire.Receivers](ctx, s.c, "/v1/receivers", nil, options)
}
