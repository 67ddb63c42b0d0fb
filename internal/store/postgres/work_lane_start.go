package postgres

import (
	"sync"
	"time"

	"recoup"
)

// laneStarts remembers, of lanes in which more is due than a claim takes, how far this
// node has come: the next claim begins there, instead of at the tickets that are dead
// already. What it passes over that way (a claim that was rolled back, a submission
// that took long) is found by the next claim that looks from the beginning: each that
// would come away with less than it may, and every sixteenth.
type laneStarts struct {
	mu    sync.Mutex
	lanes map[recoup.Lane]laneStart
	last  int // how much the last claim took
}

type laneStart struct {
	at   time.Time
	used int
}

const lookFromTheBeginning = 16

// begin returns from where on to look in each lane, and whether that is anywhere
// but at the beginning.
func (s *laneStarts) begin(lanes []recoup.Lane) (from []*time.Time, further bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	from = make([]*time.Time, len(lanes))
	for i, lane := range lanes {
		start, known := s.lanes[lane]
		if !known {
			continue
		}
		start.used++
		s.lanes[lane] = start
		if start.used%lookFromTheBeginning != 0 {
			from[i], further = &start.at, true
		}
	}
	return from, further
}

// expect is for how many pieces of work a claim makes room.
func (s *laneStarts) expect(limit int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return min(limit, s.last)
}

// keep notes how far a claim has come. One that was not served in full has seen the
// end.
func (s *laneStarts) keep(lanes []recoup.Lane, due []dueWork, full bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = len(due)
	for _, lane := range lanes {
		if !full {
			delete(s.lanes, lane)
		}
	}
	for i := range due {
		q := &due[i]
		if !full || !q.LeaseToken.IsZero() || !q.ReplayID.IsZero() {
			continue
		}
		if s.lanes == nil {
			s.lanes = map[recoup.Lane]laneStart{}
		}
		lane := recoup.Lane{Pipeline: q.Pipeline, Stage: q.Stage}
		if start := s.lanes[lane]; q.DueAt.After(start.at) {
			start.at = q.DueAt
			s.lanes[lane] = start
		}
	}
}
