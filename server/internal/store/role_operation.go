package store

import (
	"context"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// OperationKeeper keeps recorded bulk acts: who asked for them and confirmed them, their
// members as they were frozen, and what became of each.
type OperationKeeper interface {
	// AddOperation begins an operation, which is COLLECTING and has no members, unless its
	// key has as many that are not confirmed: then it is ErrFull.
	AddOperation(ctx context.Context, o recoup.Operation, unconfirmed int) error

	// AddOperationItems appends members to an operation that is COLLECTING, at most a page,
	// and counts them. The store sets their positions.
	AddOperationItems(ctx context.Context, id recoup.ID, items []recoup.OperationItem) error

	// DropOperation deletes an operation that is COLLECTING, with its members. Of any other
	// it does nothing.
	DropOperation(ctx context.Context, id recoup.ID) error

	// StepOperation applies an input to an operation, with its row of the audit.
	StepOperation(ctx context.Context, now time.Time, id recoup.ID, decide DecideOperation) (recoup.Operation, error)

	// CarryOperation carries out the next members of an operation that is RUNNING, at most
	// limit: what is done with their errors, their results and how far the operation has
	// come are one commit, so that each member is acted on once. Of any other operation
	// it does nothing.
	CarryOperation(ctx context.Context, now time.Time, id recoup.ID, limit int, by Carrier) (recoup.Operation, error)

	// Operation returns an operation, else ErrNotFound.
	Operation(ctx context.Context, id recoup.ID) (recoup.Operation, error)

	// Operations lists operations, newest first.
	Operations(ctx context.Context, f OperationFilter, p sqldb.Page) ([]recoup.Operation, sqldb.Cursor, error)

	// RunningOperations returns operations that are RUNNING, those first that have been
	// for the longest.
	RunningOperations(ctx context.Context, limit int) ([]recoup.ID, error)

	// OperationItems lists the members of an operation in their order, those with a result
	// or all, from a position on, and returns the position to go on from, or -1.
	OperationItems(ctx context.Context, id recoup.ID, result recoup.OperationResult, from, limit int) ([]recoup.OperationItem, int, error)
}
