package app

import (
	"errors"

	"github.com/recoup-dev/recoup/server/internal/httpapi"
	"github.com/recoup-dev/recoup/server/internal/push"
)

// newPusher makes what delivers work, with the receivers of this node.
func (n *Node) newPusher() (*push.Pusher, error) {
	most := n.engine.Policies.Current().Leases.Max
	var bad []error
	for _, c := range n.o.Receivers {
		bad = append(bad, c.CheckLease(most))
	}
	if err := errors.Join(bad...); err != nil {
		return nil, err
	}
	return push.New(push.Options{
		Letters: n.letters, Gate: n.gateZero, Receivers: n.o.Receivers, Read: httpapi.Read, Now: n.o.Now, Random: jitter, Logger: n.o.Logger,
	})
}
