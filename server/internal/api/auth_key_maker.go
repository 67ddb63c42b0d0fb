package api

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/check"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// KeyMaker makes API keys, for who asks a server and for who can open its database.
type KeyMaker struct {
	Store interface {
		store.KeyReader
		store.KeyWriter
	}
	IDs    *recoup.IDSource
	Random io.Reader
	Hub    func(word string) (id string, err error) // finds a hub by its id or its name
}

// Create makes a key. Its Secret is nowhere else.
func (m KeyMaker) Create(ctx context.Context, asked wire.NewKey, act store.Act) (wire.Key, error) {
	if err := m.check(&asked); err != nil {
		return wire.Key{}, err
	}
	life := time.Duration(asked.Days) * 24 * time.Hour
	key, err := httpapi.NewKey(m.IDs, m.Random, act.At, asked.Name, httpapi.Role(asked.Role), asked.Hubs, cmp.Or(life, httpapi.KeyLife))
	if err != nil {
		return wire.Key{}, err
	}
	return m.Store.CreateKey(ctx, key, act)
}

// check says everything that is wrong with a key that is asked for, and replaces the names of
// its hubs by their ids.
func (m KeyMaker) check(k *wire.NewKey) error {
	var bad fault.FieldErrors
	if k.Name == "" {
		bad.Addf("name", "required", "name is required: who or what will use the key")
	}
	if strings.EqualFold(k.Name, recoup.System) {
		bad.Addf("name", "reserved", "system is the name of what nobody asked for; choose another")
	}
	if !slices.Contains(httpapi.Roles(), httpapi.Role(k.Role)) {
		bad.Addf("role", "enum", "role must be ingest, worker, operator, admin or reader")
	}
	if k.Days < 0 || k.Days > 90 {
		bad.Addf("days", "range", "days must be between 1 and 90")
	}
	var hubs []string
	for i, word := range k.Hubs {
		hub, err := m.Hub(word)
		if err != nil {
			bad.Addf(fmt.Sprintf("hubs[%d]", i), "known", "%v", err)
		} else if !slices.Contains(hubs, hub) {
			hubs = append(hubs, hub)
		}
	}
	bad.Merge(check.Identifier("name", k.Name))
	bad.Merge(check.Reason(k.Reason))
	if err := bad.Err(); err != nil {
		return err
	}
	k.Hubs = hubs
	return nil
}

// Rotate makes a key that takes over from another, which works a while longer. An
// unknown one is ErrNotFound, and one that is revoked or was rotated ErrConflict.
func (m KeyMaker) Rotate(ctx context.Context, id recoup.ID, r wire.KeyRotation, act store.Act) (wire.Key, error) {
	if err := check.Reason(r.Reason); err != nil {
		return wire.Key{}, err
	}
	old, err := m.find(ctx, id)
	if err != nil {
		return wire.Key{}, err
	}
	key, err := httpapi.NewKey(m.IDs, m.Random, act.At, old.Name, httpapi.Role(old.Role), old.Hubs, httpapi.KeyLife)
	if err != nil {
		return wire.Key{}, err
	}
	return m.Store.RotateKey(ctx, old.ID, key, act.At.Add(overlap(r.Hours)), act)
}

// overlap is how long a key still works once another has taken over from it: a day,
// unless somebody says otherwise. None at all is said with a zero.
func overlap(hours *int) time.Duration {
	if hours == nil {
		return 24 * time.Hour
	}
	return time.Duration(*hours) * time.Hour
}

func (m KeyMaker) find(ctx context.Context, id recoup.ID) (wire.Key, error) {
	keys, err := m.List(ctx)
	i := slices.IndexFunc(keys, func(k wire.Key) bool { return k.ID == id })
	switch {
	case err != nil:
		return wire.Key{}, err
	case i < 0:
		return wire.Key{}, sqldb.ErrNotFound
	}
	return keys[i], nil
}

// List returns all keys, newest first; they are few.
func (m KeyMaker) List(ctx context.Context) ([]wire.Key, error) {
	all, page := []wire.Key{}, sqldb.Page{Limit: sqldb.MaxPage}
	for {
		keys, next, err := m.Store.Keys(ctx, page)
		if err != nil {
			return nil, err
		}
		all = append(all, keys...)
		if next.IsZero() {
			return all, nil
		}
		page.Cursor = next
	}
}
