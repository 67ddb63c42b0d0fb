package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"recoup"
	"recoup/client"
	"recoup/internal/api"
)

// The bounds of a key's life, in days, and of the hours that it lives on after
// another took over from it.
const (
	maxKeyDays      = 90
	maxOverlapHours = 168
)

func keysCreate(streams Streams) *cobra.Command {
	var ask client.NewKey
	var role string
	cmd := &cobra.Command{
		Use:   "create --role ROLE --name NAME",
		Short: "Make a key and print it, this once",
		Long: `Makes a key. The key alone is printed on standard output, this once: only its hash is
kept.`,
		Example: `  recoup keys create --role operator --name ada
  recoup keys create --role worker --name nightly-import --hub dol-filings --days 30`,
		Args: noArgs,
	}
	cmd.Flags().StringVar(&role, "role", "", "`ROLE`: "+join(api.Roles())+"; required")
	cmd.Flags().StringVar(&ask.Name, "name", "", "`NAME` of who or what will use it, for the history; required")
	cmd.Flags().StringSliceVar(&ask.Hubs, "hub", nil, "only for this `HUB`; may be repeated (default: all)")
	cmd.Flags().IntVar(&ask.Days, "days", maxKeyDays, "it lasts `N` days, 90 at most")
	cmd.Flags().StringVar(&ask.Reason, "reason", "", "why, as `TEXT` for the audit")
	cmd.PreRunE = func(*cobra.Command, []string) error {
		chosen, err := oneOf("role", role, api.Roles())
		switch {
		case err != nil:
			return err
		case chosen == "":
			return usagef("--role is missing: expected one of %s", join(api.Roles()))
		case ask.Name == "":
			return usagef("--name is missing: expected who or what will use the key")
		case ask.Days < 1 || ask.Days > maxKeyDays:
			return usagef("--days is %d: expected a number from 1 to %d", ask.Days, maxKeyDays)
		}
		ask.Role = string(chosen)
		return nil
	}
	return onKeys(keyFlags{streams: streams, create: true}, cmd, func(ctx context.Context, k keyring, asJSON bool) error {
		key, err := k.Create(ctx, ask)
		if err != nil {
			return err
		}
		return printSecret(streams, key, asJSON)
	})
}

// printSecret prints a new key. Standard output has the key and nothing else, so
// that a script can put it where it belongs.
func printSecret(streams Streams, k client.Key, asJSON bool) error {
	if asJSON {
		return printJSON(streams.Out, k)
	}
	hubs := "all hubs"
	if len(k.Hubs) > 0 {
		hubs = strings.Join(k.Hubs, ", ")
	}
	fmt.Fprintf(streams.Err, "Key %s: %s %s, for %s, until %s. It is shown this once:\n",
		k.ID, k.Role, printable(k.Name), printable(hubs), k.ExpiresAt.UTC().Format(time.DateOnly))
	_, err := fmt.Fprintln(streams.Out, k.Secret)
	return err
}

// readKey reads the id of a key.
func readKey(arg string, id *recoup.ID) (err error) {
	if *id, err = recoup.ParseID(arg); err != nil {
		return usagef("%q is no id: expected that of a key, as 'recoup keys list' prints it", arg)
	}
	return nil
}

func keysRevoke(streams Streams) *cobra.Command {
	var id recoup.ID
	var reason string
	cmd := &cobra.Command{
		Use:   "revoke ID",
		Short: "End a key at once, for good",
		Long: `Ends a key for good. Servers notice it within seconds. Revoking a key again changes
nothing.`,
		Example: `  recoup keys revoke 0198c0de-0000-7000-8000-000000000001 --reason "left the team"`,
		Args:    exactArgs("ID"),
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, as `TEXT` for the audit")
	cmd.PreRunE = func(_ *cobra.Command, args []string) error { return readKey(args[0], &id) }
	return onKeys(keyFlags{streams: streams}, cmd, func(ctx context.Context, k keyring, asJSON bool) error {
		key, err := k.Revoke(ctx, id, reason)
		switch {
		case err != nil:
			return err
		case asJSON:
			return printJSON(streams.Out, key)
		}
		fmt.Fprintf(streams.Out, "%s revoked: %s %s\n", key.ID, key.Role, printable(key.Name))
		return nil
	})
}

func keysRotate(streams Streams) *cobra.Command {
	var id recoup.ID
	var ask client.KeyRotation
	cmd := &cobra.Command{
		Use:   "rotate ID",
		Short: "Replace a key; the old one works a while longer",
		Long: `Makes a key that takes over from another, with its name, role and hubs, and prints it as
'recoup keys create' does. The old key works until the hours are over; with --hours 0 it
ends now, long polls included.`,
		Example: `  recoup keys rotate 0198c0de-0000-7000-8000-000000000001 --hours 48`,
		Args:    exactArgs("ID"),
	}
	ask.Hours = cmd.Flags().Int("hours", 24, "the old key works for `N` hours, 168 at most; 0 ends it now")
	cmd.Flags().StringVar(&ask.Reason, "reason", "", "why, as `TEXT` for the audit")
	cmd.PreRunE = func(_ *cobra.Command, args []string) error {
		if *ask.Hours < 0 || *ask.Hours > maxOverlapHours {
			return usagef("--hours is %d: expected a number from 0 to %d", *ask.Hours, maxOverlapHours)
		}
		return readKey(args[0], &id)
	}
	return onKeys(keyFlags{streams: streams}, cmd, func(ctx context.Context, k keyring, asJSON bool) error {
		key, err := k.Rotate(ctx, id, ask)
		if err != nil {
			return err
		}
		return printSecret(streams, key, asJSON)
	})
}
