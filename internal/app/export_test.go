package app

import "recoup/fault"

// Codes is the registry that the node goes by.
func (n *Node) Codes() *fault.Registry { return n.registry.Codes() }
