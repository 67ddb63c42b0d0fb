package api

import (
	"context"
	"slices"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/check"
	"github.com/recoup-dev/recoup/server/internal/notify"
)

// Channels are the node's notification channels.
type Channels interface {
	// TestChannel sends a message through a channel, and returns why it was not
	// accepted, or nothing. A channel that the node does not have is
	// sqldb.ErrNotFound.
	TestChannel(ctx context.Context, name, by string) (reason string, err error)

	// Channels returns how they do, and which the node lacks.
	Channels() []recoup.Channel
}

// actChannelTest is how the audit names a message that tries a channel.
const actChannelTest = "channel.test"

// noticeRoutes are about notifications to people.
func noticeRoutes() []*route {
	return []*route{
		operation(get, "/v1/notices", "List notifications, sent and waiting, newest first", (*API).listNotices).by(Operator).forAllHubs().under(priority).tagged("notifications"),
		checked(operation(post, "/v1/notices/resend", "Requeue undeliverable notifications", (*API).resendNotices), reasonOf(func(in *resendIn) string { return in.Body.Reason })).by(Operator).forAllHubs().under(priority).tagged("notifications"),
		operation(get, "/v1/channels", "List notification channels, and how they do", (*API).listChannels).by(Operator, Reader).forAllHubs().under(priority).tagged("notifications"),
		operation(post, "/v1/channels/{name}/test", "Test a channel of this node", (*API).testChannel).forAdmins().forAllHubs().takesLong().repeats(notIdempotent).tagged("notifications"),
	}
}

type noticesIn struct {
	recoup.NoticeFilter
	page
}

func (a *API) listNotices(c *call, in *noticesIn) (client.NoticePage, error) {
	at, err := in.read()
	if err != nil {
		return client.NoticePage{}, err
	}
	if in.Kind != "" && !slices.Contains(recoup.NoticeKinds(), in.Kind) {
		return client.NoticePage{}, fault.BadField("kind", "enum", "kind must be one of the kinds of notices, such as PARKED or ALERT")
	}
	if err := check.Identifier("to", in.To); in.To != "" && err != nil {
		return client.NoticePage{}, err
	}
	list, cursor, err := a.Store.Notices(c.r.Context(), in.NoticeFilter, at)
	return client.NoticePage{Notices: each(list, notify.Public), Next: next(cursor)}, err
}

type resendIn struct{ Body client.NoticeResend }

func (a *API) resendNotices(c *call, in *resendIn) (client.NoticeResent, error) {
	if err := check.Reason(in.Body.Reason); err != nil {
		return client.NoticeResent{}, err
	}
	n, err := a.Store.ResendNotices(c.r.Context(), in.Body.IDs, c.act(in.Body.Reason))
	return client.NoticeResent{Resent: n}, err
}

func (a *API) listChannels(*call, *struct{}) (client.Channels, error) {
	return client.Channels{Node: a.Node, Channels: a.Channels.Channels()}, nil
}

type testChannelIn struct {
	Name string `path:"name" doc:"a channel of this node; log is always there"`
	Body struct{}
}

// testChannel tries a channel. That it does not work is an answer, and no failure of
// the request.
func (a *API) testChannel(c *call, in *testChannelIn) (client.ChannelTest, error) {
	reason, err := a.Channels.TestChannel(c.r.Context(), in.Name, c.caller.Name)
	if err != nil {
		return client.ChannelTest{}, err
	}
	entry := c.act("").On(actChannelTest, in.Name, map[string]any{"accepted": reason == ""})
	return client.ChannelTest{Channel: in.Name, Accepted: reason == "", Reason: reason}, a.Store.AppendAudit(c.r.Context(), entry)
}
