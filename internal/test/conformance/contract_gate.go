package conformance

import (
	"context"
	"time"

	"recoup"
	"recoup/internal/store"
)

// Gate is Gate Zero: batches, intakes, the recoveries of those that failed, and
// the AIR that tells of all of them. Every verb is one transaction: whatever a
// decision causes stands or falls together.
type Gate interface {
	GateBatches
	GateCases
	GateReading
	Audit(ctx context.Context, f store.AuditFilter, after store.AuditCursor, limit int) ([]store.AuditEntry, store.AuditCursor, error)
	Close() error
}

// GateBatches changes batches.
type GateBatches interface {
	// CreateBatch makes a batch, or returns the one of that id as it is.
	CreateBatch(ctx context.Context, id string, now time.Time) (store.Batch, error)

	// ImportIntakes adds pending intakes to a batch, or, without one, to none.
	// Those whose import key the batch has already are left as they are, so that
	// an import that broke off is simply run again; so are those whose id is known
	// and that have no key, or their id for a key. It returns store.ErrNotFound
	// for an unknown batch, and store.ErrRefused if something is new to a batch
	// whose import was declared complete.
	ImportIntakes(ctx context.Context, batch string, now time.Time, intakes []store.Intake) (store.Imported, error)

	// StepBatch applies an input to a batch and, if its kill switch is then on, to
	// each of its recoveries that is leased. When it returns, nothing in a killed
	// batch is leased, nor will be. The error is what decide returned, or
	// store.ErrNotFound.
	StepBatch(ctx context.Context, id string, decide store.DecideCase) (store.Batch, error)

	// FreezeDue applies an input to at most limit ACTIVE recoveries, which nobody
	// holds, of batches whose time is over, and to each such batch in which
	// nothing is ACTIVE any more. It returns how many recoveries it has ended;
	// fewer than limit means that the rest is held by workers.
	FreezeDue(ctx context.Context, now time.Time, limit int, decide store.DecideCase) (int, error)

	// FoldBatchCounts replaces appended deltas by their sums.
	FoldBatchCounts(ctx context.Context) error
}

// GateCases changes intakes and recoveries.
type GateCases interface {
	// RecordResults applies first results to intakes, in order; CaseStep.ID is
	// the intake's.
	RecordResults(ctx context.Context, steps []store.CaseStep) ([]store.CaseOutcome, error)

	// ClaimEligible leases eligible recoveries: exactly those for which
	// recovery.Step accepts a claim. None is handed to two claimers. A claimer may
	// come away with less than there is while others claim.
	ClaimEligible(ctx context.Context, claim store.RecoveryClaim) ([]store.Case, error)

	// FinishRecoveries applies results of retries, in order; CaseStep.ID is the
	// recovery's.
	FinishRecoveries(ctx context.Context, steps []store.CaseStep) ([]store.CaseOutcome, error)

	// ClaimPending hands intakes without a result to a worker, the oldest first,
	// but those of killed batches and those that others are at. None is handed to
	// two claimers.
	ClaimPending(ctx context.Context, claim store.IntakeClaim) (taken []store.Intake, at time.Time, err error)

	// ReturnPending lets others claim an intake that was handed to a worker until
	// then, at once. If it is not that worker's any more nothing happens.
	ReturnPending(ctx context.Context, id recoup.ID, worker string, until time.Time) error
}

// GateReading answers questions. Lists have an index, a limit and a cursor, as
// those of [Reading].
type GateReading interface {
	// Batch returns a batch with its counts, else store.ErrNotFound.
	Batch(ctx context.Context, id string) (store.BatchStatus, error)

	// Batches lists batches with their counts, newest first.
	Batches(ctx context.Context, after store.BatchCursor, limit int) ([]store.BatchStatus, store.BatchCursor, error)

	// Intake returns the case of an intake, else store.ErrNotFound.
	Intake(ctx context.Context, id recoup.ID) (store.Case, error)

	// Recovery returns the case of a recovery, else store.ErrNotFound.
	Recovery(ctx context.Context, id recoup.ID) (store.Case, error)

	// Intakes lists intakes, newest first.
	Intakes(ctx context.Context, f store.IntakeFilter, p store.Page) ([]store.Intake, store.Cursor, error)

	// GateFigures counts batches, and intakes and recoveries by status.
	GateFigures(ctx context.Context) (store.GateFigures, error)

	// Eligible lists ACTIVE recoveries whose wait is over, of one batch or of all,
	// the longest waiting first (spec 004, 10). Those that are leased, or paused
	// by a kill switch, are among them; the case says so.
	Eligible(ctx context.Context, batch string, now time.Time, p store.Page) ([]store.Case, store.Cursor, error)

	// Exhausted lists EXHAUSTED recoveries, of one batch or of all, the last
	// exhausted first.
	Exhausted(ctx context.Context, batch string, p store.Page) ([]store.Case, store.Cursor, error)

	// Timeline returns what the AIR tells of an intake, oldest first; of one that
	// took over after a recovery, what it tells of the failed one too.
	Timeline(ctx context.Context, intake recoup.ID, limit int) ([]store.AIR, error)

	// BatchTimeline returns what the AIR tells of a batch as a whole, oldest
	// first: its kill switch, its freeze.
	BatchTimeline(ctx context.Context, batch string, limit int) ([]store.AIR, error)
}
