package lifecycle

import "github.com/recoup-dev/recoup"

// keepHistoric decides whether an error still stands where a report of the past has put it: until
// an attempt or a person moves it to another state. What the clock does with it is part of its past.
func (s *step) keepHistoric() {
	e, was := &s.next, s.current
	if !e.Historic || was == nil || was.ID != e.ID || !e.State.Open() {
		return
	}
	e.Historic = was.State == e.State || was.State.InParkQueue() && e.State.InParkQueue() || s.kind == WindowClosed
}

// unattended reports whether an error is of the past and assigned to nobody. Its owner was notified
// of all of them together.
func (s *step) unattended() bool { return s.next.Historic && s.next.AssignedTo == "" }

// quiet reports whether a step notifies nobody because the clock moves an error of the past.
func (s *step) quiet() bool {
	switch s.kind {
	case Escalating, Reminding, Expiring, WindowClosed:
		return s.unattended() && s.actor == recoup.System
	}
	return false
}
