// Package keys is 'recoup keys': API keys, and the keys that tenants are hashed and
// payloads are encrypted with.
package keys

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/server/internal/admin"
	"github.com/recoup-dev/recoup/server/internal/app"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/internal/config"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// Commands are those of this package.
func Commands(streams command.Streams) []*cobra.Command {
	return []*cobra.Command{command.Group(&cobra.Command{
		Use:   "keys",
		Short: "Create, list, revoke and rotate API keys",
		Long: `An API key lets a program or a person use a server. It has a role, is valid for at most 90
days, and may be limited to some hubs.

With --server or $RECOUP_SERVER, create, list, revoke and rotate ask a server, and need a key with
the role admin. Without, they work on the database itself, also while a server runs on it. The
commands of tenant and payload always ask a server.`,
		Example: `  recoup keys create --role operator --name ada
  recoup keys list`,
	}, create(streams), list(streams), revoke(streams), rotate(streams), tenant(streams), payload(streams))}
}

// keyring is where keys are kept: behind a server, or in a database.
type keyring interface {
	Create(ctx context.Context, k wire.NewKey) (wire.Key, error)
	List(ctx context.Context) ([]wire.Key, error)
	Revoke(ctx context.Context, id recoup.ID, reason string) (wire.Key, error)
	Rotate(ctx context.Context, id recoup.ID, r wire.KeyRotation) (wire.Key, error)
	Find(ctx context.Context, part string) (wire.FoundIDs, error)
}

// on is the [command.Runner] of commands that work on a keyring, which they find in
// keys; with create, a database file that does not exist is made. What is wrong
// with the flags is found before, in PreRunE: a mistake must not make a database.
func on(keys *keyring, create bool) command.Runner {
	return func(streams command.Streams, cmd *cobra.Command, forms command.Forms, run command.Run) *cobra.Command {
		var flags command.ServerFlags
		s := &command.Session{Streams: streams}
		flags.Add(cmd, "server `URL`, instead of the database ($RECOUP_SERVER)")
		read := command.SettingFlags(streams, cmd, "database", "schema-owner")
		s.Flags(cmd, forms)
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			found, end, err := find(cmd, streams, &flags, read, create)
			if err != nil {
				return err
			}
			*keys = found
			s.Find = func(_ recoup.IDKind, part string) (wire.FoundIDs, error) { return found.Find(cmd.Context(), part) }
			return errors.Join(flags.Explain(cmd, args, run(cmd.Context(), s, args)), end())
		}
		return cmd
	}
}

// find opens the keyring that the flags name, and returns how to close it.
func find(cmd *cobra.Command, streams command.Streams, flags *command.ServerFlags, read func() (config.Values, app.Options, error), create bool) (keyring, func() error, error) {
	direct := cmd.Flags().Changed("database")
	if direct && flags.Server != "" {
		return nil, nil, command.Usagef("--server and --database are given: expected one of the two")
	}
	if !direct && (flags.Server != "" || os.Getenv(client.EnvServer) != "") {
		c, err := flags.Connect(streams.Now, 0)
		if err != nil {
			return nil, nil, err
		}
		return remote{c}, func() error { c.Close(); return nil }, nil
	}
	_, options, err := read()
	if err != nil {
		return nil, nil, err
	}
	options.Now = streams.Now
	open, err := app.OpenKeys(cmd.Context(), options, create)
	if errors.Is(err, app.ErrNoDatabase) {
		err = fmt.Errorf("%w\n--database names another, --server URL or $%s a server", err, client.EnvServer)
	}
	if err != nil {
		return nil, nil, err
	}
	return open, open.Close, nil
}

// remote is a server's keyring.
type remote struct{ *client.Client }

func (r remote) Create(ctx context.Context, k wire.NewKey) (wire.Key, error) {
	return admin.New(r.Client).Keys.Create(ctx, k)
}

func (r remote) List(ctx context.Context) ([]wire.Key, error) {
	keys := []wire.Key{}
	page := client.Page{Limit: command.MaxRows}
	for {
		list, err := admin.New(r.Client).Keys.List(ctx, page)
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

func (r remote) Find(ctx context.Context, part string) (wire.FoundIDs, error) {
	return admin.New(r.Client).System.FindIDs(ctx, recoup.KeyIDs, part)
}

func (r remote) Revoke(ctx context.Context, id recoup.ID, reason string) (wire.Key, error) {
	return admin.New(r.Client).Keys.Revoke(ctx, id, reason)
}

func (r remote) Rotate(ctx context.Context, id recoup.ID, k wire.KeyRotation) (wire.Key, error) {
	return admin.New(r.Client).Keys.Rotate(ctx, id, k)
}
