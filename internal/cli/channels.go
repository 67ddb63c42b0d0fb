package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
)

func channelsCommand(streams Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "channels",
		Short: "Try the ways by which people are told something",
		Long: `Channels are set up at the server: in the section channels of its configuration file, or
by environment variables such as RECOUP_CHANNEL_CHAT_URL. 'recoup config show' prints them,
without their secrets. Which team hears what in which channel is said by the policy.`,
		Example: `  recoup channels test chat`,
		Args:    noArgs,
		RunE:    group,
	}
	cmd.AddCommand(channelsTest(streams))
	return cmd
}

func channelsTest(streams Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "test NAME",
		Short: "Send a message through a channel of the server",
		Example: `  recoup channels test chat
  recoup channels test log --json`,
		Args: exactArgs("NAME"),
	}
	return onSlowServer(streams, cmd, time.Minute, func(ctx context.Context, s *session, args []string) error {
		test, err := s.TestChannel(ctx, args[0])
		if err != nil {
			return err
		}
		switch {
		case s.json:
			err = printJSON(s.Out, test)
		case test.Accepted:
			fmt.Fprintf(s.Out, "%s has accepted a message. Look whether it is there.\n", printable(test.Channel))
		default:
			fmt.Fprintf(s.Err, "%s has not accepted a message: %s\n", printable(test.Channel), printable(test.Reason))
		}
		if err == nil && !test.Accepted {
			return errSilent
		}
		return err
	})
}
