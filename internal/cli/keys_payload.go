package cli

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"
)

func keysPayload(streams Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "payload",
		Short: "List and rotate the keys that payloads are sealed with, and wrap them",
		Long: `Payloads of staged work, and the outputs of its stages, are kept sealed. A rotation makes
the key that seals from then on; what older ones sealed they still open. The keys lie in
the same database, unless servers have a master key (--master-key-file): then new keys
are sealed by it, and wrap seals the others.`,
		Example: `  recoup keys payload list
  recoup keys payload rotate --reason "every January"
  recoup keys payload wrap --reason "the server has a master key now"`,
		Args: noArgs,
		RunE: group,
	}
	cmd.AddCommand(payloadList(streams), payloadRotate(streams), payloadWrap(streams))
	return cmd
}

func payloadList(streams Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the payload keys, newest first",
		Example: `  recoup keys payload list`,
		Args:    noArgs,
	}
	return onServer(streams, cmd, func(ctx context.Context, s *session, _ []string) error {
		list, err := s.PayloadKeys(ctx)
		switch {
		case err != nil:
			return err
		case s.json:
			return printJSON(s.Out, list)
		}
		t := newTable(s.Streams, "KEY", "MADE", "USE", "WRAPPED BY")
		for _, key := range list.Keys {
			use := "opens what it sealed"
			if key.Current {
				use = "seals what is new"
			}
			t.add(key.ID, s.relative(key.CreatedAt), use, cmp.Or(key.WrappedBy, "nothing"))
		}
		fmt.Fprint(s.Out, t)
		return nil
	})
}

func payloadRotate(streams Streams) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "rotate",
		Short: "Seal payloads with a new key from now on",
		Long: `Makes a key that seals payloads from now on; other servers follow within ten seconds. The
older keys stay, so that what they sealed still opens.`,
		Example: `  recoup keys payload rotate --reason "every January"`,
		Args:    noArgs,
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, as `TEXT` for the audit")
	return onServer(streams, cmd, func(ctx context.Context, s *session, _ []string) error {
		key, err := s.RotatePayloadKey(ctx, reason)
		switch {
		case err != nil:
			return err
		case s.json:
			return printJSON(s.Out, key)
		}
		fmt.Fprintf(s.Out, "Payloads are sealed with %s from now on.\n", key.ID)
		return nil
	})
}

func payloadWrap(streams Streams) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "wrap",
		Short: "Encrypt plaintext keys with the server's master key",
		Long: `Seals those keys of payloads and of tenants that lie bare in the database with the master
key of the server. Every server on the database needs that master key before.`,
		Example: `  recoup keys payload wrap --reason "the server has a master key now"`,
		Args:    noArgs,
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, as `TEXT` for the audit")
	return onServer(streams, cmd, func(ctx context.Context, s *session, _ []string) error {
		done, err := s.WrapKeys(ctx, reason)
		switch {
		case err != nil:
			return err
		case s.json:
			return printJSON(s.Out, done)
		}
		fmt.Fprintf(s.Out, "%d keys were sealed with the master key %s.\n", done.Wrapped, done.WrappedBy)
		return nil
	})
}
