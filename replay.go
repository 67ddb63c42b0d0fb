package recoup

import "time"

// ReplayState is where a replay stands.
type ReplayState string

// The states of a replay. CANCELLED and DONE are final: every item has ended.
const (
	ReplayCollecting ReplayState = "COLLECTING" // members are being added
	ReplayRunning    ReplayState = "RUNNING"
	ReplayPaused     ReplayState = "PAUSED"     // by a person, or by itself
	ReplayCancelling ReplayState = "CANCELLING" // nothing more is released; what is running finishes
	ReplayCancelled  ReplayState = "CANCELLED"
	ReplayDone       ReplayState = "DONE"
)

// Over reports whether the state is final.
func (s ReplayState) Over() bool { return s == ReplayCancelled || s == ReplayDone }

// ReplayStates returns the states of a replay.
func ReplayStates() []ReplayState {
	return []ReplayState{ReplayCollecting, ReplayRunning, ReplayPaused, ReplayCancelling, ReplayCancelled, ReplayDone}
}

// ReplayPlan is how fast a replay goes, and when it stops by itself. To stores it is
// opaque.
type ReplayPlan struct {
	Rate        float64 `json:"rate,omitempty" doc:"items per second; default 10"`
	Concurrency int     `json:"concurrency,omitempty" doc:"released and not ended at the same time; default 100"`
	Canary      int     `json:"canary,omitempty" doc:"items of the first step of the ramp; default 1; -1: there is no ramp"`
	Share       float64 `json:"share,omitempty" doc:"of all items, those of the second step; default 0.1"`
	Limit       float64 `json:"limit,omitempty" doc:"the share of failures above which a step stops the replay; default 0.1"`
}

// ReplaySelection says which dead letters a replay is about: named ones, or those
// that a filter selects.
type ReplaySelection struct {
	IDs       []ID      `json:"ids,omitempty" maxItems:"1000" doc:"named dead letters, instead of a filter"`
	Pipeline  string    `json:"pipeline,omitempty" doc:"only this pipeline"`
	Stage     string    `json:"stage,omitempty" doc:"only this stage"`
	Class     Code      `json:"error_class,omitempty" doc:"only this code"`
	GroupID   ID        `json:"group_id,omitzero" doc:"only this group"`
	After     time.Time `json:"after,omitzero" doc:"created at or after"`
	Before    time.Time `json:"before,omitzero" doc:"created before"`
	All       bool      `json:"all,omitempty" doc:"an empty filter is meant"`
	FromStart string    `json:"from_start,omitempty" doc:"the first stage, if all of the pipeline is to be run again; default: work goes on at the stage that failed"`
}

// NewReplay asks for a replay: of named dead letters, or of those that the preview of a
// selection has shown and that have not changed since.
type NewReplay struct {
	ReplaySelection
	Token  string     `json:"token,omitempty" maxLength:"400000" doc:"of the preview whose set is meant, instead of a selection; good for 15 minutes"`
	Plan   ReplayPlan `json:"plan,omitzero" doc:"how fast it goes, and when it stops itself"`
	Reason string     `json:"reason" maxLength:"4000" doc:"why they are replayed"`
}

// ReplayPreview says which dead letters a replay would include, and why others are
// left out.
type ReplayPreview struct {
	Eligible    int            `json:"eligible" doc:"how many would be replayed"`
	NotEligible map[string]int `json:"not_eligible" doc:"by reason"`
	Refused     []Refused      `json:"refused" doc:"the first hundred that are not eligible"`
	More        bool           `json:"more,omitempty" doc:"there are more than the 10000 that were looked at: replay these first"`
	Token       string         `json:"token,omitempty" doc:"stands for the eligible ones as they are now: a replay with it has no others; good for 15 minutes"`
}

// Exclude counts a dead letter that is left out, and lists it if it is among the first hundred.
func (p *ReplayPreview) Exclude(id ID, reason string, err error) {
	p.NotEligible[reason]++
	p.Refused = refuse(p.Refused, id, err)
}

