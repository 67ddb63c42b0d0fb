package app

import (
	"context"
	"errors"
	"log/slog"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/gatezero"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// newGateZero makes Gate Zero, which goes by the policy in force.
func (n *Node) newGateZero(ids *recoup.IDSource) (*gatezero.Service, error) {
	return gatezero.New(gatezero.Options{
		Store: gatezero.NewStore(n.store.SQL()), Audit: n.store, Gate: n.gateRules, Now: n.o.Now, IDs: ids,
	})
}

// gateRules are the rules of Gate Zero in the policy in force.
func (n *Node) gateRules() policy.GateZero { return n.engine.Policies.Current().Gate }

// redactTakenOver redacts the text of rows that were taken over. It begins again after a
// failure, and does nothing once it is through.
func (n *Node) redactTakenOver(s gatezero.Redactor) func(context.Context) error {
	through := false
	return func(ctx context.Context) error {
		if through {
			return nil
		}
		done, err := gatezero.RedactTakenOver(ctx, s)
		if done.Read > 0 {
			n.o.Logger.Info("looked for secrets in the Gate Zero rows that were taken over", "rows", done.Read, "redacted", done.Redacted)
		}
		through = err == nil
		return err
	}
}

// GateZero is the Gate Zero of a database, for who can open it: the way to import
// large files without a server. Nothing else of a node runs meanwhile.
type GateZero struct {
	*gatezero.Service
	keys *Keys
}

// OpenGateZero opens the database of the options; a file that does not exist is
// made.
func OpenGateZero(ctx context.Context, o Options) (*GateZero, error) {
	o = o.withDefaults()
	s, err := openStore(ctx, &o, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	g := &GateZero{keys: &Keys{store: s, ids: recoup.NewIDSource(o.Random), random: o.Random, now: o.clock()}}
	p, err := g.keys.policy(ctx)
	if err == nil {
		g.Service, err = gatezero.New(gatezero.Options{
			Store: gatezero.NewStore(s.SQL()), Audit: s, Gate: func() policy.GateZero { return p.Gate }, Now: g.keys.now, IDs: g.keys.ids,
		})
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return g, nil
}

// Act is who acts on a database without a server.
func (g *GateZero) Act(reason string) store.Act { return g.keys.act(reason) }

// Close closes the database.
func (g *GateZero) Close() error { return g.keys.Close() }
