package app

import (
	"errors"

	"github.com/recoup-dev/recoup/server/internal/config"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
	"github.com/recoup-dev/recoup/server/internal/push"
)

// receiverKinds are all kinds of receivers, as their configuration is checked.
func receiverKinds(added []config.Kind) []push.Kind {
	kinds := []push.Kind{push.WorkKind()}
	for _, k := range added {
		kinds = append(kinds, push.Kind{Name: k.Name, Fields: k.Fields})
	}
	return kinds
}

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
	var kinds []push.Kind
	for i := range n.o.Slices {
		kinds = append(kinds, n.o.Slices[i].Receivers...)
	}
	return push.New(push.Options{
		Letters: n.letters, Receivers: n.o.Receivers, Kinds: kinds, Sources: n.sliceSources(), Read: httpapi.Read, Now: n.o.Now, Random: jitter, Logger: n.o.Logger,
	})
}
