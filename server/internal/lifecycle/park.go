package lifecycle

import (
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// Park holds an error for a person. A reason is required.
type Park struct {
	By     string
	Reason recoup.ParkReason
}

func (in Park) apply(s *step) error {
	if err := s.begin(Parking, in.By, string(in.Reason)); err != nil {
		return err
	}
	switch {
	case in.Reason == "":
		return s.refuse("a reason is required")
	case !permits(s.policy, s.table, &s.next, Parking):
		return s.refuse("its table does not allow parking")
	}
	s.park(s.actor, in.Reason)
	return nil
}

// Unpark sends a parked error back to be retried, with a fresh budget and a
// fresh window. Its TTL stays.
type Unpark struct{ By, Reason string }

func (in Unpark) apply(s *step) error {
	if err := s.begin(Unparking, in.By, in.Reason); err != nil {
		return err
	}
	switch {
	case s.table.DeadLetter:
		return s.refuse("it is a dead letter: triage, remediate, validate, then replay it")
	case !permits(s.policy, s.table, &s.next, Unparking):
		return s.refuse("its table does not allow retries")
	case expired(&s.next, s.now):
		return s.refuse("its TTL is over")
	}
	e, effective := &s.next, s.effective()
	e.Retry = recoup.Retry{
		MaxRetries: effective.MaxRetries, LastRetryAt: e.LastRetryAt,
		LastFailureCode: e.LastFailureCode, StreakFamily: e.StreakFamily, StreakCount: e.StreakCount,
		LastAttempt: e.LastAttempt, LastResult: e.LastResult, NextRetryAt: s.now,
	}
	if effective.Window > 0 {
		e.WindowEndsAt = s.now.Add(effective.Window)
	}
	e.Parking = recoup.Parking{LastReviewedAt: e.LastReviewedAt}
	e.Escalation = recoup.Escalation{}
	e.State, e.Disposition = recoup.RetryPending, recoup.DispositionRetry
	s.resetStreak()
	s.effects.Warning = outlives(e, effective, s.policy.Floor(e.Class), s.now)
	return nil
}

// outlives warns when the retries an unpark buys cannot all happen before the
// TTL is over. The first one is due now; each later one waits its delay.
func outlives(e *recoup.Error, effective policy.Effective, floor time.Duration, now time.Time) Warning {
	last := now
	for n := 2; n <= e.MaxRetries; n++ {
		last = last.Add(max(effective.Schedule.Delay(n, nil), floor))
	}
	if !e.ExpiresAt.IsZero() && !last.Before(e.ExpiresAt) {
		return RetriesOutliveTTL
	}
	return NoWarning
}

// park parks an error. Where its table has no PARK it stays visible as ARCHIVE
// until its TTL, with the reason kept and its owner notified.
func (s *step) park(actor string, reason recoup.ParkReason) {
	e := &s.next
	s.endAttempt("")
	e.NextRetryAt, e.ParkReason = time.Time{}, reason
	if !s.table.Allows(recoup.ActionPark) {
		e.State, e.Disposition = recoup.Active, recoup.DispositionArchive
		s.notify(wire.NoticeNotParked, s.table.Owner(1))
		return
	}
	e.State, e.Disposition = recoup.Parked, recoup.DispositionParked
	e.ParkedAt, e.ParkedBy = s.now, actor
	s.stand(1, string(reason))
	s.notify(wire.NoticeParked, e.EscalatedTo)
}

// permits reports whether the error's table lets a person do k to it, the state
// aside.
func permits(p *policy.Policy, t *policy.Table, e *recoup.Error, k Kind) bool {
	switch k {
	case Parking:
		return t.Allows(recoup.ActionPark)
	case Unparking:
		return t.Allows(recoup.ActionRetry) && !t.DeadLetter
	case Resolving:
		return !t.DeadLetter
	case Escalating:
		return e.EscalationLevel < p.TopTier()
	case Archiving:
		return !replaying(t, e)
	}
	return true
}
