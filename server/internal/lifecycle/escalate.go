package lifecycle

import (
	"fmt"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// Escalate moves a parked error up the ladder: by a person to the next tier or
// to the one named, by the clock (no one named in By) to where its time in the
// park puts it.
type Escalate struct {
	By, Reason string
	Tier       int // zero: the next
}

func (in Escalate) apply(s *step) error {
	if err := s.begin(Escalating, in.By, in.Reason); err != nil {
		return err
	}
	e, tier := &s.next, in.Tier
	switch {
	case s.actor == recoup.System && tier == 0:
		if e.NextEscalationAt.IsZero() || s.now.Before(e.NextEscalationAt) {
			return s.refuse("no escalation is due")
		}
		tier = s.tierByClock()
		s.reason = fmt.Sprintf("parked since %s", e.ParkedAt.UTC().Format(time.RFC3339))
	case tier == 0:
		tier = e.EscalationLevel + 1
	}
	switch {
	case tier > s.policy.TopTier():
		return s.refuse(fmt.Sprintf("tier %d is the highest", s.policy.TopTier()))
	case tier <= e.EscalationLevel:
		return s.refuse(fmt.Sprintf("it stands on tier %d already", e.EscalationLevel))
	}
	if e.ReviewDueAt.After(e.RemindedAt) && !e.ReviewDueAt.After(s.now) {
		s.notify(wire.NoticeReviewMissed, e.Owner()) // the sweep was late, and the deadline goes
	}
	e.State = recoup.Escalated
	e.AssignedTo = ""
	s.stand(tier, s.reason)
	s.notify(wire.NoticeEscalated, e.EscalatedTo)
	return nil
}

// tierByClock is the highest rung that the error's time in the park reaches.
func (s *step) tierByClock() int {
	tier := 0
	for _, rung := range s.policy.Ladder {
		if !s.now.Before(s.next.ParkedAt.Add(rung.After)) {
			tier = rung.Tier
		}
	}
	return tier
}

// stand puts the error on a rung: its owner, its review deadline, and when the
// clock will move it on.
func (s *step) stand(tier int, reason string) {
	e := &s.next
	e.Escalation = recoup.Escalation{
		EscalationLevel: tier, EscalatedAt: s.now,
		EscalatedTo: s.table.Owner(tier), EscalationReason: reason,
	}
	s.schedule()
}

// schedule sets the deadlines of the rung on which the error stands.
func (s *step) schedule() {
	e := &s.next
	e.ReviewDueAt, e.NextEscalationAt = time.Time{}, time.Time{}
	for _, rung := range s.policy.Ladder {
		switch {
		case rung.Tier == e.EscalationLevel && rung.ReviewWithin > 0:
			e.ReviewDueAt = e.EscalatedAt.Add(rung.ReviewWithin)
		case rung.Tier == e.EscalationLevel+1:
			e.NextEscalationAt = e.ParkedAt.Add(rung.After)
		}
	}
}

// Assign gives a parked error to someone.
type Assign struct{ By, To, Reason string }

func (in Assign) apply(s *step) error {
	if err := s.begin(Assigning, in.By, in.Reason); err != nil {
		return err
	}
	if in.To == "" {
		return s.refuse("an assignee is required")
	}
	s.next.AssignedTo = in.To
	return nil
}

// Review records that a person has looked at a parked error, which meets the
// review deadline of its tier.
type Review struct{ By, Reason string }

func (in Review) apply(s *step) error {
	if err := s.begin(Reviewing, in.By, in.Reason); err != nil {
		return err
	}
	s.next.LastReviewedAt, s.next.ReviewDueAt = s.now, time.Time{}
	return nil
}

// Remind notifies the owner of what is due: a missed review, or that an
// expiry will unblock the entity. It moves nothing.
type Remind struct{}

func (Remind) apply(s *step) error {
	if err := s.begin(Reminding, "", ""); err != nil {
		return err
	}
	e := &s.next
	if e.NextReminderAt.IsZero() || s.now.Before(e.NextReminderAt) {
		return s.refuse("no reminder is due")
	}
	due := func(t time.Time) bool { return t.After(e.RemindedAt) && !t.After(s.now) }
	if due(e.ReviewDueAt) {
		s.notify(wire.NoticeReviewMissed, e.Owner())
	}
	if due(s.expiryNotice()) {
		s.notify(wire.NoticeExpiring, s.ownerOrTeam())
	}
	e.RemindedAt = s.now
	return nil
}

// refreshReminder recomputes when the owner is next to be notified: the
// earliest of what is outstanding, which may be overdue.
func (s *step) refreshReminder() {
	e := &s.next
	e.NextReminderAt = time.Time{}
	if s.unattended() {
		return
	}
	for _, t := range [...]time.Time{e.ReviewDueAt, s.expiryNotice()} {
		if t.After(e.RemindedAt) && (e.NextReminderAt.IsZero() || t.Before(e.NextReminderAt)) {
			e.NextReminderAt = t
		}
	}
}

// expiryNotice is when the owner is to hear that the error's expiry will
// unblock its entity; zero if it blocks nothing or never expires.
func (s *step) expiryNotice() time.Time {
	e := &s.next
	if !blocks(s.table, e) || e.ExpiresAt.IsZero() {
		return time.Time{}
	}
	return e.ExpiresAt.Add(-s.policy.ExpiryNotice)
}

// ownerOrTeam is the owner of an error, or the hub's team where only the system
// has it.
func (s *step) ownerOrTeam() string {
	if owner := s.next.Owner(); owner != recoup.System {
		return owner
	}
	return s.table.Owner(1)
}
