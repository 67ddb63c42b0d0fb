package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"recoup/client"
)

func keysTenant(streams Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "tenant",
		Short: "List, rotate and delete the keys that tenants are hashed with",
		Long: `The ledger keeps no tenant's name, only its hash under a key. A rotation makes the key
that hashes from then on; events of before are found under the older ones. Deleting an
older key shreds what it hashed: nobody can find it by its tenant any more.`,
		Example: `  recoup keys tenant list
  recoup keys tenant rotate --reason "every January"
  recoup events --tenant acme --from 48h`,
		Args: noArgs,
		RunE: group,
	}
	cmd.AddCommand(tenantList(streams), tenantRotate(streams), tenantDelete(streams))
	return cmd
}

func tenantList(streams Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the tenant keys, newest first",
		Example: `  recoup keys tenant list`,
		Args:    noArgs,
	}
	return onServer(streams, cmd, func(ctx context.Context, s *session, _ []string) error {
		list, err := s.TenantKeys(ctx)
		if err != nil {
			return err
		}
		return s.printTenantKeys(list)
	})
}

func (s *session) printTenantKeys(list client.TenantKeyList) error {
	if s.json {
		return printJSON(s.Out, list)
	}
	t := newTable(s.Streams, "KEY", "MADE", "USE")
	for _, key := range list.Keys {
		use := "finds what it hashed"
		if key.Current {
			use = "hashes what is new"
		}
		t.add(key.ID, s.relative(key.CreatedAt), use)
	}
	fmt.Fprint(s.Out, t)
	return nil
}

func tenantRotate(streams Streams) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "rotate",
		Short: "Hash tenants with a new key from now on",
		Long: `Makes a key that hashes tenants from now on; other servers follow within ten seconds. The
older keys stay, so that what they hashed is still found.`,
		Example: `  recoup keys tenant rotate --reason "every January"`,
		Args:    noArgs,
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, as `TEXT` for the audit")
	return onServer(streams, cmd, func(ctx context.Context, s *session, _ []string) error {
		key, err := s.RotateTenantKey(ctx, reason)
		switch {
		case err != nil:
			return err
		case s.json:
			return printJSON(s.Out, key)
		}
		fmt.Fprintf(s.Out, "Tenants are hashed with %s from now on.\n", key.ID)
		return nil
	})
}

func tenantDelete(streams Streams) *cobra.Command {
	var reason string
	var yes bool
	cmd := &cobra.Command{
		Use:   "delete KEY",
		Short: "Delete a tenant key for good, and with it every way to find what it hashed",
		Long: `Deletes a tenant key that is not in use. Events that it hashed stay, but nobody can tell
whose they are any more. This cannot be undone.`,
		Example: `  recoup keys tenant delete t20260202090000 --yes --reason "older than two years"`,
		Args:    exactArgs("KEY"),
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, as `TEXT` for the audit")
	yesFlag(cmd, &yes)
	return onServer(streams, cmd, func(ctx context.Context, s *session, args []string) error {
		if err := s.askable(yes); err != nil {
			return err
		}
		if !yes {
			question := "Deletes the tenant key " + printable(args[0]) + ". What it hashed can never be found by its tenant again."
			if err := s.confirm(question, args[0]); err != nil {
				return err
			}
		}
		list, err := s.DeleteTenantKey(ctx, args[0], reason)
		if err != nil {
			return err
		}
		return s.printTenantKeys(list)
	})
}
