package lifecycle

import (
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// BlockExpired is the code of the ledger event of an expiry that has unblocked an
// entity.
const BlockExpired recoup.Code = "BLOCK_EXPIRED"

// Resolve ends an error by hand.
type Resolve struct{ By, Reason string }

func (in Resolve) apply(s *step) error {
	if err := s.begin(Resolving, in.By, in.Reason); err != nil {
		return err
	}
	if s.table.DeadLetter {
		return s.refuse("it is a dead letter: verify its replay, or archive it")
	}
	s.finish(s.actor, in.Reason)
	return nil
}

// finish resolves the error; the next sweep archives it.
func (s *step) finish(actor, reason string) {
	e := &s.next
	s.endAttempt("")
	s.dismiss()
	e.State, e.Disposition = recoup.Resolved, recoup.DispositionResolved
	e.ResolvedAt, e.ResolvedBy, e.ResolutionReason = s.now, actor, reason
	e.NextRetryAt, e.NextEscalationAt, e.ReviewDueAt, e.NextReminderAt =
		time.Time{}, time.Time{}, time.Time{}, time.Time{}
	s.resetStreak()
}

// ArchiveNow moves an error to the archive before its time.
type ArchiveNow struct{ By, Reason string }

func (in ArchiveNow) apply(s *step) error {
	if err := s.begin(Archiving, in.By, in.Reason); err != nil {
		return err
	}
	if replaying(s.table, &s.next) {
		return s.refuse("it is part of a replay, and a worker may hold its work: cancel the replay first")
	}
	s.archive(s.actor, recoup.ManualArchive)
	return nil
}

// Expire moves an error to the archive because its TTL is over. It waits for a
// live lease, but not for ever. What was resolved before then is archived as
// that: nothing of it expires.
type Expire struct{}

func (Expire) apply(s *step) error {
	if s.next.State == recoup.Resolved && expired(&s.next, s.now) {
		return ArchiveNow{}.apply(s)
	}
	if err := s.begin(Expiring, "", string(recoup.TTLExpired)); err != nil {
		return err
	}
	e := &s.next
	switch {
	case !expired(e, s.now):
		return s.refuse("its TTL is not over")
	case e.Leased(s.now) && s.now.Before(e.ExpiresAt.Add(s.policy.Leases.ExpiryGrace)):
		return s.refuse("a worker holds it")
	}
	if e.Blocking {
		s.notify(wire.NoticeUnblocked, s.ownerOrTeam())
		s.effects.Event = BlockExpired
	}
	s.archive(recoup.System, recoup.TTLExpired)
	return nil
}

// archive moves the error to its archive: it gains what an archived error has
// and loses only what it can no longer have, a lease and the power to block.
// What was resolved is archived as that, whatever moved it.
func (s *step) archive(actor string, reason recoup.ArchiveReason) {
	e := &s.next
	if e.State == recoup.Resolved {
		reason = recoup.ResolvedArchive
	} else {
		s.dismiss()
		s.effects.CloseLetter = s.table.DeadLetter
	}
	s.endAttempt("")
	e.FinalDisposition, e.State = e.Disposition, recoup.Archived
	e.ArchivedAt, e.ArchivedBy, e.ArchiveReason = s.now, actor, reason
	e.PurgeAt = s.now.Add(s.table.Retention)
	s.effects.Archive = true
}

// dismiss notifies the operator who was paged for the error that it has ended.
func (s *step) dismiss() {
	if s.policy.Pages(s.table, &s.next) {
		s.notify(wire.NoticePageOver, s.table.Owner(recoup.MaxTier))
	}
}

func expired(e *recoup.Error, now time.Time) bool {
	return !e.ExpiresAt.IsZero() && !now.Before(e.ExpiresAt)
}
