package app

import (
	"context"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// StorePolicy does the first half of ApplyPolicy, as a node does that dies then.
func (n *Node) StorePolicy(ctx context.Context, text string) error {
	p, err := policy.Load("policy", []byte(text), nil)
	if err != nil {
		return err
	}
	_, _, err = n.store.AddPolicy(ctx, wire.PolicyVersion{Version: p.Version, Text: text}, store.Act{By: recoup.System, At: n.o.Now(), Reason: "half"})
	return err
}
