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

	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/deadletter"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// vault keeps the platform's own keys in the database. With a master key, which is
// not there, it encrypts them on their way in, each bound to its id; without one they
// are plaintext.
type vault struct {
	Store
	random io.Reader
	master cipher.AEAD // nil: there is none
	name   string      // of the master key
	added  []string    // purposes of the keys of slices
}

// ErrMasterKey is returned where keys are encrypted with a master key that the node
// does not have. Nothing is lost: the right one decrypts them.
var ErrMasterKey = errors.New("the keys in the database are sealed by another master key: --master-key-file must name the file with that one")

// errKeyChanged is returned for a key that its master key does not open.
var errKeyChanged = errors.New("was changed in the database, or moved there: it does not open")

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
		return fmt.Errorf("must name a file with %d bytes in base64, as \"umask 077; head -c %d /dev/urandom | base64 > FILE\" makes it", masterKeySize, masterKeySize)
	}
	o.MasterKey, o.masterKeyFile = key, file
	return nil
}

func newVault(s Store, o Options) (*vault, error) {
	v := &vault{Store: s, random: o.Random}
	for i := range o.Slices {
		v.added = append(v.added, o.Slices[i].Secrets...)
	}
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

// openVault opens the keys that there are. A node that cannot does not start.
func (n *Node) openVault(ctx context.Context) (err error) {
	if n.vault, err = newVault(n.store, n.o); err != nil {
		return err
	}
	bare, err := n.vault.inspect(ctx)
	if err != nil {
		return err
	}
	n.warnLoose()
	switch {
	case n.vault.master != nil && bare > 0:
		n.o.Logger.Warn("plaintext keys in the database although there is a master key: 'recoup keys payload wrap' encrypts them", "keys", bare)
	case n.vault.master == nil && !n.o.Demo:
		n.o.Logger.Warn("the keys that encrypt payloads are stored in plaintext; --master-key-file encrypts them")
	}
	return nil
}

// encrypt encrypts a key, if there is a master key.
func (v *vault) encrypt(k store.PlatformKey) (store.PlatformKey, error) {
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

// open decrypts a key. WrappedBy stays, to be shown.
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
		return k, fmt.Errorf("platform key %s %w", k.ID, errKeyChanged)
	}
	k.Secret = secret
	return k, nil
}

// boundTo is what an encrypted key is valid for.
func boundTo(k *store.PlatformKey) []byte { return []byte(k.Purpose + "\x00" + k.ID) }

// AddFirstPlatformKey adds a key unless its purpose has one.
func (v *vault) AddFirstPlatformKey(ctx context.Context, k store.PlatformKey, act store.Act) (store.PlatformKey, bool, error) {
	encrypted, err := v.encrypt(k)
	if err != nil {
		return k, false, err
	}
	newest, added, err := v.Store.AddFirstPlatformKey(ctx, encrypted, act)
	if errors.Is(err, store.ErrOtherWrap) {
		return newest, false, fmt.Errorf("platform key %s: %w", k.ID, ErrMasterKey)
	}
	if err != nil {
		return newest, false, err
	}
	newest, err = v.open(newest)
	return newest, added, err
}

// AddPlatformKey adds a key. Beside keys that are encrypted with a master key which this node
// does not have it is refused, before anything is written.
func (v *vault) AddPlatformKey(ctx context.Context, k store.PlatformKey, act store.Act) error {
	encrypted, err := v.encrypt(k)
	if err != nil {
		return err
	}
	return v.explain(v.Store.AddPlatformKey(ctx, encrypted, act))
}

// explain says why a key is refused beside others.
func (v *vault) explain(err error) error {
	switch {
	case !errors.Is(err, store.ErrOtherWrap) && !errors.Is(err, ErrMasterKey):
		return err
	case v.master == nil:
		return fault.Wrap(err, fault.CodeConflict, "This node has no master key, and the keys in the database are sealed by one: start it with --master-key-file FILE.")
	}
	return fault.Wrap(err, fault.CodeConflict, "The keys in the database are sealed by another master key than this node has: nothing was changed.")
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

// purposes are what the platform has keys for.
func (v *vault) purposes() []string {
	return append([]string{tenantPurpose, deadletter.KeyPurpose}, v.added...)
}

// inspect opens all live keys, and counts those that lie bare.
func (v *vault) inspect(ctx context.Context) (bare int, err error) {
	for _, purpose := range v.purposes() {
		keys, err := v.PlatformKeys(ctx, purpose)
		if err != nil {
			return bare, err
		}
		for i := range keys {
			if keys[i].WrappedBy == "" {
				bare++
			}
		}
	}
	return bare, nil
}

// ready says why a node cannot use the keys, if it cannot.
func (v *vault) ready(ctx context.Context) error {
	_, err := v.inspect(ctx)
	if errors.Is(err, ErrMasterKey) || errors.Is(err, errKeyChanged) {
		return fault.Wrap(err, fault.CodeTemporaryUnavailable, "This node cannot open the keys in the database: its master key is missing or another one, or a key was changed there.")
	}
	return err
}

// wrap encrypts the plaintext keys, and returns how many there were.
func (v *vault) wrap(ctx context.Context, act store.Act) (n int, err error) {
	for _, purpose := range v.purposes() {
		keys, err := v.PlatformKeys(ctx, purpose)
		if err != nil {
			return n, err
		}
		for _, k := range keys {
			if k.WrappedBy != "" {
				continue
			}
			if k, err = v.encrypt(k); err != nil {
				return n, err
			}
			err := v.WrapPlatformKey(ctx, k, act)
			switch {
			case err == nil:
				n++
			case errors.Is(err, store.ErrOtherWrap), !errors.Is(err, store.ErrRefused) && !errors.Is(err, sqldb.ErrNotFound):
				return n, err
			} // else another node was faster
		}
	}
	return n, nil
}
