package recoup

// SingleReplay asks for the replay of one dead letter.
type SingleReplay struct {
	FromStart string `json:"from_start,omitempty" doc:"the first stage, if all of the pipeline is to be run again"`
	Reason    string `json:"reason" maxLength:"4000" doc:"why it is replayed"`
}

// ReplayPage is a page of replays, newest first.
type ReplayPage struct {
	Replays []Replay `json:"replays" doc:"this page of the list"`
	Next    string   `json:"next,omitempty" doc:"the cursor of the next page; none: this is the last"`
}

// ReplayItems is a page of members, in the order of their positions. Next is the
// position from which the list goes on; zero: it has ended.
type ReplayItems struct {
	Items []ReplayItem `json:"items" doc:"members, in the order of their release"`
	Next  int          `json:"next,omitempty" doc:"the position at which the next page begins; none: this is the last"`
}

// ReplayAct is a reason to pause, resume or cancel a replay.
type ReplayAct struct {
	Reason string `json:"reason" maxLength:"4000" doc:"why"`
}
