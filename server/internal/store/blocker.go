package store

import (
	"time"

	"github.com/recoup-dev/recoup"
)

// Blocker is what a gate shows of an open error that blocks an entity. Without an id it
// is none, but what a slice blocks the entity with.
type Blocker struct {
	ID          recoup.ID
	Table       string
	Code        recoup.Code
	State       recoup.State
	AssignedTo  string
	EscalatedTo string
	CreatedAt   time.Time
	NextRetryAt time.Time
	ExpiresAt   time.Time
}

// BlockerOf returns what a gate shows of an error.
func BlockerOf(e *recoup.Error) Blocker {
	return Blocker{
		ID: e.ID, Table: e.Table, Code: e.Code, State: e.State, AssignedTo: e.AssignedTo, EscalatedTo: e.EscalatedTo,
		CreatedAt: e.CreatedAt, NextRetryAt: e.NextRetryAt, ExpiresAt: e.ExpiresAt,
	}
}

// Owner returns who is to act on it, as the error itself would.
func (b *Blocker) Owner() string {
	var e recoup.Error
	e.AssignedTo, e.EscalatedTo = b.AssignedTo, b.EscalatedTo
	return e.Owner()
}
