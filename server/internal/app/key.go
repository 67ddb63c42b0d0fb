package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/api"
	"github.com/recoup-dev/recoup/server/internal/check"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// CommandLine is who acts on a database without a server.
const CommandLine = "command line"

// Keys are the keys of a database, for who can open it: the way to make a key
// when nobody has one. Nothing else of a node runs meanwhile.
type Keys struct {
	store  Store
	ids    *recoup.IDSource
	random io.Reader
	now    func() time.Time
}

// What keeps a key from being changed.
var (
	ErrNoKey   = errors.New("there is no key with this id")
	ErrKeyGone = errors.New("the key is revoked, or another took over from it before")
)

// ErrNoDatabase is returned for a database file that does not exist, where one
// with keys in it is needed.
var ErrNoDatabase = errors.New("there is no database file of that name")

// OpenKeys opens the database of the options. A database file that does not
// exist is made if create says so.
func OpenKeys(ctx context.Context, o Options, create bool) (*Keys, error) {
	o = o.withDefaults()
	if !create {
		if err := MustExist(o.Database); err != nil {
			return nil, err
		}
	}
	s, err := openStore(ctx, &o, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	return &Keys{store: s, ids: recoup.NewIDSource(o.Random), random: o.Random, now: o.clock()}, nil
}

// MustExist returns ErrNoDatabase for a database file that is not there.
func MustExist(address string) error {
	kind, file, err := splitDatabase(address)
	if err != nil {
		return err
	}
	if _, err := os.Stat(file); kind == "sqlite" && errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%w: %s", ErrNoDatabase, file)
	}
	return nil
}

// Close closes the database.
func (k *Keys) Close() error { return k.store.Close() }

func (k *Keys) act(reason string) store.Act {
	return store.Act{By: CommandLine, Reason: check.Redacted(reason), At: k.now()}
}

func (k *Keys) maker() api.KeyMaker {
	return api.KeyMaker{Store: k.store, IDs: k.ids, Random: k.random}
}

// Create makes a key. Its Secret is nowhere else.
func (k *Keys) Create(ctx context.Context, asked wire.NewKey) (wire.Key, error) {
	p, err := k.policy(ctx)
	if err != nil {
		return wire.Key{}, err
	}
	m := k.maker()
	m.Hub = func(word string) (string, error) { return policy.FindHub(word, policy.HubsOf(p.Tables())) }
	return m.Create(ctx, asked, k.act(asked.Reason))
}

// policy is the one that nodes on this database go by: it knows the hubs.
func (k *Keys) policy(ctx context.Context) (*policy.Policy, error) {
	current, err := k.store.CurrentPolicy(ctx)
	switch {
	case errors.Is(err, sqldb.ErrNotFound):
		return policy.Default(), nil
	case err != nil:
		return nil, err
	}
	return storedPolicy(current)
}

// List returns all keys, newest first.
func (k *Keys) List(ctx context.Context) ([]wire.Key, error) { return k.maker().List(ctx) }

// Find returns the keys whose id begins or ends with a part.
func (k *Keys) Find(ctx context.Context, text string) (wire.FoundIDs, error) {
	part, err := recoup.ParseIDPart(text)
	if err != nil {
		return wire.FoundIDs{}, err
	}
	found, err := k.store.FindIDs(ctx, recoup.KeyIDs, part, shownKeys+1)
	shown := found[:min(len(found), shownKeys)]
	return wire.FoundIDs{IDs: shown, More: len(found) > len(shown)}, err
}

// shownKeys is how many keys are named that a part of an id may mean.
const shownKeys = 10

// Revoke ends a key. Nodes that run notice it within seconds.
func (k *Keys) Revoke(ctx context.Context, id recoup.ID, reason string) (wire.Key, error) {
	if err := check.Reason(reason); err != nil {
		return wire.Key{}, err
	}
	key, err := k.store.RevokeKey(ctx, id, k.act(reason))
	if errors.Is(err, sqldb.ErrNotFound) {
		err = ErrNoKey
	}
	return key, err
}

// Rotate makes a key that takes over from another, which works a while longer.
func (k *Keys) Rotate(ctx context.Context, id recoup.ID, r wire.KeyRotation) (wire.Key, error) {
	key, err := k.maker().Rotate(ctx, id, r, k.act(r.Reason))
	switch {
	case errors.Is(err, sqldb.ErrNotFound):
		err = ErrNoKey
	case errors.Is(err, store.ErrConflict):
		err = ErrKeyGone
	}
	return key, err
}
