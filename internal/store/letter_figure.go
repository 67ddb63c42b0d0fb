package store

import (
	"time"

	"recoup"
)

// LetterFigures is how staged work stands as a whole.
type LetterFigures struct {
	Letters []LetterLevel // open ones
	Waiting time.Time     // since when the oldest waits to be triaged; zero: none does
	Lanes   []LaneLevel
	Replays map[ReplayState]int64
	Items   map[ItemState]int64 // that have ever had this outcome
}

// LetterLevel is how many open dead letters there are of a kind.
type LetterLevel struct {
	Pipeline string
	Class    recoup.Code
	Step     WorkflowStep
	N        int64
}

// LaneLevel is how much work there is in a lane of the queue: work that can be
// claimed, that is not due yet, that a worker holds, and whose worker was lost.
type LaneLevel struct {
	Lane
	Due, Delayed, Leased, Lapsed int64
}

// How far figures are counted; beyond, it is "at least". Replays in a state are
// counted up to MaxFigure, and lanes, of which MaxLanes are told, share as much.
const (
	MaxFigure = 20_000
	MaxLanes  = 50
)

// ReplayStates returns the states of a replay.
func ReplayStates() []ReplayState {
	return []ReplayState{ReplayCollecting, ReplayRunning, ReplayPaused, ReplayCancelling, ReplayCancelled, ReplayDone}
}

// ItemOutcomes returns the outcomes of an item.
func ItemOutcomes() []ItemState {
	return []ItemState{ItemSucceeded, ItemFailed, ItemRepeated, ItemCancelled, ItemArchived}
}
