package cli

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"recoup"
	"recoup/client"
	"recoup/internal/app"
)

func keysCommand(streams Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "keys",
		Short: "Make, list, revoke and rotate API keys",
		Long: `A key lets a program or a person use a server. It has a role, lasts 90 days at most, and
may be for some hubs only.

With --server or $RECOUP_SERVER create, list, revoke and rotate ask a server, and need a
key of the role admin. Without, they work on the database itself, also while a server runs
on it. Those of tenant and payload always ask a server.`,
		Example: `  recoup keys create --role operator --name ada
  recoup keys list`,
		Args: noArgs,
		RunE: group,
	}
	cmd.AddCommand(keysCreate(streams), keysList(streams), keysRevoke(streams), keysRotate(streams), keysTenant(streams), keysPayload(streams))
	return cmd
}

// keyring is where keys are kept: behind a server, or in a database.
type keyring interface {
	Create(ctx context.Context, k client.NewKey) (client.Key, error)
	List(ctx context.Context) ([]client.Key, error)
	Revoke(ctx context.Context, id recoup.ID, reason string) (client.Key, error)
	Rotate(ctx context.Context, id recoup.ID, r client.KeyRotation) (client.Key, error)
}

// keyFlags are how a command finds its keyring.
type keyFlags struct {
	serverFlags
	streams Streams
	asJSON  bool
	create  bool // a database file that is not there is made
}

// onKeys makes cmd a command that works on a keyring. What is wrong with its
// flags is found before, in its PreRunE: a mistake must not make a database.
func onKeys(flags keyFlags, cmd *cobra.Command, run func(ctx context.Context, k keyring, asJSON bool) error) *cobra.Command {
	flags.addAs(cmd, "`URL` of a server to ask, instead of the database ($RECOUP_SERVER)")
	read := settingFlags(cmd, "database")
	jsonFlag(cmd, &flags.asJSON)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		about, direct := subjectOf(cmd, args), cmd.Flags().Changed("database")
		if direct && flags.server != "" {
			return usagef("--server and --database are given: expected one of the two")
		}
		if !direct && (flags.server != "" || os.Getenv(client.EnvServer) != "") {
			c, err := flags.connect(flags.streams.Now, 0)
			if err != nil {
				return err
			}
			defer c.Close()
			return flags.explain(about, run(cmd.Context(), remoteKeys{c}, flags.asJSON))
		}
		_, options, err := read()
		if err != nil {
			return usageError{err}
		}
		options.Now = flags.streams.Now
		keys, err := app.OpenKeys(cmd.Context(), options, flags.create)
		if errors.Is(err, app.ErrNoDatabase) {
			return fmt.Errorf("%w\n--database names another, --server URL or $%s a server", err, client.EnvServer)
		}
		if err != nil {
			return err
		}
		return errors.Join(flags.explain(about, run(cmd.Context(), keys, flags.asJSON)), keys.Close())
	}
	return cmd
}

// remoteKeys is a server's keyring.
type remoteKeys struct{ *client.Client }

func (r remoteKeys) Create(ctx context.Context, k client.NewKey) (client.Key, error) {
	return r.CreateKey(ctx, k)
}

func (r remoteKeys) List(ctx context.Context) ([]client.Key, error) {
	keys := []client.Key{}
	page := client.Page{Limit: maxRows}
	for {
		list, err := r.Keys(ctx, page)
		if err != nil {
			return nil, err
		}
		keys = append(keys, list.Keys...)
		if list.Next == "" {
			return keys, nil
		}
		page.Cursor = list.Next
	}
}

func (r remoteKeys) Revoke(ctx context.Context, id recoup.ID, reason string) (client.Key, error) {
	return r.RevokeKey(ctx, id, reason)
}

func (r remoteKeys) Rotate(ctx context.Context, id recoup.ID, k client.KeyRotation) (client.Key, error) {
	return r.RotateKey(ctx, id, k)
}
