package deadletter

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// safe is a store of keys, newest first.
type safe struct{ keys []store.PlatformKey }

func (s *safe) AddFirstPlatformKey(_ context.Context, k store.PlatformKey, _ store.Act) (store.PlatformKey, bool, error) {
	if len(s.keys) == 0 {
		s.keys = []store.PlatformKey{k}
	}
	return s.keys[0], true, nil
}

func (s *safe) PlatformKeys(context.Context, string) ([]store.PlatformKey, error) { return s.keys, nil }

// What is encrypted is decrypted for its own work and place and for nothing else, as long as
// its key is there.
func TestEncrypted(t *testing.T) {
	t.Parallel()
	kept := &safe{}
	ring, err := NewKeyring(t.Context(), kept, rand.Reader, time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	work, other := recoup.ID{1}, recoup.ID{2}
	key, sealed, err := ring.encrypt(work, "fetch", []byte("a page"))
	if err != nil || bytes.Contains(sealed, []byte("a page")) {
		t.Fatalf("sealed as %q, %v", sealed, err)
	}
	if plain, err := ring.decrypt(t.Context(), key, work, "fetch", sealed); err != nil || string(plain) != "a page" {
		t.Errorf("opened as %q, %v", plain, err)
	}
	changed := bytes.Clone(sealed)
	changed[len(changed)-1] ^= 1
	for name, open := range map[string]func() ([]byte, error){
		"other work":  func() ([]byte, error) { return ring.decrypt(t.Context(), key, other, "fetch", sealed) },
		"other place": func() ([]byte, error) { return ring.decrypt(t.Context(), key, work, payloadPlace, sealed) },
		"no such key": func() ([]byte, error) { return ring.decrypt(t.Context(), "p0", work, "fetch", sealed) },
		"changed":     func() ([]byte, error) { return ring.decrypt(t.Context(), key, work, "fetch", changed) },
		"cut":         func() ([]byte, error) { return ring.decrypt(t.Context(), key, work, "fetch", sealed[:5]) },
	} {
		if plain, err := open(); !errors.Is(err, errUndecryptable) {
			t.Errorf("%s: opened as %q, %v", name, plain, err)
		}
	}
	// Another node makes a new key and encrypts with it; this one loads it.
	kept.keys = append([]store.PlatformKey{{ID: "p2", Secret: bytes.Repeat([]byte{2}, 32)}}, kept.keys...)
	second, err := NewKeyring(t.Context(), kept, rand.Reader, time.Unix(1, 0))
	if err != nil {
		t.Fatal(err)
	}
	newer, resealed, err := second.encrypt(work, "fetch", nil)
	if err != nil || newer != "p2" {
		t.Fatalf("sealed with %s, %v", newer, err)
	}
	if plain, err := ring.decrypt(t.Context(), newer, work, "fetch", resealed); err != nil || plain == nil || len(plain) != 0 {
		t.Errorf("opened as %v, %v", plain, err)
	}
	if plain, err := second.decrypt(t.Context(), key, work, "fetch", sealed); err != nil || string(plain) != "a page" {
		t.Errorf("the older key opens %q, %v", plain, err)
	}
}
