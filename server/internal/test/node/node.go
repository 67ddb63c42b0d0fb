// Package node gives tests a node without its server: a store of either kind, a
// clock that only the test turns, the default policy, and the services that
// [github.com/recoup-dev/recoup/server/internal/app] would put on them. Package server has nodes that listen.
//
// It stands beside app and not on it, so that the tests of a service are built and
// run again only for what is below them.
package node

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/alert"
	"github.com/recoup-dev/recoup/server/internal/deadletter"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// Ada may do everything.
var Ada = engine.Caller{Name: "ada"}

// Node is the services of a node, all on one store and one clock.
type Node struct {
	*testing.T
	*Clock
	DB       Store
	IDs      *recoup.IDSource
	Policies *engine.Policies
	Ledger   *Ledger
	Engine   *engine.Engine
	Letters  *deadletter.Service
	Alerts   *alert.Evaluator
}

// On makes the services on a store that is ready for the default policy, at [Epoch].
func On(t *testing.T, db Store) *Node {
	t.Helper()
	n := &Node{T: t, Clock: NewClock(Epoch), DB: db, IDs: recoup.NewIDSource(rand.Reader), Policies: engine.NewPolicies(policy.Default()), Ledger: &Ledger{fault.Default()}}
	db.UseClock(n.Now)
	keys, err := deadletter.NewKeyring(t.Context(), db, rand.Reader, Epoch)
	n.Must(err)
	n.Engine, err = engine.New(engine.Options{Store: db, Ledger: n.Ledger, Policies: n.Policies, Codes: fault.Default, Now: n.Now, IDs: n.IDs})
	n.Must(err)
	n.Letters, err = deadletter.New(deadletter.Options{Store: db, Policies: n.Policies, Codes: fault.Default, Keys: keys, Now: n.Now, Random: func() float64 { return 1 }, IDs: n.IDs})
	n.Must(err)
	n.Alerts = &alert.Evaluator{Store: db, Policies: n.Policies.Current, Codes: fault.Default, Now: n.Now, IDs: n.IDs}
	return n
}

// Ledger keeps what the engine says as it is, without the counts of a real one.
type Ledger struct{ Codes *fault.Registry }

// Keep implements [engine.Ledger].
func (l *Ledger) Keep(_ context.Context, _ time.Time, events []recoup.Event) ([]*store.Event, error) {
	kept := make([]*store.Event, len(events))
	for i, e := range events {
		kept[i] = engine.OwnEvent(l.Codes, e)
	}
	return kept, nil
}

// Must ends the test if something could not be done.
func (n *Node) Must(err error) {
	n.Helper()
	if err != nil {
		n.Fatal(err)
	}
}

// ID is a fresh one.
func (n *Node) ID() recoup.ID { return n.IDs.New(n.Now()) }

// Report records failures that have to be accepted.
func (n *Node) Report(reports ...recoup.Report) []recoup.Error {
	n.Helper()
	out, err := n.Engine.Report(n.Context(), Ada, reports)
	n.Must(err)
	made := make([]recoup.Error, len(out))
	for i := range out {
		if out[i].Err != nil {
			n.Fatalf("report %d: %v", i, out[i].Err)
		}
		made[i] = out[i].Error
	}
	return made
}

// Act applies an input that has to be accepted.
func (n *Node) Act(act engine.Act) store.Outcome {
	n.Helper()
	out, err := n.Engine.One(n.Context(), Ada, act)
	if err != nil {
		n.Fatalf("%T: %v", act.Input, err)
	}
	return out
}

// Read returns an error as the store has it.
func (n *Node) Read(id recoup.ID) recoup.Error {
	n.Helper()
	e, err := n.DB.Error(n.Context(), id)
	n.Must(err)
	return e
}

// Events returns what the ledger has of the weeks around [Epoch], newest first.
func (n *Node) Events() []store.Event {
	n.Helper()
	span := store.EventFilter{From: Epoch.AddDate(0, -1, 0), To: Epoch.AddDate(0, 2, 0)}
	list, _, err := n.DB.Events(n.Context(), span, sqldb.Page{Limit: sqldb.MaxPage})
	n.Must(err)
	return list
}

// Refused holds an error to be a refusal with a code, and returns it.
func (n *Node) Refused(err error, code recoup.Code) *fault.Error {
	n.Helper()
	var refusal *fault.Error
	if !errors.As(err, &refusal) || refusal.Code != code {
		n.Fatalf("got %v, want %s", err, code)
	}
	return refusal
}

// RefusedFields holds an error to be a refusal of exactly these fields, in this
// order.
func (n *Node) RefusedFields(err error, fields ...string) *fault.Error {
	n.Helper()
	refusal := n.Refused(err, fault.CodeValidationError)
	var got []string
	for _, f := range refusal.Fields() {
		got = append(got, f.Field)
	}
	if !slices.Equal(got, fields) {
		n.Errorf("refused %v, want %v: %v", got, fields, refusal.Fields())
	}
	return refusal
}
