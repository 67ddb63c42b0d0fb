package app

import (
	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/alert"
)

// evaluator judges the alert rules; whoever leads runs it.
func (n *Node) evaluator() *alert.Evaluator {
	return &alert.Evaluator{
		Store: n.store, Policies: n.engine.Policies.Current, Codes: n.registry.Codes, Now: n.o.Now,
		IDs: recoup.NewIDSource(n.o.Random),
	}
}
