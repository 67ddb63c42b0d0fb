package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/ledger"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// tenantPurpose is the purpose of the keys that tenants are hashed with.
const tenantPurpose = "tenant"

// tenantKeys are the keys that tenants are hashed with, in the database. The
// newest hashes what is new; the others live until somebody deletes them, so that
// what they hashed can still be found.
type tenantKeys struct {
	store  *vault
	random io.Reader
	now    func() time.Time
	ring   *ledger.Tenants // what this node goes by
}

func newTenantKeys(s *vault, o Options) *tenantKeys {
	return &tenantKeys{store: s, random: o.Random, now: o.Now, ring: &ledger.Tenants{}}
}

// make makes a key that nothing has.
func (k *tenantKeys) make() (store.PlatformKey, error) {
	drawn := make([]byte, 32+4)
	if _, err := io.ReadFull(k.random, drawn); err != nil {
		return store.PlatformKey{}, fmt.Errorf("making a tenant key: %w", err)
	}
	id := fmt.Sprintf("t%s-%x", k.now().UTC().Format("20060102"), drawn[32:])
	return store.PlatformKey{ID: id, Purpose: tenantPurpose, Secret: drawn[:32]}, nil
}

// begin reads the keys, and makes the first.
func (k *tenantKeys) begin(ctx context.Context) error {
	first, err := k.make()
	if err != nil {
		return err
	}
	if _, _, err := k.store.AddFirstPlatformKey(ctx, first, store.Act{By: recoup.System, Reason: "first start", At: k.now()}); err != nil {
		return err
	}
	return k.follow(ctx)
}

// follow lets this node hash tenants with the keys that there are now.
func (k *tenantKeys) follow(ctx context.Context) error {
	keys, err := k.store.PlatformKeys(ctx, tenantPurpose)
	if err != nil {
		return err
	}
	if len(keys) == 0 {
		return errors.New("the database has no tenant key any more; the ones in use stay")
	}
	ring := make([]ledger.TenantKey, len(keys))
	for i, key := range keys {
		ring[i] = ledger.TenantKey{ID: key.ID, Secret: key.Secret}
	}
	return k.ring.Replace(keys[0].ID, ring...)
}

// TenantKeys lists the live keys, newest first.
func (k *tenantKeys) TenantKeys(ctx context.Context) ([]wire.TenantKey, error) {
	keys, err := k.store.Store.PlatformKeys(ctx, tenantPurpose) // listing them needs no decryption
	list := make([]wire.TenantKey, len(keys))
	for i, key := range keys {
		list[i] = wire.TenantKey{ID: key.ID, CreatedAt: key.CreatedAt, Current: i == 0}
	}
	return list, err
}

// RotateTenantKey makes the key that hashes from now on.
func (k *tenantKeys) RotateTenantKey(ctx context.Context, act store.Act) (wire.TenantKey, error) {
	key, err := k.make()
	if err != nil {
		return wire.TenantKey{}, err
	}
	if err := k.store.AddPlatformKey(ctx, key, act); err != nil {
		return wire.TenantKey{}, err
	}
	return wire.TenantKey{ID: key.ID, CreatedAt: act.At, Current: true}, k.follow(ctx)
}

// DeleteTenantKey shreds what a key has hashed: nobody can find it by its tenant
// any more. The one in use stays.
func (k *tenantKeys) DeleteTenantKey(ctx context.Context, id string, act store.Act) error {
	keys, err := k.store.PlatformKeys(ctx, tenantPurpose)
	if err != nil {
		return err
	}
	switch i := slices.IndexFunc(keys, func(key store.PlatformKey) bool { return key.ID == id }); i {
	case -1:
		return sqldb.ErrNotFound
	case 0:
		return fault.New(fault.CodeConflict, "This tenant key is in use: rotate it first, then delete it.")
	}
	if err := k.store.DeletePlatformKey(ctx, id, act); err != nil {
		return err
	}
	return k.follow(ctx)
}
