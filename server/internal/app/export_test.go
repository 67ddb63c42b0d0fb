package app

import (
	"context"

	"github.com/recoup-dev/recoup/fault"
)

// Codes is the registry that the node goes by.
func (n *Node) Codes() *fault.Registry { return n.registry.Codes() }

// Refresh lets the node follow what is in the database.
func (n *Node) Refresh(ctx context.Context) error { return n.registry.Refresh(ctx) }
