package gatezero

import (
	"cmp"
	"time"

	"github.com/recoup-dev/recoup"
)

// Complete says that the import of a batch is done, from when its time runs.
// Saying it again changes nothing.
type Complete struct{}

func (Complete) kind() Kind { return Completed }

func (Complete) apply(s *step) error {
	if err := s.needBatch(); err != nil {
		return err
	}
	if s.Batch.CompletedAt.IsZero() {
		s.Batch.CompletedAt = s.now
		s.Batch.FreezeAt = s.now.Add(s.gate.RecoveryWindow)
	}
	return nil
}

// Kill turns a batch's kill switch on. Applied to the batch it stops all claims
// and results; applied to each recovery of the batch it takes the lease away.
// Saying it again changes nothing.
type Kill struct{ By, Reason string }

func (Kill) kind() Kind { return Killed }

func (in Kill) apply(s *step) error {
	if err := s.needBatch(); err != nil {
		return err
	}
	if s.Recovery.Status == none && !s.Batch.Stopped() {
		s.Batch.KilledAt, s.Batch.KilledBy, s.Batch.KillReason = s.now, cmp.Or(in.By, recoup.System), in.Reason
		s.emit(recoup.AIRKill, in.Reason, s.Batch.KilledBy)
	}
	if worker := s.Lease.LeaseWorker; !s.Lease.LeaseToken.IsZero() {
		s.endLease()
		s.emit(recoup.AIRRevoke, in.Reason, worker)
	}
	return nil
}

// Release turns a batch's kill switch off again. Saying it again changes
// nothing.
type Release struct{ By, Reason string }

func (Release) kind() Kind { return Released }

func (in Release) apply(s *step) error {
	if err := s.needBatch(); err != nil {
		return err
	}
	if s.Batch.Stopped() {
		s.Batch.KilledAt, s.Batch.KilledBy, s.Batch.KillReason = time.Time{}, "", ""
		s.emit(recoup.AIRRelease, in.Reason, cmp.Or(in.By, recoup.System))
	}
	return nil
}

// Freeze ends what is left of a batch whose time is over: applied to a recovery
// it exhausts it, unless a worker holds it and may finish first; applied to the
// batch it notes that nothing is left.
type Freeze struct{}

func (Freeze) kind() Kind { return Frozen }

func (Freeze) apply(s *step) error {
	if err := s.needBatch(); err != nil {
		return err
	}
	switch {
	case !s.Batch.Frozen(s.now):
		return s.refuse(InvalidTransition, "the time of its batch is not over")
	case s.Recovery.Status == none && s.Batch.FrozenAt.IsZero():
		s.Batch.FrozenAt = s.now
		s.emit(recoup.AIRFreeze, "", recoup.System)
	case s.Recovery.Status == none:
	case s.Lease.Leased(s.now):
		return s.refuse(InvalidTransition, "a worker holds it and may finish first")
	default:
		s.exhaust(BatchFrozen)
	}
	return nil
}

func (s *step) needBatch() error {
	if s.Batch.ID == "" {
		return s.refuse(InvalidTransition, "there is no batch")
	}
	return nil
}
