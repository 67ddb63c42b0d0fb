package gatezero

import (
	"cmp"
	"slices"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/policy"
)

// Pass is the word that an intake was verified. Of a pending intake it is the
// first result; of a recovery it is the result of the retry that holds Token,
// and the company goes on as a new intake with the id NewIntakeID: what failed
// never becomes AUTHORIZED (spec 004, 9).
type Pass struct {
	Token       recoup.ID // of the retry's lease
	Worker      string
	NewIntakeID recoup.ID // of the intake that takes over after a retry
}

func (Pass) kind() Kind { return Passed }

func (in Pass) apply(s *step) error {
	if s.Recovery.Status == none {
		if err := s.first(); err != nil {
			return err
		}
		s.Intake.Status = recoup.IntakeAuthorized
		s.emit(recoup.AIRAuth, "", in.Worker)
		return nil
	}
	worker, err := s.holds(in.Token)
	if err != nil {
		return err
	}
	s.reenter(in.NewIntakeID, cmp.Or(in.Worker, worker))
	return nil
}

// reenter ends a recovery well: the five effects of spec 004, 9.
func (s *step) reenter(id recoup.ID, worker string) {
	s.Recovery.Status, s.Recovery.UpdatedAt = recoup.RecoverySucceeded, s.now
	s.Lease = RecoveryLease{}
	s.emit(recoup.AIRAuth, "", worker)
	s.emit(recoup.AIRReenter, "", worker).NewIntakeID = id

	fresh := s.Intake
	fresh.ID, fresh.PreviousID, fresh.ImportKey = id, s.Intake.ID, ""
	fresh.Status, fresh.CreatedAt, fresh.UpdatedAt = recoup.IntakeAuthorized, s.now, s.now
	s.effects.Reentry = fresh

	s.Intake.Status, s.Intake.UpdatedAt = recoup.IntakeReenterSucceeded, s.now
}

// Fail is the word that an intake was not verified, and why. Of a pending intake
// it is the first failure, and a recovery with the id RecoveryID begins; of a
// recovery it is the result of the retry that holds Token.
type Fail struct {
	Token      recoup.ID // of the retry's lease
	Worker     string
	Reason     string    // one of the policy's
	RecoveryID recoup.ID // of the recovery that a first failure begins
}

func (Fail) kind() Kind { return Failed }

func (in Fail) apply(s *step) error {
	known := func(d policy.Description) bool { return d.Name == in.Reason }
	if !slices.ContainsFunc(s.gate.Reasons, known) {
		return s.refuse(ValidationError, "the policy has no such failure reason")
	}
	if s.Recovery.Status == none {
		if err := s.first(); err != nil {
			return err
		}
		s.begin(in)
		return nil
	}
	worker, err := s.holds(in.Token)
	if err != nil {
		return err
	}
	s.attempt(in.Reason, cmp.Or(in.Worker, worker))
	return nil
}

// first checks that this is an intake's first result. Like any other it does not
// count while the batch is killed: the intake stays what it was.
func (s *step) first() error {
	switch {
	case s.Intake.Status != recoup.IntakePending:
		return s.refuse(InvalidTransition, "the intake is not PENDING")
	case s.Batch.Stopped():
		return s.refuse(BatchKilled, "its batch is stopped by the kill switch; no attempt was used")
	}
	s.Intake.UpdatedAt = s.now
	return nil
}

// begin opens the recovery of an intake's first failure. In a frozen batch it is
// born EXHAUSTED.
func (s *step) begin(in Fail) {
	s.Intake.Status = recoup.IntakeFailed
	s.Recovery = recoup.Recovery{
		ID: in.RecoveryID, IntakeID: s.Intake.ID, BatchID: s.Intake.BatchID, CreatedAt: s.now,
		Status: recoup.RecoveryActive,
	}
	s.attempt(in.Reason, in.Worker)
}

// attempt counts a failed attempt: it makes the recovery wait for the next one,
// from now on, or ends it.
func (s *step) attempt(reason, worker string) {
	r := &s.Recovery
	spent := r.AttemptCount >= s.gate.MaxAttempts
	if !spent {
		r.AttemptCount++
		r.NextEligibleAt = s.now.Add(s.gate.Schedule.Delay(r.AttemptCount, nil))
	}
	r.FailureReason, r.UpdatedAt = reason, s.now
	s.Lease = RecoveryLease{}
	s.emit(recoup.AIRFail, reason, worker)
	switch {
	case spent:
		s.exhaust(reason)
	case s.Batch.Frozen(s.now):
		s.exhaust(BatchFrozen)
	}
}

// exhaust ends a recovery for good.
func (s *step) exhaust(reason string) {
	s.Recovery.Status, s.Recovery.UpdatedAt = recoup.RecoveryExhausted, s.now
	s.Lease = RecoveryLease{}
	s.emit(recoup.AIRExhausted, reason, recoup.System)
}