// Replay is a recorded operation that sends dead letters back to work. Its members are
// fixed as soon as it leaves COLLECTING. Step and Counts are computed from its items
// and set in responses only.
type Replay struct {
	ID        ID          `json:"replay_id" doc:"names the replay"`
	State     ReplayState `json:"state" doc:"COLLECTING, RUNNING, PAUSED, CANCELLING, CANCELLED or DONE"`
	Step      string      `json:"step,omitempty" doc:"of the ramp: canary, share or rest"`
	Hub       string      `json:"-"` // the hub of all its members; empty: several hubs
	Selection JSON        `json:"-"` // what was asked for
	Cursor    string      `json:"-"` // how far members have been added
	Plan      ReplayPlan  `json:"plan" doc:"how fast it goes, and when it stops itself"`
	Members   int         `json:"members" doc:"how many dead letters it has"`
	Counts    ItemCounts  `json:"counts" doc:"how many members are in which state"`
	Phase     int         `json:"-"` // number of the ramp stage, by which results are counted
	PhaseAt   time.Time   `json:"-"`
	NextAt    time.Time   `json:"-"` // when the scheduler next looks at it; zero: never
	CreatedAt time.Time   `json:"created_at" doc:"when it was asked for"`
	CreatedBy string      `json:"created_by" doc:"who asked for it"`
	Reason    string      `json:"reason" doc:"why"`
	StateAt   time.Time   `json:"state_at" doc:"since when it is in this state"`
	StateBy   string      `json:"state_by" doc:"who put it there"`
	Why       string      `json:"state_reason,omitempty" doc:"why it is in this state"`
	StartedAt time.Time   `json:"started_at,omitzero" doc:"when its first member was released"`
	EndedAt   time.Time   `json:"ended_at,omitzero" doc:"when it ended"`
}

// Over reports whether the replay has ended.
func (r *Replay) Over() bool { return !r.EndedAt.IsZero() }

// ReplayDetails is a replay with its notes.
type ReplayDetails struct {
	Replay
	Notes []Note `json:"notes" doc:"who did what about it and why, oldest first"`
}

// ItemCounts is how many members of a replay are in which state.
type ItemCounts struct {
	Pending   int64 `json:"pending" doc:"not yet released"`
	Released  int64 `json:"released" doc:"in the queue, or with a worker"`
	Succeeded int64 `json:"succeeded" doc:"their work is done"`
	Failed    int64 `json:"failed" doc:"with another class than before"`
	Repeated  int64 `json:"repeated" doc:"failed with the same class as before"`
	Cancelled int64 `json:"cancelled" doc:"never released"`
	Archived  int64 `json:"archived" doc:"meanwhile"`
}

// Ended is how many members have their outcome.
func (c ItemCounts) Ended() int64 {
	return c.Succeeded + c.Failed + c.Repeated + c.Cancelled + c.Archived
}

// ItemState is where a member of a replay stands.
type ItemState string

// The states of an item. All but the first two are outcomes, which are final.
const (
	ItemPending   ItemState = "PENDING"
	ItemReleased  ItemState = "RELEASED"  // it is in the queue
	ItemSucceeded ItemState = "SUCCEEDED" // its work is done
	ItemFailed    ItemState = "FAILED"    // its work failed for good, with another class than before
	ItemRepeated  ItemState = "REPEATED"  // with the same class
	ItemCancelled ItemState = "CANCELLED" // the replay was cancelled before it was released
	ItemArchived  ItemState = "ARCHIVED"  // its dead letter was archived meanwhile
)

// Open reports whether the item still waits for its outcome.
func (s ItemState) Open() bool { return s == ItemPending || s == ItemReleased }

// ItemOutcomes returns the outcomes of an item.
func ItemOutcomes() []ItemState {
	return []ItemState{ItemSucceeded, ItemFailed, ItemRepeated, ItemCancelled, ItemArchived}
}

// ReplayItem is a member of a replay and what became of it.
type ReplayItem struct {
	ReplayID   ID        `json:"replay_id" doc:"the replay"`
	Position   int       `json:"position" doc:"its place in the order of release, from 0"` // from 0, in the order of release; set by the store
	ErrorID    ID        `json:"error_id" doc:"the dead letter"`
	WorkID     ID        `json:"work_id" doc:"its work"`
	Round      int       `json:"round" doc:"the round of the dead letter that is replayed"`
	Stage      string    `json:"stage" doc:"at which the work goes on"`
	State      ItemState `json:"state" doc:"PENDING, RELEASED, SUCCEEDED, FAILED, REPEATED, CANCELLED or ARCHIVED"`
	Phase      int       `json:"phase,omitempty" doc:"the step of a ramp that released it; ramps are counted on"`
	ReleasedAt time.Time `json:"released_at,omitzero" doc:"when it was put into the queue"`
	EndedAt    time.Time `json:"ended_at,omitzero" doc:"when it ended"`
	Worker     string    `json:"worker,omitempty" doc:"who worked on it"`
	Class      Code      `json:"error_class,omitempty" doc:"of the failure that it ended with"`
	Detail     string    `json:"detail,omitempty" doc:"more about how it ended"`
}
