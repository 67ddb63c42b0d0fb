package alerts

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/server/internal/admin"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

func providers(streams command.Streams) *cobra.Command {
	return command.Group(&cobra.Command{
		Use:   "providers",
		Short: "Show which external providers are active, and switch them",
		Long: `Providers that can stand in for each other form a group in the policy. A rule with the action
SWITCH_PROVIDER moves a group to its next member when one fails, and back after a quiet time if
the policy says so. What a person switches stays until a person, or a later alert, switches it.
Programs ask which one to use.`,
		Example: `  recoup providers list
  recoup providers switch email_validation --to zerobounce --reason "too slow"`,
	}, providersList(streams), providersSwitch(streams))
}

func providersList(streams command.Streams) *cobra.Command {
	return command.List[recoup.Provider]{
		Noun: "group", Key: "providers", Empty: "The policy has no group of providers.", Whole: true,
		Columns: []command.Column{
			{Name: "GROUP"}, {Name: "ACTIVE"}, {Name: "ORDER", Drop: 1, Wrap: true}, {Name: "SINCE", Drop: 3}, {Name: "BY", Drop: 2}, {Name: "REASON", Wrap: true},
		},
		Fetch: func(ctx context.Context, s *command.Session, _ client.Page) ([]recoup.Provider, string, error) {
			list, err := s.Providers.List(ctx)
			return list, "", err
		},
		Row: func(s *command.Session, p *recoup.Provider) command.Cells {
			return command.Cells{p.Group, p.Active, strings.Join(p.Members, ", "), command.Since(p.Since), p.By, p.Reason}
		},
	}.Command(streams, &cobra.Command{
		Use:     "list",
		Short:   "List the groups of providers and the active one of each",
		Example: `  recoup providers list`,
	})
}

func providersSwitch(streams command.Streams) *cobra.Command {
	var ask wire.ProviderSwitch
	cmd := &cobra.Command{
		Use:     "switch GROUP --to NAME",
		Short:   "Switch a group to another provider",
		Example: `  recoup providers switch email_validation --to zerobounce --reason "too slow"`,
		Args:    command.ExactArgs("GROUP"),
	}
	cmd.Flags().StringVar(&ask.To, "to", "", "`NAME` of the provider to use; required")
	return command.Act[recoup.Provider]{
		Reason: &ask.Reason, Need: true,
		Check: func(*command.Session, []string) error {
			if ask.To == "" {
				return command.Usagef("--to is missing: expected the provider to use")
			}
			return nil
		},
		Call: func(ctx context.Context, s *command.Session, args []string) (recoup.Provider, error) {
			return admin.New(s.Client).Providers.Switch(ctx, args[0], ask)
		},
		Say: func(s *command.Session, p recoup.Provider) {
			s.Sayf("%s uses %s.", command.Printable(p.Group), command.Printable(p.Active))
		},
	}.Command(streams, cmd)
}
