package store

import (
	"context"
	"time"
)

// ChangeReader says what has happened lately, for pages that show it live. It
// is a hint: an act whose transaction takes longer than [ChangeOverlap] to commit may be
// passed over, and one that was seen may come again, with the same number.
type ChangeReader interface {
	// ChangeMark returns where to begin: at a time, or at the database's own if that is
	// earlier.
	ChangeMark(ctx context.Context, now time.Time) (ChangeMark, error)

	// Changed returns what has happened since a mark, newest first and at most limit, and
	// the next mark; of archived errors, those of these tables. It costs no more than what
	// happened lately, however much there is.
	Changed(ctx context.Context, since ChangeMark, tables []string, limit int) ([]Changed, ChangeMark, error)

	// Moving returns the newest operations, replays, alerts and silences, and the dead
	// letters and their groups that something was noted about last; of each kind at most
	// limit, newest first. One that has changed since is there with another mark.
	Moving(ctx context.Context, limit int) ([]Moving, error)
}
