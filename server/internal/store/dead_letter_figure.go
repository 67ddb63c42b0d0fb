package store

import (
	"cmp"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
)

// StagedFigures is how staged work stands as a whole.
type StagedFigures struct {
	Letters []DeadLetterLevel // open ones
	Waiting time.Time         // since when the oldest waits to be triaged; zero: none does
	Lanes   []LaneLevel       // the largest, by name
	Others  LaneLevel         // all other lanes together
	Replays map[recoup.ReplayState]int64
	Items   map[recoup.ItemState]int64 // that have ever had this outcome
}

// DeadLetterLevel is how many open dead letters there are of a kind.
type DeadLetterLevel struct {
	Pipeline string
	Class    recoup.Code
	Step     recoup.WorkflowStep
	N        int64
}

// LaneLevel is how much work there is in a lane of the queue: work that can be
// claimed, that is not due yet, that a worker holds, and whose worker was lost.
type LaneLevel struct {
	recoup.Lane
	Due, Delayed, Leased, Lapsed int64
}

// How far figures are counted; beyond, it is "at least". Replays in a state are
// counted up to MaxFigure. So are lanes, which share it: of MaxLaneWalk the MaxLanes
// largest are returned, and what lies beyond is counted with the others.
const (
	MaxFigure   = 20_000
	MaxLanes    = 50
	MaxLaneWalk = 500
)

// Sum is how much there is in all.
func (l *LaneLevel) Sum() int64 { return l.Due + l.Delayed + l.Leased + l.Lapsed }

// Add adds what there is in another lane.
func (l *LaneLevel) Add(other LaneLevel) {
	l.Due, l.Delayed, l.Leased, l.Lapsed = l.Due+other.Due, l.Delayed+other.Delayed, l.Leased+other.Leased, l.Lapsed+other.Lapsed
}

// LargestLanes returns the MaxLanes largest of some lanes in the order of their names,
// and all others together. Of lanes that are as large the first by name count.
func LargestLanes(lanes []LaneLevel) (largest []LaneLevel, others LaneLevel) {
	byName := func(a, b LaneLevel) int {
		return cmp.Or(cmp.Compare(a.Pipeline, b.Pipeline), cmp.Compare(a.Stage, b.Stage))
	}
	bySize := slices.SortedFunc(slices.Values(lanes), func(a, b LaneLevel) int { return cmp.Or(cmp.Compare(b.Sum(), a.Sum()), byName(a, b)) })
	for _, l := range bySize[min(len(bySize), MaxLanes):] {
		others.Add(l)
	}
	largest = bySize[:min(len(bySize), MaxLanes)]
	slices.SortFunc(largest, byName)
	return largest, others
}
