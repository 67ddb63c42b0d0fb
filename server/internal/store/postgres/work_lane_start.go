package postgres

import (
	"sync"
	"time"

	"github.com/recoup-dev/recoup"
)

// laneStarts remembers how far this node has claimed in lanes where more is due than a
// claim takes: the next claim begins there, instead of scanning dead tickets. What it
// misses that way (a claim that was rolled back, a submission that committed late) is
// found by the next claim that scans from the beginning: each that would return less
// than its limit, and every sixteenth.
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

// begin returns where to begin in each lane, and whether any of them is not at the
// beginning.
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

// expect is how many pieces of work a claim allocates for.
func (s *laneStarts) expect(limit int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return min(limit, s.last)
}

// keep notes how far a claim has come. One that got less than its limit has seen the
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
