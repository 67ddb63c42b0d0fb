package gatezero

import (
	"context"
	"errors"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// Options are what a service is made of. All of them are required.
type Options struct {
	Store *Store
	Audit store.AuditWriter
	Gate  func() policy.GateZero // the one in force
	Now   func() time.Time
	IDs   *recoup.IDSource
}

// Service is Gate Zero as callers see it. Reads go straight to the store; input is
// checked first.
type Service struct {
	Reader
	store *Store
	audit store.AuditWriter
	gate  func() policy.GateZero
	now   func() time.Time
	ids   *recoup.IDSource
}

// New makes a service.
func New(o Options) (*Service, error) {
	if o.Store == nil || o.Audit == nil || o.Gate == nil || o.Now == nil || o.IDs == nil {
		return nil, errors.New("gatezero: store, audit, policy, clock and ids are required")
	}
	return &Service{Reader: o.Store, store: o.Store, audit: o.Audit, gate: o.Gate, now: o.Now, ids: o.IDs}, nil
}

// decide is the decision about an input, by the policy now in force.
func (s *Service) decide(in Input) DecideCase {
	gate := s.gate()
	return func(current Case, now time.Time) (Case, CaseEffects, error) {
		return Step(gate, current, in, now)
	}
}

// Gate is the policy in force.
func (s *Service) Gate() policy.GateZero { return s.gate() }

// open refuses what would begin where the policy has no Gate Zero.
func (s *Service) open() error {
	if gate := s.gate(); gate.Exists() {
		return nil
	}
	return fault.New(fault.CodeBusinessRuleViolation, "There is no Gate Zero here: the policy in force has no gate block. Add one, and apply the policy.")
}

// CreateBatch makes a batch, or returns the one of that id as it is.
func (s *Service) CreateBatch(ctx context.Context, id string) (recoup.IntakeBatch, error) {
	if err := s.open(); err != nil {
		return recoup.IntakeBatch{}, err
	}
	if err := CheckBatch(id); err != nil {
		return recoup.IntakeBatch{}, err
	}
	return s.store.CreateBatch(ctx, id, s.now())
}

// Complete ends the import of a batch, from when its time runs. Saying it again
// changes nothing. The audit is written first: it records who asked.
func (s *Service) Complete(ctx context.Context, id string, act store.Act) (recoup.IntakeBatch, error) {
	found, err := s.store.Batch(ctx, id)
	if err != nil || !found.CompletedAt.IsZero() {
		return found.IntakeBatch, err
	}
	if err := s.audit.AppendAudit(ctx, act.On(ActBatchComplete, id, nil)); err != nil {
		return recoup.IntakeBatch{}, err
	}
	return s.store.StepBatch(ctx, id, s.decide(Complete{}))
}

// Kill turns the kill switch of a batch on. When it returns, nothing in the batch
// is leased, nor will be until it is released.
func (s *Service) Kill(ctx context.Context, id string, act store.Act) (recoup.IntakeBatch, error) {
	return s.store.StepBatch(ctx, id, s.decide(Kill{By: act.By, Reason: act.Reason}))
}

// Release turns it off again.
func (s *Service) Release(ctx context.Context, id string, act store.Act) (recoup.IntakeBatch, error) {
	return s.store.StepBatch(ctx, id, s.decide(Release{By: act.By, Reason: act.Reason}))
}

// Story is one intake from its first result to its end.
type Story struct {
	Case
	Rows []recoup.IntakeEvent // oldest first
}

// Story returns what happened to an intake; of one that took over after a
// recovery, what happened to the failed one too.
func (s *Service) Story(ctx context.Context, intake recoup.ID) (Story, error) {
	c, err := s.store.Intake(ctx, intake)
	if err != nil {
		return Story{}, err
	}
	rows, err := s.store.Timeline(ctx, intake, sqldb.MaxPage)
	return Story{Case: c, Rows: rows}, err
}

// importFailure says what is wrong with an import as a whole.
func importFailure(err error) error {
	switch {
	case errors.Is(err, store.ErrRefused):
		return fault.Wrap(err, fault.CodeInvalidTransition, "The import of this batch is complete; what is new needs another batch.")
	case errors.Is(err, sqldb.ErrNotFound):
		return fault.Wrap(err, fault.CodeNotFound, "There is no such batch; make it first.")
	}
	return err
}
