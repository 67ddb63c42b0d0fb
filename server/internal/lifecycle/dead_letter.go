package lifecycle

import (
	"cmp"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// The inputs of dead letters, whose errors leave by their workflow alone (spec
// 002, 8.5). While one is part of a replay its error has no expiry; whoever took
// it away keeps it and gives it back.

// Replay makes a dead letter part of a replay, during which it does not expire.
type Replay struct{ By, Reason string }

func (in Replay) apply(s *step) error {
	if err := s.beginLetter(Replaying, in.By, in.Reason); err != nil {
		return err
	}
	switch {
	case s.held():
		return s.refuse("it is part of a replay already")
	case expired(&s.next, s.now):
		return s.refuse("its TTL is over")
	}
	s.next.ExpiresAt = time.Time{}
	return nil
}

// Return takes a dead letter out of a replay that brought no new failure: its
// work is done and waits to be verified, or the replay was cancelled.
type Return struct {
	By, Reason string
	Expires    time.Time // when it would have expired, had it not been part of the replay
}

func (in Return) apply(s *step) error {
	if err := s.beginLetter(Returning, in.By, in.Reason); err != nil {
		return err
	}
	if !s.held() {
		return s.refuse("it is not part of a replay")
	}
	s.resume(in.Expires)
	return nil
}

// FailAgain parks a dead letter whose replay failed, as the next round. It never
// stands on a lower tier than before; an engineering review is tier 2 at once.
type FailAgain struct {
	By, Reason string
	Failure    Failure
	Expires    time.Time // as in Return
	Tier       int       // at least; zero: the first
}

func (in FailAgain) apply(s *step) error {
	if err := s.beginLetter(FailingAgain, in.By, in.Reason); err != nil {
		return err
	}
	switch {
	case !s.held():
		return s.refuse("it is not part of a replay")
	case in.Failure.Code == "":
		return s.refuse("how it failed is missing")
	}
	e, f := &s.next, in.Failure
	s.resume(in.Expires)
	s.effects.Event = f.Code
	e.LastFailureCode, e.Class, e.Category = f.Code, f.Class, f.Category
	verdict := s.policy.MustPark(s.table, f.Code, f.Class, f.Category)
	if verdict.Page {
		s.notify(wire.NoticePaged, s.table.Owner(recoup.MaxTier))
	}
	e.ParkedAt, e.ParkedBy, e.ParkReason = s.now, recoup.System, cmp.Or(verdict.Reason, s.spent(f, s.table.ParkReason))
	tier := min(max(in.Tier, e.EscalationLevel, 1), s.policy.TopTier())
	if tier > e.EscalationLevel {
		e.AssignedTo = ""
	}
	notice := wire.NoticeParked
	if tier > 1 {
		e.State, notice = recoup.Escalated, wire.NoticeEscalated
	}
	s.stand(tier, cmp.Or(in.Reason, string(e.ParkReason)))
	s.notify(notice, e.Owner())
	return nil
}

// Verify closes a dead letter whose replay is seen to have worked.
type Verify struct{ By, Reason string }

func (in Verify) apply(s *step) error {
	if err := s.beginLetter(Verifying, in.By, in.Reason); err != nil {
		return err
	}
	if s.held() {
		return s.refuse("it is part of a replay, whose result comes first")
	}
	s.finish(s.actor, in.Reason)
	return nil
}

// spent is why a dead letter is parked whose work could be retried: because it was,
// for as often as it may be, or for the reason that it would have otherwise.
func (s *step) spent(f Failure, otherwise recoup.ParkReason) recoup.ParkReason {
	if s.table.DeadLetter && f.Exhausted && !s.policy.MustPark(s.table, f.Code, f.Class, f.Category).Must {
		return recoup.MaxRetriesExceeded
	}
	return otherwise
}

// beginLetter begins an input that only dead letters know.
func (s *step) beginLetter(kind Kind, actor, reason string) error {
	if err := s.begin(kind, actor, reason); err != nil {
		return err
	}
	if !s.table.DeadLetter {
		return s.refuse("it is not a dead letter")
	}
	return nil
}

// held reports whether the error has no expiry because it is part of a replay.
func (s *step) held() bool { return s.next.ExpiresAt.IsZero() }

// replaying reports whether an error is that of a dead letter in mid-replay.
func replaying(t *policy.Table, e *recoup.Error) bool {
	return t.DeadLetter && e.State.Open() && e.ExpiresAt.IsZero()
}

// resume gives the expiry back. What a replay brought can be seen for as long as
// owners are warned of an expiry, also if its time came meanwhile.
func (s *step) resume(expires time.Time) {
	s.next.ExpiresAt = expires
	if least := s.now.Add(s.policy.ExpiryNotice); expires.Before(least) {
		s.next.ExpiresAt = least
	}
}
