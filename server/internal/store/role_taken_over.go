package store

import (
	"context"

	"github.com/recoup-dev/recoup"
)

// TakenOverRedactor holds rows of Gate Zero that were there before Recoup, and whose text
// has to be redacted once (decision 0090). It is an optional role: only PostgreSQL takes
// rows over.
type TakenOverRedactor interface {
	// UnreadRows returns up to limit rows that nobody has looked at yet.
	UnreadRows(ctx context.Context, kind TakenOverKind, limit int) ([]UnreadRow, error)

	// RedactRows replaces the texts of rows by those given, and marks all of them as
	// looked at, in one transaction. It returns how many it changed; rows that another
	// node has looked at meanwhile are left alone.
	RedactRows(ctx context.Context, kind TakenOverKind, rows []UnreadRow) (int, error)
}

// TakenOverKind is what a row that was taken over is.
type TakenOverKind string

// The kinds of rows that are taken over.
const (
	TakenOverIntake   TakenOverKind = "intake"
	TakenOverRecovery TakenOverKind = "recovery"
)

// UnreadRow is a row that was taken over: its columns that can hold text, by their names.
type UnreadRow struct {
	ID    recoup.ID
	Texts map[string]any // decoded JSON
}
