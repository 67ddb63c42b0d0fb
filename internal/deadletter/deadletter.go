// Package deadletter looks after work that runs in stages and failed for good
// (spec 002): it records dead letters, takes them through triage, remedy,
// validation, replay and verification, replays them by the thousand, and hands
// work to workers.
//
// What is decided is decided by pure functions of a letter or a replay and a
// time; the [Service] checks and cleans what callers say, and hands the
// decision to the store together with what the ledger keeps of it. It knows neither
// HTTP nor SQL.
package deadletter

import (
	"context"
	"errors"
	"sync"
	"time"

	"recoup"
	"recoup/fault"
	"recoup/internal/engine"
	"recoup/internal/policy"
	"recoup/internal/store"
)

// Store is what the service needs of a store.
type Store interface {
	StepLetters(ctx context.Context, now time.Time, steps []store.LetterStep) ([]store.LetterOutcome, error)
	StepGroup(ctx context.Context, id recoup.ID, decide store.DecideGroup) (store.Group, error)
	SaveCheckpoint(ctx context.Context, token recoup.ID, c store.Checkpoint) error
	ForgetCheckpoints(ctx context.Context, token, work recoup.ID) error
	PurgeCheckpoints(ctx context.Context, before time.Time, limit int) (int, error)

	ClaimWork(ctx context.Context, claim store.WorkClaim) ([]store.QueuedWork, error)
	FinishWork(ctx context.Context, within *store.Pipelines, ends []store.WorkEnd) ([]bool, error)
	SpentWork(ctx context.Context, limit int) ([]store.QueuedWork, error)
	SetPause(ctx context.Context, p store.Pause) error
	LiftPause(ctx context.Context, p store.Pause) (bool, error)
	Pauses(ctx context.Context, now time.Time, within *store.Pipelines) ([]store.Pause, error)

	CreateReplay(ctx context.Context, r store.Replay, notes ...store.Note) error
	AddMembers(ctx context.Context, now time.Time, m store.Members) ([]store.LetterOutcome, error)
	StepReplay(ctx context.Context, now time.Time, id recoup.ID, decide store.DecideReplay) (store.ReplayStatus, error)
	EndItems(ctx context.Context, now time.Time, id recoup.ID, limit int, decide store.DecideLetter) (int, error)
	PurgeReplays(ctx context.Context, before time.Time, limit int) (int, error)

	DeadLetter(ctx context.Context, id recoup.ID) (store.Letter, error)
	DeadLetters(ctx context.Context, f store.LetterFilter, p store.Page) ([]store.Letter, store.Cursor, error)
	WorkLetter(ctx context.Context, work recoup.ID) (store.Letter, error)
	Rounds(ctx context.Context, id recoup.ID, limit int) ([]store.Round, error)
	Notes(ctx context.Context, about store.Note, limit int) ([]store.Note, error)
	Payload(ctx context.Context, work recoup.ID) (store.Payload, error)
	Payloads(ctx context.Context, works []recoup.ID) ([]store.Payload, error)
	Checkpoints(ctx context.Context, work recoup.ID) ([]store.Checkpoint, error)
	Group(ctx context.Context, id recoup.ID) (store.Group, error)
	Groups(ctx context.Context, f store.GroupFilter, p store.Page) ([]store.Group, store.Cursor, error)
	GroupDays(ctx context.Context, id recoup.ID, from time.Time, limit int) ([]store.DayCount, error)
	Replay(ctx context.Context, id recoup.ID) (store.ReplayStatus, error)
	Replays(ctx context.Context, f store.ReplayFilter, p store.Page) ([]store.ReplayStatus, store.Cursor, error)
	DueReplays(ctx context.Context, now time.Time, limit int) ([]recoup.ID, error)
	Items(ctx context.Context, replay recoup.ID, state store.ItemState, from, limit int) ([]store.ReplayItem, int, error)
	ItemsOf(ctx context.Context, id recoup.ID, limit int) ([]store.ReplayItem, error)

	AppendAudit(ctx context.Context, entries []store.AuditEntry) error
}

// Options are what a service is made of. All are required.
type Options struct {
	Store    Store
	Policies *engine.Policies
	Codes    func() *fault.Registry
	Keys     *Keyring
	Now      func() time.Time
	IDs      *recoup.IDSource
}

// Service is safe for concurrent use.
type Service struct {
	Options
	bell    store.Bell
	polls   *engine.Polls
	stopped chan struct{}
	stop    sync.Once
}

// New checks the options.
func New(o Options) (*Service, error) {
	if o.Store == nil || o.Policies == nil || o.Codes == nil || o.Keys == nil || o.Now == nil || o.IDs == nil {
		return nil, errors.New("deadletter: store, policies, codes, keys, clock and ids are required")
	}
	return &Service{Options: o, polls: engine.NewPolls(), stopped: make(chan struct{})}, nil
}

// now is the time as stores keep it, so that what is answered is what is kept.
func (s *Service) now() time.Time { return s.Now().UTC().Truncate(time.Microsecond) }

// Wake makes claims that wait for work look again.
func (s *Service) Wake() { s.bell.Ring(store.WakeWork) }

// StopWaiting makes claims that wait come back empty, now and from now on.
func (s *Service) StopWaiting() { s.stop.Do(func() { close(s.stopped) }) }

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
	return nil, fault.Validation(fault.FieldError{Field: "table", Constraint: "dead_letters", Message: "table must be one of the policy's tables of dead letters"})
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
