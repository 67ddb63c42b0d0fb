package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// adminKeyOff is the value of --admin-key-file with which no key is created.
const adminKeyOff = "off"

// adminKey creates an admin key on a first start, and warns on every start that finds no valid
// one.
func (n *Node) adminKey(ctx context.Context, ids *recoup.IDSource) error {
	if err := n.firstKey(ctx, ids); err != nil {
		return err
	}
	return n.warnWithoutAdmin(ctx)
}

// firstKey creates an admin key on a first start and hands it out once. A key that cannot be
// handed out is revoked, and the node starts without one.
func (n *Node) firstKey(ctx context.Context, ids *recoup.IDSource) error {
	if n.o.AdminKeyFile == adminKeyOff {
		return nil
	}
	now := n.o.Now()
	key, err := httpapi.NewKey(ids, n.o.Random, now, "first admin", httpapi.RoleAdmin, nil, httpapi.KeyLife)
	if err != nil {
		return err
	}
	created, err := n.store.CreateFirstKey(ctx, key, store.Act{By: recoup.System, Reason: "first start", At: now})
	if err != nil || !created {
		return err
	}
	if failed := n.o.FirstKey(key.Secret); failed != nil {
		_, err = n.store.RevokeKey(ctx, key.ID, store.Act{By: recoup.System, Reason: "the key could not be handed out", At: now})
		n.o.Logger.Warn("the first admin key could not be written and was revoked", "error", failed)
	}
	return err
}

// warnWithoutAdmin logs a warning if no admin key is valid, with the command that creates one.
// Only that command helps then: a server creates keys for admins alone.
func (n *Node) warnWithoutAdmin(ctx context.Context) error {
	now := n.o.Now()
	for page := (sqldb.Page{Limit: sqldb.MaxPage}); ; {
		keys, next, err := n.store.Keys(ctx, page)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(keys, func(k wire.Key) bool { return httpapi.Role(k.Role) == httpapi.RoleAdmin && k.Valid(now) }) {
			return nil
		}
		if next.IsZero() {
			break
		}
		page.Cursor = next
	}
	n.o.Logger.Warn("no valid admin key: every admin key has expired or was revoked, or none was created; create one with 'recoup keys create --role admin --name NAME --database " + n.keysDatabase() + "'")
	return nil
}

// keysDatabase is the value of --database for commands on this machine. The address of
// PostgreSQL may contain a password and is left out.
func (n *Node) keysDatabase() string {
	kind, file, err := splitDatabase(n.o.Database)
	if err != nil || kind != "sqlite" {
		return "postgres://…"
	}
	if absolute, err := filepath.Abs(file); err == nil {
		file = absolute // a reader of a journal does not know the current folder
	}
	return "sqlite:" + file
}

// KeyFile is the file that the first admin key is written to: the one that is set, or one
// beside the database file, or, with PostgreSQL, in the state directory that systemd names or
// the current folder.
func (o Options) KeyFile() string {
	path := filepath.Join(os.Getenv("STATE_DIRECTORY"), "recoup.admin-key")
	if kind, file, err := splitDatabase(cmp.Or(o.Database, DefaultDatabase)); err == nil && kind == "sqlite" {
		path = file + ".admin-key"
	}
	path = cmp.Or(o.AdminKeyFile, path)
	if absolute, err := filepath.Abs(path); err == nil {
		return absolute // a reader of a journal does not know the current folder
	}
	return path
}

// WriteKeyFile writes a secret to a new file that only its owner can read. A file or a
// symbolic link of that name is left as it is.
func WriteKeyFile(path, secret string) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s exists and is not overwritten: remove it, or name another with --admin-key-file", path)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(file, secret)
	return errors.Join(err, file.Sync(), file.Close())
}
