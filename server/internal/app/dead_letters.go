package app

import (
	"context"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/deadletter"
)

// newLetters makes what looks after staged work and dead letters.
func (n *Node) newLetters(ctx context.Context, ids *recoup.IDSource) (*deadletter.Service, error) {
	keys, err := deadletter.NewKeyring(ctx, n.vault, n.o.Random, n.o.Now())
	if err != nil {
		return nil, err
	}
	n.registry.payloadKeys = &payloadKeys{vault: n.vault, ring: keys}
	return deadletter.New(deadletter.Options{
		Store: n.store, Policies: n.engine.Policies, Codes: n.registry.Codes, Keys: keys, Now: n.o.Now, Random: jitter, IDs: ids, Heartbeats: n.heartbeats,
	})
}

// maxAdvances bounds how long replays are advanced without a pause.
const maxAdvances = 50

// advanceLetters advances replays, and dead-letters work over which workers were lost.
func (n *Node) advanceLetters(ctx context.Context) error {
	for range maxAdvances {
		if more, err := n.letters.Advance(ctx); err != nil || !more {
			return err
		}
	}
	return nil
}
