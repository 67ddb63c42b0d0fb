package store

import (
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// CachedOutcomes gathers the effects of steps to which a remembered decision was applied, so
// that they are written for all of them together.
type CachedOutcomes struct {
	Events  []Event
	notices NoticeSet
	counts  map[*lifecycle.Decision]int
	again   Tallies
}

// Add adds a step to which a decision was applied. was is the error that it was applied
// to, as far as it is known.
func (s *CachedOutcomes) Add(step *Step, d *lifecycle.Decision, was *recoup.Error, out *Outcome) {
	if s.counts == nil {
		s.counts = map[*lifecycle.Decision]int{}
	}
	s.counts[d]++
	for _, n := range d.Effects.Notices.All() {
		s.notices.Add(n, step.ID, d.Was.Table)
	}
	if out.Effects.Event == "" || step.EventOf == nil {
		return
	}
	if e := step.EventOf(was, out); e != nil {
		s.Events = append(s.Events, *e)
	}
}

// Notices returns the notifications to send, as [UnitOfWork.Notices] does.
func (s *CachedOutcomes) Notices() []wire.Notice { return s.notices.List() }

// Again notes when an error whose retry has ended was retried before; zero: never.
func (s *CachedOutcomes) Again(table string, retriedAt time.Time) {
	if !retriedAt.IsZero() {
		s.again.at(table, Minute(retriedAt)).Retried--
	}
}

// Tallies counts what happened. Of the marks that were left behind, the only one of which an
// error has its own is that of its last retry: see [CachedOutcomes.Again].
func (s *CachedOutcomes) Tallies() Tallies {
	t := s.again
	for d, n := range s.counts {
		was := d.Was
		if was.RetriedAt = d.Next.RetriedAt; !d.Effects.Archive {
			was.RetriedAt = time.Time{}
		}
		t.Note(&was, &d.Next, d.Kind, n)
	}
	return t
}
