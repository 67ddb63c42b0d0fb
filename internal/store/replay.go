package store

import (
	"errors"
	"time"

	"recoup"
)

// ErrLeaseLost is returned for a checkpoint of work that another worker holds,
// or nobody.
var ErrLeaseLost = errors.New("the lease of this work is gone")

// ReplayFilter selects replays. What is empty does not restrict.
type ReplayFilter struct {
	State recoup.ReplayState
	Hubs  []string
}

// ReplayCount is how many items of a step of the ramp are in a state. Items that
// were never released count for step 0.
type ReplayCount struct {
	Phase int              `json:"phase"`
	State recoup.ItemState `json:"state"`
	N     int64            `json:"n"`
}

// ReplayStatus is a replay and how many of its items are in which state.
type ReplayStatus struct {
	recoup.Replay
	ByPhase []ReplayCount // its items by phase and state; what would be zero is left out
}

// Count adds up the items in these states, in all steps of the ramp.
func (s *ReplayStatus) Count(states ...recoup.ItemState) (n int64) {
	for _, c := range s.ByPhase {
		for _, state := range states {
			if c.State == state {
				n += c.N
			}
		}
	}
	return n
}

// ReplayEffects is what a decision about a replay causes.
type ReplayEffects struct {
	Release int // how many more items go into the queue, in the order of their positions
	Notes   []recoup.Note
	Notices []Notice // what people are to be told
}

// ReplayStop is what the notice of a replay that stopped itself says. It holds
// nothing private.
type ReplayStop struct {
	ReplayID recoup.ID `json:"replay_id,omitzero"`
	Why      string    `json:"why,omitempty"`
	Members  int       `json:"members,omitempty"`
	Left     int       `json:"left,omitempty"` // members without an outcome
}

// DecideReplay is what a verb asks about a replay that it has locked. It is
// pure, as [DecideLetter] is.
type DecideReplay func(current ReplayStatus, now time.Time) (recoup.Replay, ReplayEffects, error)

// Members is a stretch of members that is added to a replay. Decide gives each
// letter an item, whose position the store sets, or refuses it.
type Members struct {
	ReplayID recoup.ID
	ErrorIDs []recoup.ID
	Cursor   string // kept in the replay, so that whoever goes on knows where
	Decide   DecideLetter
}

// QueuedWork is a piece of work that waits for a worker, or that one has. It is
// in the queue from its submission or its release to its end.
type QueuedWork struct {
	WorkID      recoup.ID   `json:"work_id"`
	Pipeline    string      `json:"pipeline"`
	Stage       string      `json:"stage"`                 // at which it goes on
	Class       recoup.Code `json:"error_class,omitempty"` // of the dead letter that is replayed
	ReplayID    recoup.ID   `json:"replay_id,omitzero"`    // zero: it is new
	ErrorID     recoup.ID   `json:"error_id,omitzero"`
	PayloadRef  string      `json:"payload_ref,omitempty"`
	PayloadHash string      `json:"payload_hash,omitempty"`
	CreatedAt   time.Time   `json:"created_at"`

	// DueAt is from when on it may be claimed; of leased work it is the lease's
	// end. Zero: nobody may, it waits for the system.
	DueAt time.Time `json:"due_at,omitzero"`
	recoup.Lease
	Claims int `json:"claims,omitempty"`
	Lapses int `json:"lapses,omitempty"` // how many workers were lost over it
}

// Under is work as it is when a worker claims it for the first time, or again after
// it was given back.
func (q QueuedWork) Under(l recoup.Lease) QueuedWork {
	q.Lease, q.DueAt = l, l.LeaseEndsAt
	q.Claims++
	return q
}

// Released is the work of a letter whose replay releases it.
func (l *Letter) Released(now time.Time) QueuedWork {
	return QueuedWork{
		WorkID: l.Item.WorkID, Pipeline: l.Dead.Pipeline, Stage: l.Item.Stage, Class: l.Dead.Class, ReplayID: l.Item.ReplayID, ErrorID: l.Item.ErrorID,
		PayloadRef: l.Dead.PayloadRef, PayloadHash: l.Dead.PayloadHash, CreatedAt: now, DueAt: now,
	}
}

// Lane is where workers get their work.
type Lane struct{ Pipeline, Stage string }

// WorkClaim asks for work that is due, the longest due first. Decide turns each
// into its leased version or, where too many workers were lost over it, into one
// that is not due any more, which is stored and not returned. What it refuses is
// skipped.
type WorkClaim struct {
	Lanes  []Lane
	Limit  int
	Now    time.Time // zero: as the store's clock says
	Decide func(current QueuedWork, now time.Time) (QueuedWork, error)
}

// WorkEnd is a worker's word that work is done that it holds under this token.
type WorkEnd struct{ WorkID, Token recoup.ID }

// Pause keeps work from being claimed: of a pipeline, a stage, an error class,
// or of all that it names together. What is empty does not restrict.
type Pause struct {
	Pipeline string      `json:"pipeline,omitempty"`
	Stage    string      `json:"stage,omitempty"`
	Class    recoup.Code `json:"error_class,omitempty"`
	By       string      `json:"by"`
	Reason   string      `json:"reason"`
	At       time.Time   `json:"at"`
	Until    time.Time   `json:"until,omitzero"` // zero: until it is lifted
}

// Fence returns ErrLeaseLost unless the token is that of the lease under which
// the work is held; work that is not in the queue needs none.
func Fence(held []QueuedWork, token recoup.ID) error {
	var owner recoup.ID
	if len(held) > 0 {
		if owner = held[0].LeaseToken; owner.IsZero() {
			return ErrLeaseLost
		}
	}
	if owner != token {
		return ErrLeaseLost
	}
	return nil
}
