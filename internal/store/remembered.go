package store

import (
	"recoup"
	"recoup/internal/lifecycle"
)

// Remembered gathers the effects of steps to which a remembered decision was applied, so
// that they are written for all of them together.
type Remembered struct {
	Events  []Event
	notices NoticeSet
	counts  map[*lifecycle.Decision]int
}

// Add adds a step to which a decision was applied. was is the error that it was applied
// to, as far as it is known.
func (s *Remembered) Add(step *Step, d *lifecycle.Decision, was *recoup.Error, out *Outcome) {
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

// Notices returns the notifications to send, as [Work.Notices] does.
func (s *Remembered) Notices() []recoup.Notice { return s.notices.List() }

// Tallies counts what happened.
func (s *Remembered) Tallies() (t Tallies) {
	for d, n := range s.counts {
		t.Note(&d.Was, &d.Next, d.Kind, n)
	}
	return t
}
