package bus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/ledger"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// Ledger is what the bus needs of the ledger.
type Ledger interface {
	Stats() ledger.Stats
	Inspect(now time.Time, events []store.Event) error
	CountDropped(now time.Time, reason string, n int64)
}

// Service is the bus of a node: its state, its consumer and its quarantine. A node without a
// bus has one, too.
type Service struct {
	ServiceOptions
	consumer *Consumer // nil: there is no bus
}

// ServiceOptions are what a service is made of.
type ServiceOptions struct {
	Bus     *Conn // nil: there is none, and nothing but Audit is needed
	Batches store.EventBatchWriter
	DB      sqldb.DB
	Ledger  Ledger
	Audit   store.AuditWriter
	Now     func() time.Time
	Jitter  func() float64
	Logger  *slog.Logger
}

// NewService makes the service of a bus.
func NewService(o ServiceOptions) *Service {
	s := &Service{ServiceOptions: o}
	if o.Bus != nil {
		s.consumer = &Consumer{Bus: o.Bus, Store: o.Batches, Now: o.Now, Random: o.Jitter, Logger: o.Logger, Inspect: o.Ledger.Inspect}
	}
	return s
}

// Enabled reports whether the node has a bus.
func (s *Service) Enabled() bool { return s.Bus != nil }

// Run writes to the ledger what comes by the bus until ctx ends.
func (s *Service) Run(ctx context.Context) { s.consumer.Run(ctx) }

// How gaps are looked at.
const (
	statusGapAge = time.Hour // younger ones may be batches that are just being written
	maxGaps      = 100
)

// Status says how the bus does.
func (s *Service) Status(ctx context.Context) (Bus, error) {
	if !s.Enabled() {
		return Bus{Gaps: []BusGap{}}, nil
	}
	status, err := s.Bus.Status(ctx)
	if err != nil {
		status.Up, status.Cause = false, ErrAway.Error()
	}
	wrote, read := s.Ledger.Stats(), s.consumer.Stats()
	status.Node = BusNode{Published: wrote.Published, Direct: wrote.Direct, Written: read.Written, Duplicates: read.Duplicates, Quarantined: read.Quarantined, Failures: read.Failures}
	gaps, err := Gaps(ctx, s.DB, s.Now().Add(-statusGapAge), maxGaps)
	status.Gaps = append(status.Gaps, gaps...)
	return status, err
}

// Quarantined lists batches in quarantine.
func (s *Service) Quarantined(ctx context.Context, after int64, limit int) ([]QuarantinedBatch, error) {
	if !s.Enabled() {
		return []QuarantinedBatch{}, nil
	}
	found, err := s.Bus.ListQuarantine(ctx, after, limit)
	list := make([]QuarantinedBatch, len(found))
	for i := range found {
		list[i] = found[i].QuarantinedBatch
	}
	return list, failure(err)
}

// Retry writes a batch in quarantine to the ledger. What it is was written down before.
func (s *Service) Retry(ctx context.Context, number int64, note func(QuarantinedBatch) error) (QuarantinedBatch, error) {
	found, err := s.Bus.FindQuarantined(ctx, number)
	if err != nil {
		return found.QuarantinedBatch, failure(err)
	}
	if found.Err != nil {
		return found.QuarantinedBatch, fault.Wrap(found.Err, fault.CodeConflict, "The batch cannot be read, so it cannot be retried: drop it.")
	}
	if err := s.Ledger.Inspect(s.Now(), found.Batch.Events); err != nil {
		return found.QuarantinedBatch, fault.Wrap(err, fault.CodeConflict, "The batch holds what no node of Recoup lets pass, so it cannot be retried: find out who published it, and drop it.")
	}
	if err := note(found.QuarantinedBatch); err != nil {
		return found.QuarantinedBatch, err
	}
	if _, err := s.Batches.WriteEventBatches(ctx, found.Stream, []store.EventBatch{found.Batch}); err != nil {
		if errors.Is(err, store.ErrRefused) {
			return found.QuarantinedBatch, fault.Wrap(err, fault.CodeConflict, "The database refuses the batch still: mend what it refuses, or drop the batch.")
		}
		return found.QuarantinedBatch, err
	}
	return found.QuarantinedBatch, failure(s.Bus.Release(ctx, number))
}

// Drop deletes a batch in quarantine. Its events are counted among those left out.
func (s *Service) Drop(ctx context.Context, number int64, note func(QuarantinedBatch) error) (QuarantinedBatch, error) {
	found, err := s.Bus.FindQuarantined(ctx, number)
	if err != nil {
		return found.QuarantinedBatch, failure(err)
	}
	if err := note(found.QuarantinedBatch); err != nil {
		return found.QuarantinedBatch, err
	}
	if err := s.Bus.Release(ctx, number); err != nil {
		return found.QuarantinedBatch, failure(err)
	}
	s.Ledger.CountDropped(s.Now(), ledger.DropQuarantine, int64(max(found.Events, 1)))
	return found.QuarantinedBatch, nil
}

func failure(err error) error {
	switch {
	case errors.Is(err, ErrNotFound):
		return fault.Wrap(err, fault.CodeNotFound, "There is no such batch in quarantine.")
	case errors.Is(err, ErrAway), errors.Is(err, ErrUnfit):
		return fault.Wrap(err, fault.CodeTemporaryUnavailable, "The bus cannot be reached.").After(5 * time.Second)
	case err != nil:
		return fmt.Errorf("bus: %w", err)
	}
	return nil
}
