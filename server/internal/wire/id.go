package wire

import (
	"time"

	"github.com/recoup-dev/recoup"
)

// FoundIDs is what a part of an id may mean, the newest first.
type FoundIDs struct {
	IDs  []FoundID `json:"ids" doc:"what it may mean, newest first"`
	More bool      `json:"more,omitempty" doc:"there are more than are listed"`
}

// FoundID is a thing that was found by a part of its id.
type FoundID struct {
	ID   recoup.ID `json:"id" doc:"the whole id"`
	Of   string    `json:"of,omitempty" doc:"what it belongs to: a table, pipeline, hub, rule, recipient, company or name"`
	What string    `json:"what,omitempty" doc:"its code, class, state, kind or role"`
	At   time.Time `json:"at" doc:"when it was made"`
}
