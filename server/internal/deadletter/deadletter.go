// Package deadletter governs work that runs in stages and failed for good
// (spec 002): it records dead letters, takes them through triage, remedy,
// validation, replay and verification, replays them by the thousand, and hands
// work to workers.
//
// Decisions are pure functions of a dead letter or a replay and a time; the [Service]
// checks and redacts what callers send, and hands the decision to the store together
// with its ledger event. It knows neither HTTP nor SQL.
package deadletter

import (
	"errors"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/lease"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// Store is what the service needs of a store.
type Store interface {
	store.DeadLetterWriter
	store.Queue
	store.Replayer
	store.DeadLetterReader
	store.AuditWriter
}

// Options are what a service is made of. All are required.
type Options struct {
	Store      Store
	Policies   *engine.Policies
	Codes      func() *fault.Registry
	Keys       *Keyring
	Now        func() time.Time
	Random     func() float64 // in [0, 1), for the jitter of retries
	IDs        *recoup.IDSource
	Heartbeats *lease.Heartbeats // nil: nobody asks who claims
}

// Service is safe for concurrent use.
type Service struct {
	Options
	*lease.Waiters // claims that wait
}

// New checks the options.
func New(o Options) (*Service, error) {
	if o.Store == nil || o.Policies == nil || o.Codes == nil || o.Keys == nil || o.Now == nil || o.Random == nil || o.IDs == nil {
		return nil, errors.New("deadletter: store, policies, codes, keys, clock, randomness and ids are required")
	}
	return &Service{Options: o, Waiters: lease.NewWaiters(store.WakeWork)}, nil
}

// now is the time as stores keep it, so that what is answered is what is kept.
func (s *Service) now() time.Time { return s.Now().UTC().Truncate(time.Microsecond) }

// table returns the table of that name for dead letters; without a name, the
// first that the policy has.
func (s *Service) table(name string) (*policy.Table, error) {
	p := s.Policies.Current()
	for _, t := range p.Tables() {
		if t.DeadLetter && (name == "" || t.Name == name) {
			return t, nil
		}
	}
	if name == "" {
		return nil, fault.New(fault.CodeConfigurationError, "The policy has no table of dead letters.")
	}
	return nil, fault.BadField("table", "dead_letters", "table must be one of the policy's tables of dead letters")
}

// tableOf returns the table of that name for dead letters; without a name, that of the
// pipeline's hub, and the policy's first where the hub has none.
func (s *Service) tableOf(name, pipeline string) (*policy.Table, error) {
	p := s.Policies.Current()
	for _, t := range p.Tables() {
		if name == "" && t.DeadLetter && t.Hub == p.PipelineHub(pipeline).ID {
			return t, nil
		}
	}
	return s.table(name)
}

// mayKeep refuses a table that the caller names and that is another hub's, unless it
// is the one that those without their own have in common.
func (s *Service) mayKeep(c engine.Caller, name string) error {
	if name == "" || len(c.Hubs) == 0 {
		return nil
	}
	t, err := s.table(name)
	if err != nil {
		return err
	}
	if common, err := s.table(""); err != nil || t != common && !c.MayTouch(t) {
		return engine.ErrForbidden
	}
	return nil
}
