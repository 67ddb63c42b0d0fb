package app

import (
	"context"
	"fmt"
	"io"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/adoption"
	"github.com/recoup-dev/recoup/server/internal/api"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// adoptionPurpose is the purpose of the key that digests of adopted rows are made with.
const adoptionPurpose = "adoption"

// newAdoptions makes what governs adopted tables, on a store that can have any.
func (n *Node) newAdoptions() (err error) {
	s, can := n.store.(adoption.Store)
	if !can {
		return nil
	}
	n.adoptions, err = adoption.New(adoption.Options{
		Store: s, Engine: n.engine, Key: n.adoptionKey, Letters: n.letters, Node: n.name, Now: n.o.Now, Logger: n.o.Logger,
	})
	return err
}

// adoptionKey returns the key of digests, and makes it when the first table is adopted.
// It is never rotated: every row would look as if it had changed.
func (n *Node) adoptionKey(ctx context.Context) ([]byte, error) {
	secret := make([]byte, 32)
	if _, err := io.ReadFull(n.o.Random, secret); err != nil {
		return nil, fmt.Errorf("making a key for adopted tables: %w", err)
	}
	now := n.o.Now()
	first := store.PlatformKey{ID: "a" + now.UTC().Format("20060102150405"), Purpose: adoptionPurpose, Secret: secret}
	key, _, err := n.vault.AddFirstPlatformKey(ctx, first, store.Act{By: recoup.System, Reason: "first adopted table", At: now})
	return key.Secret, err
}

// listAdoptions lists what is adopted, with how far nodes are; nil: nothing can be.
func (n *Node) listAdoptions() func(context.Context) ([]wire.Adoption, error) {
	if n.adoptions == nil {
		return nil
	}
	return func(ctx context.Context) ([]wire.Adoption, error) {
		list, err := n.adoptions.Store.Adoptions(ctx)
		if err != nil {
			return nil, err
		}
		figures, err := n.adoptions.Store.AdoptionFigures(ctx)
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
}

// sources has what errors keep of their source rows; nil: nothing can be adopted.
func (n *Node) sources() api.Sources {
	if n.adoptions == nil {
		return nil
	}
	return n.adoptions
}
