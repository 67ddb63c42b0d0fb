package store

import (
	"errors"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// ErrLeaseLost is returned for a checkpoint of work that another worker holds,
// or nobody.
var ErrLeaseLost = errors.New("the lease of this work is gone")

// ReplayFilter selects replays. What is empty does not restrict.
type ReplayFilter struct {
	State recoup.ReplayState
	Hubs  []string
}

// ReplayCount is how many items of a stage of the ramp are in a state. Items that
// were never released count for stage 0.
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

// Count adds up the items in these states, in all stages of the ramp.
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
	Notices []wire.Notice // notifications to send
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
// pure, as [DecideStaged] is.
type DecideReplay func(current ReplayStatus, now time.Time) (recoup.Replay, ReplayEffects, error)

// Members is a stretch of members that is added to a replay. Decide gives each
// dead letter an item, whose position the store sets, or refuses it.
type Members struct {
	ReplayID recoup.ID
	ErrorIDs []recoup.ID
	Cursor   string // kept in the replay, so that whoever goes on knows where
	Decide   DecideStaged
}

// Released is the work of a dead letter whose replay releases it.
func (l *StagedWork) Released(now time.Time) recoup.WorkItem {
	return recoup.WorkItem{
		WorkID: l.Item.WorkID, Pipeline: l.Dead.Pipeline, Stage: l.Item.Stage, EntityID: l.Error.EntityID, Class: l.Dead.Class, ReplayID: l.Item.ReplayID, ErrorID: l.Item.ErrorID,
		PayloadRef: l.Dead.PayloadRef, PayloadHash: l.Dead.PayloadHash, CreatedAt: now, DueAt: now,
	}
}

// WorkClaim asks for work that is due, the longest due first. Decide turns each
// into its leased version or, where too many workers were lost over it, into one
// that is not due any more, which is stored and not returned. What it refuses is
// skipped.
type WorkClaim struct {
	Lanes  []recoup.Lane
	Limit  int
	Now    time.Time // zero: as the store's clock says
	Decide func(current recoup.WorkItem, now time.Time) (recoup.WorkItem, error)
}

// WorkEnd is a worker's word that work is done that it holds under this token.
type WorkEnd struct{ WorkID, Token recoup.ID }

// Fence returns ErrLeaseLost unless the token is that of the lease under which
// the work is held; work that is not in the queue needs none.
func Fence(held []recoup.WorkItem, token recoup.ID) error {
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
