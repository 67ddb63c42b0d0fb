// Package gatezero imports company candidates, and decides their verification and the
// recovery of those that failed (spec 004). [Step] is
// the only place where that is decided. It is pure: it reads no clock, no database
// and no randomness, and what may follow what is a table ([Transitions]).
//
// [Service] checks what callers send and asks a store to apply what Step says. It
// knows neither HTTP nor SQL.
package gatezero

import (
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/policy"
)

// Timeout is the reason of an attempt that counts because leases ran out
// without a result once too often.
const Timeout = "TIMEOUT"

// BatchFrozen is the reason of an EXHAUSTED that no attempt brought about.
const BatchFrozen = "BATCH_FROZEN"

// MaxLapses is how many leases may expire without a result before that counts as a
// failed attempt.
const MaxLapses = 3

// Step applies one input to a case and returns its next version and everything
// else that must happen in the same commit. current is never modified.
//
// An input that the transition table does not know, or whose guard does not
// hold, comes back as a *[Refusal], and the case returned with it is unchanged.
// A pass that comes after the recovery is EXHAUSTED is refused too, but leaves a
// LATE_RESULT in the effects, to be stored on its own.
func Step(gate policy.GateZero, current Case, in Input, now time.Time) (Case, CaseEffects, error) {
	s := step{gate: gate, now: now, kind: in.kind(), Case: current}
	err := s.known()
	if err == nil {
		err = in.apply(&s)
	}
	if err != nil {
		return current, CaseEffects{AIR: s.late(current, in)}, err
	}
	return s.Case, s.effects, nil
}

// step is one application of an input: the case in the making, and what else is
// to happen.
type step struct {
	Case
	gate    policy.GateZero
	now     time.Time
	kind    Kind
	effects CaseEffects
}

// emit adds a row to the AIR that records the case as it is now.
func (s *step) emit(event recoup.AIREvent, reason, actor string) *recoup.IntakeEvent {
	s.effects.AIR = append(s.effects.AIR, recoup.IntakeEvent{
		IntakeID: s.Intake.ID, RecoveryID: s.Recovery.ID, BatchID: s.Batch.ID,
		Event: event, Reason: reason, AttemptCount: s.Recovery.AttemptCount, Actor: actor, At: s.now,
	})
	return &s.effects.AIR[len(s.effects.AIR)-1]
}

// late returns the row that a pass leaves behind when it is refused because the
// recovery is EXHAUSTED.
func (s *step) late(current Case, in Input) []recoup.IntakeEvent {
	pass, ok := in.(Pass)
	if !ok || current.Recovery.Status != recoup.RecoveryExhausted {
		return nil
	}
	s.Case, s.effects = current, CaseEffects{}
	s.emit(recoup.AIRLateResult, "", pass.Worker)
	return s.effects.AIR
}

// endLease takes the lease back, if there is one.
func (s *step) endLease() { s.Lease.Lease = recoup.Lease{} }
