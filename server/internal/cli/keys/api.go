package keys

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// The bounds of a key's life, in days, and of the hours that it lives on after
// another has replaced it.
const (
	maxDays  = 90
	maxHours = 168
)

func list(streams command.Streams) *cobra.Command {
	var keys keyring
	var valid bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the keys, newest first; never the keys themselves",
		Example: `  recoup keys list
  recoup keys list --valid --json`,
	}
	cmd.Flags().BoolVar(&valid, "valid", false, "only keys that are neither revoked nor expired")
	return command.List[wire.Key]{
		On: on(&keys, false), Whole: true, Key: "keys", Empty: "There are no keys. 'recoup keys create --role ROLE --name NAME' creates one.",
		Columns: []command.Column{
			{Name: "ID"}, {Name: "NAME", Wrap: true}, {Name: "ROLE"}, {Name: "HUBS", Drop: 2, Wrap: true}, {Name: "PREFIX", Drop: 4}, {Name: "STATUS", State: true},
			{Name: "EXPIRES", Drop: 1}, {Name: "LAST USED", Drop: 3}, {Name: "CREATED BY", Drop: 5},
		},
		Fetch: func(ctx context.Context, s *command.Session, _ client.Page) ([]wire.Key, string, error) {
			all, err := keys.List(ctx)
			shown := []wire.Key{}
			for i := range all {
				if !valid || status(s.Streams, &all[i]) == "valid" {
					shown = append(shown, all[i])
				}
			}
			return shown, "", err
		},
		Row: func(s *command.Session, k *wire.Key) command.Cells {
			return command.Cells{k.ID, k.Name, k.Role, hubs(k, "all"), k.Hint + "…", status(s.Streams, k),
				command.At(k.ExpiresAt), command.At(k.LastUsedAt).Or("never"), k.CreatedBy}
		},
	}.Command(streams, cmd)
}

func hubs(k *wire.Key, all string) string { return cmp.Or(strings.Join(k.Hubs, ", "), all) }

// status says whether a key can be used.
func status(s command.Streams, k *wire.Key) string {
	switch {
	case !k.RevokedAt.IsZero():
		return "revoked"
	case !k.ExpiresAt.IsZero() && !s.Clock().Before(k.ExpiresAt):
		return "expired"
	}
	return "valid"
}

func create(streams command.Streams) *cobra.Command {
	var keys keyring
	var ask wire.NewKey
	cmd := &cobra.Command{
		Use:   "create --role ROLE --name NAME",
		Short: "Create a key and print it, this once",
		Long: `Creates a key. The key alone is printed on standard output, this once: only its hash is
stored.`,
		Example: `  recoup keys create --role operator --name ada
  recoup keys create --role worker --name import --hub app --days 30`,
	}
	cmd.Flags().StringVar(&ask.Role, "role", "", "`ROLE`: "+command.Join(httpapi.Roles())+"; required")
	cmd.Flags().StringVar(&ask.Name, "name", "", "`NAME` of who or what uses it, for the audit; required")
	cmd.Flags().StringSliceVar(&ask.Hubs, "hub", nil, "only for this `HUB`; may be repeated (default: all)")
	cmd.Flags().IntVar(&ask.Days, "days", maxDays, "valid for `N` days, 90 at most")
	cmd.PreRunE = func(*cobra.Command, []string) error {
		role, err := command.OneOf("role", ask.Role, httpapi.Roles())
		switch ask.Role = string(role); {
		case err != nil:
			return err
		case role == "":
			return command.Usagef("--role is missing: expected one of %s", command.Join(httpapi.Roles()))
		case ask.Name == "":
			return command.Usagef("--name is missing: expected who or what uses the key")
		}
		return command.Within("days", ask.Days, 1, maxDays)
	}
	return command.Act[wire.Key]{
		On: on(&keys, true), Reason: &ask.Reason, Say: saySecret,
		Call: func(ctx context.Context, _ *command.Session, _ []string) (wire.Key, error) {
			return keys.Create(ctx, ask)
		},
	}.Command(streams, cmd)
}

// saySecret prints a new key. Standard output has the key and nothing else, so
// that a script can put it where it belongs.
func saySecret(s *command.Session, k wire.Key) {
	s.Notef("Key %s: %s %s, for %s, until %s. It is shown this once:",
		k.ID, k.Role, command.Printable(k.Name), command.Printable(hubs(&k, "all hubs")), k.ExpiresAt.UTC().Format(time.DateOnly))
	s.Sayf("%s", k.Secret)
}

// byID makes cmd one whose argument is the id of a key, or a part of it, which is
// checked before a database is opened.
func byID(cmd *cobra.Command) *cobra.Command {
	cmd.Args = command.ExactArgs("ID")
	cmd.PreRunE = func(_ *cobra.Command, args []string) error {
		if command.CheckID(args[0]) != nil {
			return command.UsageError{Err: command.BadID{Word: args[0], List: "recoup keys list"}}
		}
		return nil
	}
	return cmd
}

func revoke(streams command.Streams) *cobra.Command {
	var keys keyring
	var reason string
	return command.Act[wire.Key]{
		On: on(&keys, false), Reason: &reason,
		Call: func(ctx context.Context, s *command.Session, args []string) (wire.Key, error) {
			id, err := s.ID(recoup.KeyIDs, args)
			if err != nil {
				return wire.Key{}, err
			}
			return keys.Revoke(ctx, id, reason)
		},
		Say: func(s *command.Session, k wire.Key) {
			s.Sayf("%s revoked: %s %s", k.ID, k.Role, command.Printable(k.Name))
		},
	}.Command(streams, byID(&cobra.Command{
		Use:   "revoke ID",
		Short: "Revoke a key, permanently",
		Long: `Revokes a key permanently. Servers notice it within seconds. Revoking a key again changes
nothing.`,
		Example: `  recoup keys revoke ` + command.AnID + ` --reason "left the team"`,
	}))
}

func rotate(streams command.Streams) *cobra.Command {
	var keys keyring
	var ask wire.KeyRotation
	cmd := byID(&cobra.Command{
		Use:   "rotate ID",
		Short: "Replace a key; the old one stays valid for a while",
		Long: `Creates a key that replaces another, with its name, role and hubs, and prints it as
'recoup keys create' does. The old key stays valid until the hours are over; with --hours 0 it
ends now, long polls included.`,
		Example: `  recoup keys rotate ` + command.AnID + ` --hours 48`,
	})
	ask.Hours = cmd.Flags().Int("hours", 24, "the old key stays valid for `N` hours, 168 at most; 0 ends it now")
	read := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		return cmp.Or(command.Within("hours", *ask.Hours, 0, maxHours), read(cmd, args))
	}
	return command.Act[wire.Key]{
		On: on(&keys, false), Reason: &ask.Reason, Say: saySecret,
		Call: func(ctx context.Context, s *command.Session, args []string) (wire.Key, error) {
			id, err := s.ID(recoup.KeyIDs, args)
			if err != nil {
				return wire.Key{}, err
			}
			return keys.Rotate(ctx, id, ask)
		},
	}.Command(streams, cmd)
}
