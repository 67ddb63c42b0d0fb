package deadletter

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// KeyPurpose is the purpose of the platform keys that payloads and checkpoints
// are encrypted with.
const KeyPurpose = "payload"

// KeyStore keeps platform keys.
type KeyStore = store.PlatformKeyReader

// Keyring encrypts payloads and the outputs of stages with AES-256-GCM, by the newest
// key. Each ciphertext is stored with the id of its key, and is bound to its piece of
// work and its place there, so that none can be put in place of another.
type Keyring struct {
	store  KeyStore
	random io.Reader

	mu     sync.RWMutex
	newest string
	keys   map[string]cipher.AEAD
}

// NewKeyring reads the keys, and makes the first.
func NewKeyring(ctx context.Context, s KeyStore, random io.Reader, now time.Time) (*Keyring, error) {
	secret := make([]byte, 32)
	if _, err := io.ReadFull(random, secret); err != nil {
		return nil, fmt.Errorf("making a payload key: %w", err)
	}
	first := store.PlatformKey{ID: "p" + now.UTC().Format("20060102150405"), Purpose: KeyPurpose, Secret: secret}
	if _, _, err := s.AddFirstPlatformKey(ctx, first, store.Act{By: recoup.System, Reason: "first start", At: now}); err != nil {
		return nil, err
	}
	k := &Keyring{store: s, random: random}
	return k, k.Follow(ctx)
}

// Follow loads the present keys.
func (k *Keyring) Follow(ctx context.Context) error {
	found, err := k.store.PlatformKeys(ctx, KeyPurpose)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return errors.New("the database has no payload key")
	}
	keys := make(map[string]cipher.AEAD, len(found))
	for _, key := range found {
		block, err := aes.NewCipher(key.Secret)
		if err != nil {
			return fmt.Errorf("the payload key %s cannot be used: %w", key.ID, err)
		}
		if keys[key.ID], err = cipher.NewGCM(block); err != nil {
			return fmt.Errorf("the payload key %s cannot be used: %w", key.ID, err)
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.newest, k.keys = found[0].ID, keys
	return nil
}

// encrypt encrypts what belongs to a place of a piece of work.
func (k *Keyring) encrypt(work recoup.ID, place string, plain []byte) (keyID string, encrypted []byte, err error) {
	k.mu.RLock()
	keyID = k.newest
	key := k.keys[keyID]
	k.mu.RUnlock()
	nonce := make([]byte, key.NonceSize(), key.NonceSize()+len(plain)+key.Overhead())
	if _, err := io.ReadFull(k.random, nonce); err != nil {
		return "", nil, fmt.Errorf("sealing: %w", err)
	}
	return keyID, key.Seal(nonce, nonce, plain, bound(work, place)), nil
}

// errUndecryptable is returned for what cannot be decrypted: its key was deleted, or
// it was changed.
var errUndecryptable = errors.New("it cannot be opened: its key is gone, or it was changed")

// decrypt decrypts what was encrypted for the place. A key that another node has made
// meanwhile is loaded.
func (k *Keyring) decrypt(ctx context.Context, keyID string, work recoup.ID, place string, encrypted []byte) ([]byte, error) {
	key := k.key(keyID)
	if key == nil {
		if err := k.Follow(ctx); err != nil {
			return nil, err
		}
		key = k.key(keyID)
	}
	if key == nil || len(encrypted) < key.NonceSize() {
		return nil, errUndecryptable
	}
	n := key.NonceSize()
	plain, err := key.Open([]byte{}, encrypted[:n], encrypted[n:], bound(work, place))
	if err != nil {
		return nil, errUndecryptable
	}
	return plain, nil
}

func (k *Keyring) key(id string) cipher.AEAD {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.keys[id]
}

// EncryptBeside encrypts what is kept beside an error, at a place of its own.
func (k *Keyring) EncryptBeside(id recoup.ID, place string, plain []byte) (keyID string, encrypted []byte, err error) {
	return k.encrypt(id, place, plain)
}

// DecryptBeside decrypts what EncryptBeside has encrypted for the same error and place.
func (k *Keyring) DecryptBeside(ctx context.Context, keyID string, id recoup.ID, place string, encrypted []byte) ([]byte, error) {
	plain, err := k.decrypt(ctx, keyID, id, place, encrypted)
	if errors.Is(err, errUndecryptable) {
		return nil, fault.Wrap(err, fault.CodeNotFound, "It can no longer be decrypted: its key was deleted.")
	}
	return plain, err
}

// payloadPlace is the place of the payload; no stage has such a name.
const payloadPlace = "/payload"

func bound(work recoup.ID, place string) []byte { return append(work[:], place...) }
