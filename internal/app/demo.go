package app

import (
	"context"

	"recoup/internal/demo"
)

// AddSamples adds the sample data of a demo.
func (n *Node) AddSamples(ctx context.Context) error {
	_, own := n.store.(timed)
	parts := demo.Parts{
		Store: n.store, OwnClock: own, Engine: n.engine, DeadLetters: n.letters, Gate: n.gateZero.Gate, Now: n.o.Now, IDs: n.letters.IDs,
	}
	return parts.Add(ctx)
}
