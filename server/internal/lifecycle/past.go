package lifecycle

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/policy"
)

// maxSpread is over how much time the retries of history are spread: what has
// waited for days does not come back all at once, nor before what failed just now.
const maxSpread = time.Hour

// applyPast records a failure of an earlier time as it would stand by now, had it
// been reported then and had nobody touched it: its TTL, its window and its time in
// the park run from then. Nobody is notified of what has happened meanwhile, and no
// retry is counted.
//
// What has expired by now goes straight to the archive. Of the reports of one
// failure the worst stays open, of equal ones the newest; the others go to the
// archive as superseded. So the order in which history arrives does not matter.
func (in Report) applyPast(s *step) error {
	if in.CreatedAt.IsZero() || in.CreatedAt.After(s.now) {
		in.CreatedAt = s.now
	}
	older, effective, err := in.resolve(s, in.Severity)
	if err != nil {
		return err
	}
	s.because("imported: it happened at " + in.CreatedAt.UTC().Format(time.RFC3339))
	said := s.reason
	s.before = recoup.Snapshot{}
	s.next = in.born(s, effective, in.Severity)
	s.next.Historic = true
	s.settle(effective)
	s.reason = said
	s.effects = Effects{Event: in.Failure.Code, Past: true}
	switch {
	case expired(&s.next, s.now):
		s.over = recoup.TTLExpired
	case older == nil:
	case !prevails(&s.next, older):
		s.over, s.successor = recoup.SupersededByNext, older.ID
	default:
		if !s.untouched(older) {
			s.next = in.born(s, effective, in.Severity)
			s.next.Historic = older.Historic
			if held := s.inherit(older, recoup.ID{}, true); !held {
				s.settle(insist(effective, older))
			}
			s.effects.Notices, s.reason = Notices{}, said
		}
		s.supersede(older)
	}
	return nil
}

// settle gives an error of an earlier time the place that it has by now.
func (s *step) settle(effective policy.Effective) {
	e, since := &s.next, s.next.CreatedAt
	switch effective.Action {
	case recoup.ActionRetry:
		at := s.now.Truncate(time.Microsecond).Add(max(effective.Schedule.Delay(e.RetryCount+1, nil), s.policy.Floor(e.Class)))
		at = at.Add(spread(e, at))
		s.retryOrHold(at, "")
		if e.ParkReason == recoup.RetryWindowClosed && e.WindowEndsAt.Before(s.now) {
			since = e.WindowEndsAt
		}
	case recoup.ActionPark:
		s.park(recoup.System, effective.ParkReason)
	default:
		s.rest(effective)
	}
	if e.State == recoup.Parked {
		s.parkedSince(since)
	}
}

// parkedSince puts a parked error on the rung that its time in the park has reached.
// Its owner has it from now on, and the time of a whole review.
func (s *step) parkedSince(since time.Time) {
	e := &s.next
	e.ParkedAt = since
	reason := e.EscalationReason
	tier := max(1, s.tierByClock())
	if tier > 1 {
		e.State, reason = recoup.Escalated, fmt.Sprintf("parked since %s", since.UTC().Format(time.RFC3339))
	}
	s.stand(tier, reason)
}

// spread is how much later than at an error of an earlier time is retried: any part of an
// hour, or of half the time that its window has left. It is made of the error's id, so that it is
// always the same of an error.
func spread(e *recoup.Error, at time.Time) time.Duration {
	room := maxSpread
	if !e.WindowEndsAt.IsZero() {
		room = min(room, e.WindowEndsAt.Sub(at)/2)
	}
	if room <= 0 {
		return 0
	}
	part := float64(binary.BigEndian.Uint32(e.ID[12:])) / (1 << 32)
	return time.Duration(part * float64(room)).Truncate(time.Microsecond)
}

// prevails reports whether of two reports of one failure a is the one that stays open.
func prevails(a, b *recoup.Error) bool {
	return cmp.Or(
		cmp.Compare(a.Severity.Rank(), b.Severity.Rank()), a.CreatedAt.Compare(b.CreatedAt),
		strings.Compare(a.Message, b.Message), strings.Compare(string(a.ID[:]), string(b.ID[:])),
	) > 0
}

// untouched reports whether an error is as its import has left it: nothing was done
// about it that one which takes its place would have to take over.
func (s *step) untouched(e *recoup.Error) bool {
	in := Report{
		ID: e.ID, Table: e.Identity().Table, EntityID: e.EntityID, Severity: e.Severity, Message: e.Message, CorrelationID: e.CorrelationID,
		Failure: Failure{Code: e.Code, Class: e.Class, Category: e.Category}, CreatedAt: e.CreatedAt, Past: true,
	}
	alone := step{policy: s.policy, now: e.UpdatedAt, kind: Reported}
	if err := in.applyPast(&alone); err != nil || alone.over != "" {
		return false
	}
	alone.derive()
	return alone.next == *e
}

// ended is what becomes of an error that goes to the archive by another one's report,
// or by its own.
func (s *step) ended(e *recoup.Error, reason recoup.ArchiveReason, successor recoup.ID) *Superseded {
	end := step{policy: s.policy, table: s.table, now: s.now, next: *e, before: e.Snapshot()}
	end.kind, end.actor, end.reason = Archiving, recoup.System, string(reason)
	if reason == recoup.TTLExpired {
		end.kind = Expiring
	}
	end.archive(recoup.System, reason)
	end.next.SupersededBy = successor
	end.leave()
	return &Superseded{Error: end.next, History: end.effects.History}
}
