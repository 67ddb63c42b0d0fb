package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"

	"github.com/recoup-dev/recoup"
)

// NoticePage is a page of notices.
type NoticePage struct {
	Notices []recoup.Notice `json:"notices" doc:"this page of the list"`
	Next    string          `json:"next,omitempty" doc:"the cursor of the next page; none: this is the last"`
}

// NoticeResend requeues undeliverable notices.
type NoticeResend struct {
	IDs    []recoup.ID `json:"ids" minItems:"1" maxItems:"1000" doc:"notifications that were given up"`
	Reason string      `json:"reason,omitempty" maxLength:"1000" doc:"why; the audit keeps it"`
}

// NoticeResent is how many notices were requeued. Those that wait, are delivered, are
// unknown or were requeued before are left as they are.
type NoticeResent struct {
	Resent int `json:"resent" doc:"how many were requeued"`
}

// Channels are the notification channels of a node.
type Channels struct {
	Node     string           `json:"node" doc:"the node that tells it: each has its own view"`
	Channels []recoup.Channel `json:"channels" doc:"all of them, and those that the policy names and the node does not have"`
}

// ChannelTest is the result of a test message to a channel.
type ChannelTest struct {
	Channel  string `json:"channel" doc:"the channel"`
	Accepted bool   `json:"accepted" doc:"whether the message was accepted"`
	Reason   string `json:"reason,omitempty" doc:"why it was not"`
}

// Notices lists notices, newest first.
func (c *Client) Notices(ctx context.Context, f recoup.NoticeFilter, p Page, options ...CallOption) (NoticePage, error) {
	q := query{}.text("state", string(f.State)).text("to", f.To).text("kind", string(f.Kind))
	return get[NoticePage](ctx, c, "/v1/notices", p.query(q), options)
}

// AllNotices walks notices, newest first, page by page. It ends with the first
// failure.
func (c *Client) AllNotices(ctx context.Context, f recoup.NoticeFilter) iter.Seq2[recoup.Notice, error] {
	return all(ctx, func(ctx context.Context, p Page) ([]recoup.Notice, string, error) {
		page, err := c.Notices(ctx, f, p)
		return page.Notices, page.Next, err
	})
}

// ResendNotices requeues undeliverable notices. Each is requeued once, however often
// it is asked for.
func (c *Client) ResendNotices(ctx context.Context, r NoticeResend, options ...CallOption) (NoticeResent, error) {
	return call[NoticeResent](ctx, c, request{method: http.MethodPost, path: "/v1/notices/resend", body: r}, options)
}

// Channels returns the state of the channels of the node that answers.
func (c *Client) Channels(ctx context.Context, options ...CallOption) (Channels, error) {
	return get[Channels](ctx, c, "/v1/channels", nil, options)
}

// TestChannel sends a test message through a channel of the node that answers. The
// call is not retried where the message may have been sent.
func (c *Client) TestChannel(ctx context.Context, name string, options ...CallOption) (ChannelTest, error) {
	return call[ChannelTest](ctx, c, request{method: http.MethodPost, path: "/v1/channels/" + url.PathEscape(name) + "/test", body: struct{}{}, safety: once}, options)
}
