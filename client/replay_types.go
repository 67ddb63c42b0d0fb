package client

import (
	"recoup"
)

// SingleReplay asks for the replay of one dead letter.
type SingleReplay struct {
	FromStart string `json:"from_start,omitempty" doc:"the first stage, if all of the pipeline is to be run again"`
	Reason    string `json:"reason" maxLength:"4000"`
}

// ReplayPage is a page of replays, newest first.
type ReplayPage struct {
	Replays []recoup.Replay `json:"replays"`
	Next    string          `json:"next,omitempty"`
}

// ReplayItems is a page of members, in the order of their positions. Next is the
// position from which the list goes on; zero: it has ended.
type ReplayItems struct {
	Items []recoup.ReplayItem `json:"items"`
	Next  int                 `json:"next,omitempty"`
}

// ReplayAct is a reason to pause, resume or cancel a replay.
type ReplayAct struct {
	Reason string `json:"reason" maxLength:"4000"`
}
