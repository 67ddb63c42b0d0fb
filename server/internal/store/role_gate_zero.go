package store

import (
	"context"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// BatchWriter changes batches of Gate Zero. Every verb is one transaction: whatever a
// decision causes stands or falls together.
type BatchWriter interface {
	// CreateBatch makes a batch, or returns the one of that id as it is.
	CreateBatch(ctx context.Context, id string, now time.Time) (recoup.IntakeBatch, error)

	// ImportIntakes adds pending intakes to a batch, or, without one, to none.
	// Those whose import key the batch has already are left as they are, so that
	// an import that broke off is simply run again; so are those whose id is known
	// and that have no key, or their id for a key. It returns ErrNotFound
	// for an unknown batch, and ErrRefused if something is new to a batch
	// whose import was declared complete.
	ImportIntakes(ctx context.Context, batch string, now time.Time, intakes []recoup.Intake) (Imported, error)

	// StepBatch applies an input to a batch and, if its kill switch is then on, to
	// each of its recoveries that is leased. When it returns, nothing in a killed
	// batch is leased, nor will be. The error is what decide returned, or
	// ErrNotFound.
	StepBatch(ctx context.Context, id string, decide DecideCase) (recoup.IntakeBatch, error)
}

// CaseWriter changes intakes and recoveries, as [BatchWriter] does batches.
type CaseWriter interface {
	// RecordResults applies first results to intakes, in order; CaseStep.ID is
	// the intake's.
	RecordResults(ctx context.Context, steps []CaseStep) ([]CaseOutcome, error)

	// ClaimEligible leases eligible recoveries: exactly those for which
	// recovery.Step accepts a claim. None is handed to two claimers. A claimer may
	// come away with less than there is while others claim.
	ClaimEligible(ctx context.Context, claim RecoveryClaim) ([]Case, error)

	// FinishRecoveries applies results of retries, in order; CaseStep.ID is the
	// recovery's.
	FinishRecoveries(ctx context.Context, steps []CaseStep) ([]CaseOutcome, error)

	// ClaimPending hands intakes without a result to a worker, the oldest first,
	// but those of killed batches and those that others are at. None is handed to
	// two claimers.
	ClaimPending(ctx context.Context, claim IntakeClaim) (taken []recoup.Intake, at time.Time, err error)

	// ReturnPending lets others claim an intake that was handed to a worker until
	// then, at once. If it is not that worker's any more nothing happens.
	ReturnPending(ctx context.Context, id recoup.ID, worker string, until time.Time) error
}

// GateReader answers questions about Gate Zero, with lists as those of [ErrorFinder].
type GateReader interface {
	// Batch returns a batch with its counts, else ErrNotFound.
	Batch(ctx context.Context, id string) (recoup.IntakeBatchSummary, error)

	// Batches lists batches with their counts, newest first.
	Batches(ctx context.Context, after BatchCursor, limit int) ([]recoup.IntakeBatchSummary, BatchCursor, error)

	// Intake returns the case of an intake, else ErrNotFound.
	Intake(ctx context.Context, id recoup.ID) (Case, error)

	// Recovery returns the case of a recovery, else ErrNotFound.
	Recovery(ctx context.Context, id recoup.ID) (Case, error)

	// Intakes lists intakes, newest first.
	Intakes(ctx context.Context, f recoup.IntakeFilter, p sqldb.Page) ([]recoup.Intake, sqldb.Cursor, error)

	// GateFigures counts batches, and intakes and recoveries by status.
	GateFigures(ctx context.Context) (recoup.GateZeroStatus, error)

	// Eligible lists ACTIVE recoveries whose wait is over, of one batch or of all,
	// the longest waiting first (spec 004, 10). Those that are leased, or paused
	// by a kill switch, are among them; the case says so.
	Eligible(ctx context.Context, batch string, now time.Time, p sqldb.Page) ([]Case, sqldb.Cursor, error)

	// Exhausted lists EXHAUSTED recoveries, of one batch or of all, the last
	// exhausted first.
	Exhausted(ctx context.Context, batch string, p sqldb.Page) ([]Case, sqldb.Cursor, error)

	// Timeline returns the AIR's rows of an intake, oldest first; of one that
	// took over after a recovery, those of the failed one too.
	Timeline(ctx context.Context, intake recoup.ID, limit int) ([]recoup.IntakeEvent, error)

	// BatchTimeline returns the AIR's rows of a batch as a whole, oldest
	// first: its kill switch, its freeze.
	BatchTimeline(ctx context.Context, batch string, limit int) ([]recoup.IntakeEvent, error)
}
