package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"recoup/client"
)

func providersCommand(streams Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "providers",
		Short: "See which outside providers are in use, and switch them",
		Long: `Providers that can stand in for each other are a group of the policy. A rule whose action
is SWITCH_PROVIDER moves a group to its next member when one fails, and back after a quiet
time if the policy says so. What a person switches stays until a person, or a later alert,
moves it. Programs ask which one to use.`,
		Example: `  recoup providers list
  recoup providers switch email_validation --to zerobounce --reason "the other is too slow"`,
		Args: noArgs,
		RunE: group,
	}
	cmd.AddCommand(providersList(streams), providersSwitch(streams))
	return cmd
}

func providersList(streams Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the groups of providers and which of each is in use",
		Example: `  recoup providers list`,
		Args:    noArgs,
	}
	return onServer(streams, cmd, func(ctx context.Context, s *session, _ []string) error {
		list, err := s.Providers(ctx)
		switch {
		case err != nil:
			return err
		case s.json:
			return printJSON(s.Out, client.Providers{Providers: list})
		case len(list) == 0:
			fmt.Fprintln(s.Err, "The policy has no group of providers.")
			return nil
		}
		t := newTable(s.Streams, "GROUP", "IN USE", "IN ORDER", "SINCE", "BY", "REASON")
		for i := range list {
			p := &list[i]
			t.add(p.Group, p.Active, strings.Join(p.Members, ", "), s.ago(p.Since), p.By, p.Reason)
		}
		fmt.Fprint(s.Out, t)
		return nil
	})
}

func providersSwitch(streams Streams) *cobra.Command {
	var ask client.ProviderSwitch
	cmd := &cobra.Command{
		Use:     "switch GROUP --to NAME",
		Short:   "Use another provider of a group",
		Example: `  recoup providers switch email_validation --to zerobounce --reason "the other is too slow"`,
		Args:    exactArgs("GROUP"),
	}
	cmd.Flags().StringVar(&ask.To, "to", "", "`NAME` of the provider to use; required")
	cmd.Flags().StringVar(&ask.Reason, "reason", "", "why, as `TEXT` for the audit; required")
	return onServer(streams, cmd, func(ctx context.Context, s *session, args []string) error {
		switch {
		case ask.To == "":
			return usagef("--to is missing: expected the provider to use")
		case ask.Reason == "":
			return usagef("--reason is missing: expected why")
		}
		p, err := s.SwitchProvider(ctx, args[0], ask)
		switch {
		case err != nil:
			return err
		case s.json:
			return printJSON(s.Out, p)
		}
		fmt.Fprintf(s.Out, "%s uses %s.\n", printable(p.Group), printable(p.Active))
		return nil
	})
}
