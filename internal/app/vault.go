package app

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"recoup/internal/deadletter"
	"recoup/internal/store"
)

// vault keeps the platform's own keys in the database. With a master key, which is
// not there, it seals them on their way in, each bound to its id; without one they
// lie there as they are.
type vault struct {
	Store
	random io.Reader
	master cipher.AEAD // nil: there is none
	name   string      // of the master key
}

// ErrMasterKey is returned where keys are sealed by a master key that the node does
// not have. Nothing is lost: with the right one they open.
var ErrMasterKey = errors.New("the keys in the database are sealed by another master key: --master-key-file must name the file with that one")

// masterKeySize is the length of a master key in bytes.
const masterKeySize = 32

// readMasterKey reads a master key from its file.
func readMasterKey(o *Options, file string) error {
	if file == "" {
		return nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("cannot be read: %w", errors.Unwrap(err))
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(key) != masterKeySize {
		return fmt.Errorf("must name a file with %d bytes in base64, as \"head -c %d /dev/urandom | base64\" makes them", masterKeySize, masterKeySize)
	}
	o.MasterKey = key
	return nil
}

func newVault(s Store, o Options) (*vault, error) {
	v := &vault{Store: s, random: o.Random}
	if len(o.MasterKey) == 0 {
		return v, nil
	}
	block, err := aes.NewCipher(o.MasterKey)
	if err == nil {
		v.master, err = cipher.NewGCM(block)
	}
	if err != nil {
		return nil, fmt.Errorf("the master key cannot be used: %w", err)
	}
	sum := sha256.Sum256(append([]byte("recoup master key\x00"), o.MasterKey...))
	v.name = fmt.Sprintf("m%x", sum[:4])
	return v, nil
}

// seal seals a key, if there is a master key.
func (v *vault) seal(k store.PlatformKey) (store.PlatformKey, error) {
	if v.master == nil {
		return k, nil
	}
	nonce := make([]byte, v.master.NonceSize())
	if _, err := io.ReadFull(v.random, nonce); err != nil {
		return k, fmt.Errorf("sealing a key: %w", err)
	}
	k.Secret, k.WrappedBy = v.master.Seal(nonce, nonce, k.Secret, boundTo(&k)), v.name
	return k, nil
}

// open opens a key. WrappedBy stays, to be told.
func (v *vault) open(k store.PlatformKey) (store.PlatformKey, error) {
	if k.WrappedBy == "" {
		return k, nil
	}
	if k.WrappedBy != v.name || len(k.Secret) < v.master.NonceSize() {
		return k, fmt.Errorf("platform key %s: %w", k.ID, ErrMasterKey)
	}
	n := v.master.NonceSize()
	secret, err := v.master.Open(nil, k.Secret[:n], k.Secret[n:], boundTo(&k))
	if err != nil {
		return k, fmt.Errorf("platform key %s was changed in the database, or moved there: it does not open", k.ID)
	}
	k.Secret = secret
	return k, nil
}

// boundTo is what a sealed key is valid for.
func boundTo(k *store.PlatformKey) []byte { return []byte(k.Purpose + "\x00" + k.ID) }

// AddFirstPlatformKey adds a key unless its purpose has one.
func (v *vault) AddFirstPlatformKey(ctx context.Context, k store.PlatformKey, act store.Act) (store.PlatformKey, bool, error) {
	sealed, err := v.seal(k)
	if err != nil {
		return k, false, err
	}
	newest, added, err := v.Store.AddFirstPlatformKey(ctx, sealed, act)
	if err != nil {
		return newest, false, err
	}
	newest, err = v.open(newest)
	return newest, added, err
}

// AddPlatformKey adds a key.
func (v *vault) AddPlatformKey(ctx context.Context, k store.PlatformKey, act store.Act) error {
	sealed, err := v.seal(k)
	if err != nil {
		return err
	}
	return v.Store.AddPlatformKey(ctx, sealed, act)
}

// PlatformKeys returns the keys of a purpose, newest first.
func (v *vault) PlatformKeys(ctx context.Context, purpose string) ([]store.PlatformKey, error) {
	keys, err := v.Store.PlatformKeys(ctx, purpose)
	for i := range keys {
		if err == nil {
			keys[i], err = v.open(keys[i])
		}
	}
	return keys, err
}

// wrap seals the keys that lie bare, and returns how many did.
func (v *vault) wrap(ctx context.Context, act store.Act) (n int, err error) {
	for _, purpose := range []string{tenantPurpose, deadletter.KeyPurpose} {
		keys, err := v.PlatformKeys(ctx, purpose)
		if err != nil {
			return n, err
		}
		for _, k := range keys {
			if k.WrappedBy != "" {
				continue
			}
			if k, err = v.seal(k); err != nil {
				return n, err
			}
			if err := v.WrapPlatformKey(ctx, k, act); err != nil && !errors.Is(err, store.ErrRefused) { // another node was faster
				return n, err
			}
			n++
		}
	}
	return n, nil
}
