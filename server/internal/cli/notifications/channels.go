package notifications

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/server/internal/admin"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

func channelsList(streams command.Streams) *cobra.Command {
	var whole wire.Channels
	return command.List[wire.Channel]{
		Noun: "channel", Whole: true,
		Columns: []command.Column{
			{Name: "CHANNEL"}, {Name: "KIND", Drop: 3}, {Name: "STATE", Wrap: true, State: true}, {Name: "UNDELIVERED"}, {Name: "SENT", Drop: 2}, {Name: "GIVEN UP", Drop: 4},
			{Name: "LAST SUCCESS", Drop: 1}, {Name: "LAST FAILURE", Wrap: true},
		},
		Fetch: func(ctx context.Context, s *command.Session, _ client.Page) (_ []wire.Channel, _ string, err error) {
			whole, err = admin.New(s.Client).Notifications.Channels(ctx)
			return whole.Channels, "", err
		},
		JSON: func(list []wire.Channel) any {
			whole.Channels = list
			return whole
		},
		Row: func(s *command.Session, c *wire.Channel) command.Cells {
			succeeded, failed := "", ""
			if !c.LastSuccessAt.IsZero() {
				succeeded = s.Relative(c.LastSuccessAt)
			}
			if c.LastFailure != "" {
				failed = c.LastFailure + " (" + s.Relative(c.LastFailureAt) + ")"
			}
			return command.Cells{c.Name, c.Kind, channelState(s, c), c.Undelivered, c.Sent, c.GivenUp, succeeded, failed}
		},
	}.Command(streams, &cobra.Command{
		Use:   "list",
		Short: "List the channels, and which of them fail",
		Long: `Lists the channels of the node that answers, since it started: each node has a view of its own.
A channel that fails is tried again with growing waits, and what it should have sent waits. One that
is missing is named by the policy and not configured on this node: its notifications are only logged.`,
		Example: `  recoup channels list
  recoup channels list --json`,
	})
}

func channelState(s *command.Session, c *wire.Channel) string {
	state := c.State
	if !c.FailingSince.IsZero() {
		state += fmt.Sprintf(" for %s", s.Ago(c.FailingSince))
	}
	if !c.Until.IsZero() {
		state += ", retried " + s.Relative(c.Until)
	}
	return state
}

func channelsTest(streams command.Streams) *cobra.Command {
	return command.Act[wire.ChannelTest]{
		On: command.Slow(time.Minute),
		Call: func(ctx context.Context, s *command.Session, args []string) (wire.ChannelTest, error) {
			return admin.New(s.Client).Notifications.TestChannel(ctx, args[0])
		},
		Say: func(s *command.Session, t wire.ChannelTest) {
			if t.Accepted {
				s.Sayf("%s accepted a test message. Check that it arrived.", command.Printable(t.Channel))
				return
			}
			s.Notef("%s did not accept a test message: %s", command.Printable(t.Channel), command.Printable(t.Reason))
		},
		Failed: func(t wire.ChannelTest) bool { return !t.Accepted },
	}.Command(streams, &cobra.Command{
		Use:   "test NAME",
		Short: "Send a test message through a channel",
		Example: `  recoup channels test chat
  recoup channels test log --json`,
		Args: command.ExactArgs("NAME"),
	})
}
