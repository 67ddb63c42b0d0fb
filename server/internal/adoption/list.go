package adoption

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// KeyPurpose is the purpose of the key that digests of adopted rows are made with.
const KeyPurpose = "adoption"

// Keys keeps the platform's keys.
type Keys interface {
	AddFirstPlatformKey(ctx context.Context, k store.PlatformKey, act store.Act) (newest store.PlatformKey, added bool, err error)
}

// FirstKey returns a function that returns the key of digests, and makes it when the first table
// is adopted. It is never rotated: every row would look as if it had changed.
func FirstKey(keys Keys, random io.Reader, now func() time.Time) func(context.Context) ([]byte, error) {
	return func(ctx context.Context) ([]byte, error) {
		secret := make([]byte, 32)
		if _, err := io.ReadFull(random, secret); err != nil {
			return nil, fmt.Errorf("making a key for adopted tables: %w", err)
		}
		at := now()
		first := store.PlatformKey{ID: "a" + at.UTC().Format("20060102150405"), Purpose: KeyPurpose, Secret: secret}
		key, _, err := keys.AddFirstPlatformKey(ctx, first, store.Act{By: recoup.System, Reason: "first adopted table", At: at})
		return key.Secret, err
	}
}

// List returns the adopted tables, with how far nodes are.
func (s *Service) List(ctx context.Context) ([]wire.Adoption, error) {
	list, err := s.Store.Adoptions(ctx)
	if err != nil {
		return nil, err
	}
	figures, err := s.Store.AdoptionFigures(ctx)
	adopted := make([]wire.Adoption, len(list))
	for i := range list {
		adopted[i] = list[i].Adoption
		for _, f := range figures {
			if f.Table == list[i].Table {
				adopted[i].Unreadable, adopted[i].UnreadableKey, adopted[i].UnreadableReason = f.Bad, f.Example.Key, f.Example.Cause
				adopted[i].Refused, adopted[i].RefusedKey, adopted[i].RefusedReason = f.Refused, f.Refuser.Key, f.Refuser.Cause
				adopted[i].Pending, adopted[i].Behind, adopted[i].Unwritten = f.Pending, f.Oldest.Seconds(), f.Queued
			}
		}
	}
	return adopted, err
}
