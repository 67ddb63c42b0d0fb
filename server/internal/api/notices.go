package api

import (
	"context"
	"slices"

	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/check"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
	"github.com/recoup-dev/recoup/server/internal/notify"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// Channels are the node's notification channels.
type Channels interface {
	// TestChannel sends a message through a channel, and returns why it was not
	// accepted, or nothing. A channel that the node does not have is
	// sqldb.ErrNotFound.
	TestChannel(ctx context.Context, name, by string) (reason string, err error)

	// Channels returns how they do, and which the node lacks.
	Channels() []wire.Channel
}

// actChannelTest is how the audit names a message that tries a channel.
const actChannelTest = "channel.test"

// noticeRoutes are about notifications to people.
func noticeRoutes() []*httpapi.Route {
	return []*httpapi.Route{
		httpapi.Op(get, "/v1/notices", "List notifications, sent and waiting, newest first", (*API).listNotices).Roles(httpapi.RoleOperator).AllHubs().Load(httpapi.LoadPriority).Tag("notifications"),
		httpapi.WithCheck(httpapi.Op(post, "/v1/notices/resend", "Requeue undeliverable notifications", (*API).resendNotices), reasonOf(func(in *resendIn) string { return in.Body.Reason })).Roles(httpapi.RoleOperator).AllHubs().Load(httpapi.LoadPriority).Tag("notifications"),
		httpapi.Op(get, "/v1/channels", "List notification channels, and how they do", (*API).listChannels).Roles(httpapi.RoleOperator, httpapi.RoleReader).AllHubs().Load(httpapi.LoadPriority).Tag("notifications"),
		httpapi.Op(post, "/v1/channels/{name}/test", "Test a channel of this node", (*API).testChannel).AdminsOnly().AllHubs().Long().Repeat(httpapi.RepeatNotIdempotent).Tag("notifications"),
	}
}

type noticesIn struct {
	wire.NoticeFilter
	httpapi.Page
}

func (a *API) listNotices(c *httpapi.Call, in *noticesIn) (wire.NoticePage, error) {
	at, err := in.StorePage()
	if err != nil {
		return wire.NoticePage{}, err
	}
	if in.Kind != "" && !slices.Contains(wire.NoticeKinds(), in.Kind) {
		return wire.NoticePage{}, fault.BadField("kind", "enum", "kind must be one of the kinds of notices, such as PARKED or ALERT")
	}
	if err := check.Identifier("to", in.To); in.To != "" && err != nil {
		return wire.NoticePage{}, err
	}
	list, cursor, err := a.Store.Notices(c.Context(), in.NoticeFilter, at)
	return wire.NoticePage{Notices: httpapi.Each(list, notify.Public), Next: httpapi.NextCursor(cursor)}, err
}

type resendIn struct{ Body wire.NoticeResend }

func (a *API) resendNotices(c *httpapi.Call, in *resendIn) (wire.NoticeResent, error) {
	if err := check.Reason(in.Body.Reason); err != nil {
		return wire.NoticeResent{}, err
	}
	n, err := a.Store.ResendNotices(c.Context(), in.Body.IDs, c.Act(in.Body.Reason))
	return wire.NoticeResent{Resent: n}, err
}

func (a *API) listChannels(*httpapi.Call, *struct{}) (wire.Channels, error) {
	return wire.Channels{Node: a.Node, Channels: a.Channels.Channels()}, nil
}

type testChannelIn struct {
	Name string `path:"name" doc:"a channel of this node; log is always there"`
	Body struct{}
}

// testChannel tries a channel. That it does not work is an answer, and no failure of
// the request.
func (a *API) testChannel(c *httpapi.Call, in *testChannelIn) (wire.ChannelTest, error) {
	reason, err := a.Channels.TestChannel(c.Context(), in.Name, c.Caller.Name)
	if err != nil {
		return wire.ChannelTest{}, err
	}
	entry := c.Act("").On(actChannelTest, in.Name, map[string]any{"accepted": reason == ""})
	return wire.ChannelTest{Channel: in.Name, Accepted: reason == "", Reason: reason}, a.Store.AppendAudit(c.Context(), entry)
}
