// Package notifications has the commands 'recoup notifications', 'recoup channels' and 'recoup
// receivers'.
package notifications

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/server/internal/admin"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// Commands are those of this package.
func Commands(streams command.Streams) []*cobra.Command {
	return []*cobra.Command{
		command.Group(&cobra.Command{
			Use:   "notifications",
			Short: "List notifications, and requeue undeliverable ones",
			Long: `Teams are notified of what happens to errors and alerts, through the channels that the policy
names. A notification waits, is delivered, or is given up when its channel has refused it or has
failed for a day. One that goes to several channels counts as delivered, and has a copy for each
of them.`,
			Example: `  recoup notifications list --state given_up
  recoup notifications resend --given-up --to platform-team`,
		}, list(streams), resend(streams)),
		command.Group(&cobra.Command{
			Use:   "channels",
			Short: "List and test notification channels",
			Long: `Channels are configured on the server: in the channels section of its configuration file, or by
environment variables such as RECOUP_CHANNEL_CHAT_URL. 'recoup config show' prints them, without
their secrets. Which team is notified of what, and through which channel, is in the policy.`,
			Example: `  recoup channels list
  recoup channels test chat`,
		}, channelsList(streams), channelsTest(streams)),
		receivers(streams),
	}
}

// selection adds the flags that select notifications.
func selection(cmd *cobra.Command, f *wire.NoticeFilter) {
	cmd.Flags().StringVar(&f.To, "to", "", "only to this `TEAM`")
	cmd.Flags().StringVar((*string)(&f.Kind), "kind", "", "only of this `KIND`: "+command.Join(wire.NoticeKinds()))
}

// states are how a notification can stand.
func states() []wire.NoticeState {
	return []wire.NoticeState{wire.NoticeWaiting, wire.NoticeDelivered, wire.NoticeGivenUp}
}

func list(streams command.Streams) *cobra.Command {
	var filter wire.NoticeFilter
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List notifications, newest first",
		Example: `  recoup notifications list
  recoup notifications list --state waiting --to platform-team --json`,
	}
	cmd.Flags().StringVar((*string)(&filter.State), "state", "", "only those in this `STATE`: "+command.Join(states()))
	selection(cmd, &filter)
	return command.List[wire.Notice]{
		Noun: "notification", Key: "notices",
		Columns: []command.Column{
			{Name: "ID"}, {Name: "KIND", Drop: 1}, {Name: "TO"}, {Name: "STATE", Wrap: true, State: true}, {Name: "CREATED", Drop: 3}, {Name: "TRIES", Drop: 4},
			{Name: "CHANNEL", Drop: 2}, {Name: "LAST ERROR", Wrap: true},
		},
		Read: func(*command.Session, []string) (err error) {
			if filter.State, err = command.OneOf("state", string(filter.State), states()); err == nil {
				filter.Kind, err = command.OneOf("kind", string(filter.Kind), wire.NoticeKinds())
			}
			return err
		},
		Fetch: func(ctx context.Context, s *command.Session, p client.Page) ([]wire.Notice, string, error) {
			page, err := admin.New(s.Client).Notifications.List(ctx, filter, p)
			return page.Notices, page.Next, err
		},
		Row: func(s *command.Session, n *wire.Notice) command.Cells {
			state := string(n.State)
			if n.State == wire.NoticeWaiting {
				state += ", due " + s.Relative(n.DueAt)
			}
			return command.Cells{n.ID, n.Kind, n.To, state, command.At(n.CreatedAt), n.Attempts, n.Channel, n.LastError}
		},
	}.Command(streams, cmd)
}

func resend(streams command.Streams) *cobra.Command {
	var filter wire.NoticeFilter
	var ask wire.NoticeResend
	var givenUp bool
	cmd := &cobra.Command{
		Use:   "resend [ID…]",
		Short: "Requeue undeliverable notifications",
		Long: `Requeues notifications that were given up, each as a new one, and once, however often that is
asked for. If the new one is given up too, it can be requeued by its own id.`,
		Example: `  recoup notifications resend ` + command.AnID + `
  recoup notifications resend --given-up --to ops --reason "pager fixed"`,
		Args: cobra.ArbitraryArgs,
	}
	cmd.Flags().BoolVar(&givenUp, "given-up", false, "all that were given up, or those that --to and --kind select")
	selection(cmd, &filter)
	return command.Act[wire.NoticeResent]{
		Reason: &ask.Reason,
		Check: func(s *command.Session, args []string) (err error) {
			switch {
			case givenUp == (len(args) > 0):
				return command.Usagef("expected IDs of notifications, or --given-up for all")
			case !givenUp && (filter.To != "" || filter.Kind != ""):
				return command.Usagef("--to and --kind go with --given-up, and IDs are given")
			}
			if filter.Kind, err = command.OneOf("kind", string(filter.Kind), wire.NoticeKinds()); err == nil {
				ask.IDs, err = s.IDs(recoup.NoticeIDs, args...)
			}
			filter.State = wire.NoticeGivenUp
			return err
		},
		Call: func(ctx context.Context, s *command.Session, _ []string) (wire.NoticeResent, error) {
			if len(ask.IDs) > 0 {
				return admin.New(s.Client).Notifications.Resend(ctx, ask)
			}
			return resendAll(ctx, s, ask, filter)
		},
		Say: func(s *command.Session, done wire.NoticeResent) {
			s.Sayf("%s requeued", command.Count(done.Resent, "notification"))
		},
	}.Command(streams, cmd)
}

// resendAll requeues all that a filter selects, a page at a time.
func resendAll(ctx context.Context, s *command.Session, ask wire.NoticeResend, filter wire.NoticeFilter) (total wire.NoticeResent, err error) {
	page := client.Page{Limit: command.MaxRows}
	for {
		list, err := admin.New(s.Client).Notifications.List(ctx, filter, page)
		if err != nil || len(list.Notices) == 0 {
			return total, err
		}
		ask.IDs = nil
		for i := range list.Notices {
			ask.IDs = append(ask.IDs, list.Notices[i].ID)
		}
		done, err := admin.New(s.Client).Notifications.Resend(ctx, ask)
		if total.Resent += done.Resent; err != nil || list.Next == "" {
			return total, err
		}
		page.Cursor = list.Next
	}
}
