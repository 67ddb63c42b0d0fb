package app

import (
	"context"
	"fmt"
	"io"

	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/deadletter"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// payloadKeys are the keys that encrypt payloads and checkpoints. The newest encrypts
// what is new, and each of them decrypts what it has encrypted.
type payloadKeys struct {
	vault *vault
	ring  *deadletter.Keyring // what this node goes by
}

// PayloadKeys lists the live keys, newest first.
func (k *payloadKeys) PayloadKeys(ctx context.Context) ([]wire.PayloadKey, error) {
	keys, err := k.vault.Store.PlatformKeys(ctx, deadletter.KeyPurpose) // listing them needs no decryption
	list := make([]wire.PayloadKey, len(keys))
	for i, key := range keys {
		list[i] = wire.PayloadKey{ID: key.ID, CreatedAt: key.CreatedAt, Current: i == 0, WrappedBy: key.WrappedBy}
	}
	return list, err
}

// RotatePayloadKey makes the key that encrypts from now on.
func (k *payloadKeys) RotatePayloadKey(ctx context.Context, act store.Act) (wire.PayloadKey, error) {
	drawn := make([]byte, 32+4)
	if _, err := io.ReadFull(k.vault.random, drawn); err != nil {
		return wire.PayloadKey{}, fmt.Errorf("making a payload key: %w", err)
	}
	key := store.PlatformKey{ID: fmt.Sprintf("p%s-%x", act.At.UTC().Format("20060102"), drawn[32:]), Purpose: deadletter.KeyPurpose, Secret: drawn[:32]}
	if err := k.vault.AddPlatformKey(ctx, key, act); err != nil {
		return wire.PayloadKey{}, err
	}
	return wire.PayloadKey{ID: key.ID, CreatedAt: act.At, Current: true, WrappedBy: k.vault.name}, k.ring.Follow(ctx)
}

// WrapKeys encrypts the platform's plaintext keys, those of tenants too.
func (k *payloadKeys) WrapKeys(ctx context.Context, act store.Act) (wire.KeysWrapped, error) {
	if k.vault.master == nil {
		return wire.KeysWrapped{}, fault.New(fault.CodeConflict, "This node has no master key: start it with --master-key-file FILE.")
	}
	n, err := k.vault.wrap(ctx, act)
	return wire.KeysWrapped{Wrapped: n, WrappedBy: k.vault.name}, k.vault.explain(err)
}
