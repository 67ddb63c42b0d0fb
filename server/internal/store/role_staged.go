package store

import (
	"context"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// DeadLetterWriter changes dead letters and groups. Every verb is one transaction:
// whatever a decision causes, in the error too, stands or falls together.
//
// When the error of a dead letter is archived, by whatever verb, the dead letter
// is closed, its payload and checkpoints are destroyed, its work leaves the
// queue, whoever holds it, and its item of a replay ends as ARCHIVED, all in that
// commit. An expiry is refused while it is part of a replay. When the archived
// error is purged, what is left of the dead letter goes with it.
type DeadLetterWriter interface {
	// StepStaged applies inputs to dead letters and pieces of work, in order,
	// each under locks on its error and its place in the queue. By this verb work
	// is submitted, dead letters are recorded and taken through their workflow,
	// and results of workers are acknowledged. Work has one open dead letter at
	// most; what is archived can be looked at and not changed.
	StepStaged(ctx context.Context, now time.Time, steps []StagedStep) ([]StagedOutcome, error)

	// StepGroup changes the owner and the note of a group. The error is what
	// decide returned, or ErrNotFound.
	StepGroup(ctx context.Context, id recoup.ID, decide DecideGroup) (recoup.DeadLetterGroup, error)

	// SaveCheckpoint keeps the output of a stage, in place of an earlier one of
	// the same stage. Work that is in the queue must be leased under the token, and
	// work that is not must come without one, else ErrLeaseLost.
	SaveCheckpoint(ctx context.Context, token recoup.ID, c Checkpoint) error

	// ForgetCheckpoints deletes the checkpoints of work that begins anew, or that is
	// done elsewhere, under the same fence.
	ForgetCheckpoints(ctx context.Context, token, work recoup.ID) error

	// PurgeCheckpoints deletes at most limit checkpoints from before a time whose
	// work is neither in the queue nor an open dead letter: it ended elsewhere.
	PurgeCheckpoints(ctx context.Context, before time.Time, limit int) (int, error)
}

// Queue hands work to workers.
type Queue interface {
	// ClaimWork leases work of the lanes that is due, the longest due first,
	// except what is paused and what belongs to a replay that is not RUNNING.
	// None is handed to two claimers. A claimer may come away with less than there
	// is while others claim.
	ClaimWork(ctx context.Context, claim WorkClaim) ([]recoup.WorkItem, error)

	// FinishWork ends new work that is held under these tokens, with its payload and
	// its checkpoints, as far as it is of these pipelines, and reports of which it
	// did so. What it leaves alone may be replayed work, or held under another token,
	// or not at all: StepStaged decides about it.
	FinishWork(ctx context.Context, within *Pipelines, ends []WorkEnd) ([]bool, error)

	// SpentWork returns work that is not due any more because too many workers
	// were lost over it, oldest first.
	SpentWork(ctx context.Context, limit int) ([]recoup.WorkItem, error)

	// SetPause pauses work, in place of an earlier pause of the same; claims that
	// begin after it has returned get nothing of it.
	SetPause(ctx context.Context, p recoup.WorkPause) error

	// LiftPause ends the pause of just this pipeline, stage and class, and reports
	// whether there was one.
	LiftPause(ctx context.Context, p recoup.PauseScope) (bool, error)

	// Pauses returns the pauses that hold at now, oldest first; within bounds, of these
	// pipelines alone, and none that names no pipeline.
	Pauses(ctx context.Context, now time.Time, within *Pipelines) ([]recoup.WorkPause, error)
}

// Replayer sends dead letters back to work.
type Replayer interface {
	// CreateReplay begins a replay without members.
	CreateReplay(ctx context.Context, r recoup.Replay, notes ...recoup.Note) error

	// AddMembers adds members to a replay that is COLLECTING, else it returns
	// ErrRefused, and keeps the cursor in the same commit, so that a million
	// of them can be added stretch by stretch and by whoever goes on. A dead
	// letter is a member of one replay at a time. At most MaxPage at once.
	AddMembers(ctx context.Context, now time.Time, m Members) ([]StagedOutcome, error)

	// StepReplay applies an input to a replay, puts the items that it releases into
	// the queue, and the notices that it causes into the outbox. The error is what decide returned, or ErrNotFound.
	StepReplay(ctx context.Context, now time.Time, id recoup.ID, decide DecideReplay) (ReplayStatus, error)

	// EndItems applies an input to at most limit items of a replay that wait for
	// their outcome and that no worker holds at now. It returns how many it has
	// ended; fewer than limit means that the rest is held by workers.
	EndItems(ctx context.Context, now time.Time, id recoup.ID, limit int, decide DecideStaged) (int, error)

	// PurgeReplays deletes at most limit items of replays that have ended before a
	// time, and those replays of which no item is left. It returns how many items
	// it has deleted.
	PurgeReplays(ctx context.Context, before time.Time, limit int) (int, error)
}

// DeadLetterReader answers questions about staged work, with lists as those of
// [ErrorFinder].
type DeadLetterReader interface {
	// DeadLetter returns a dead letter with its error, which may be archived, and
	// all that belongs to it, else ErrNotFound.
	DeadLetter(ctx context.Context, id recoup.ID) (StagedWork, error)

	// DeadLetters lists dead letters, newest first. The error of one that is
	// archived is left out.
	DeadLetters(ctx context.Context, f DeadLetterFilter, p sqldb.Page) ([]StagedWork, sqldb.Cursor, error)

	// StagedWork returns what there is of a piece of work: its place in the queue
	// and its open dead letter. If there is neither it is ErrNotFound.
	StagedWork(ctx context.Context, work recoup.ID) (StagedWork, error)

	// Rounds returns the rounds of a dead letter, the first first.
	Rounds(ctx context.Context, id recoup.ID, limit int) ([]recoup.Round, error)

	// Notes returns the notes about what a note names, oldest first.
	Notes(ctx context.Context, about recoup.Note, limit int) ([]recoup.Note, error)

	// Payload returns the payload of a piece of work, else ErrNotFound.
	Payload(ctx context.Context, work recoup.ID) (Payload, error)

	// Payloads returns the payloads of those pieces of work that have one, in any
	// order.
	Payloads(ctx context.Context, works []recoup.ID) ([]Payload, error)

	// Checkpoints returns the outputs of finished stages, in the order in which
	// they were saved.
	Checkpoints(ctx context.Context, work recoup.ID) ([]Checkpoint, error)

	// Group returns a group with its counts, else ErrNotFound.
	Group(ctx context.Context, id recoup.ID) (recoup.DeadLetterGroup, error)

	// Groups lists groups with their counts, of one pipeline, of some or of all, those
	// first in which something arrived last. One in which something arrives
	// meanwhile moves to the front.
	Groups(ctx context.Context, f GroupFilter, p sqldb.Page) ([]recoup.DeadLetterGroup, sqldb.Cursor, error)

	// GroupDays returns what groups have gained on each UTC day from a day on, oldest
	// first; days without anything are left out.
	GroupDays(ctx context.Context, ids []recoup.ID, from time.Time) ([]recoup.GroupDay, error)

	// Replay returns a replay with its counts, else ErrNotFound.
	Replay(ctx context.Context, id recoup.ID) (ReplayStatus, error)

	// Replays lists replays with their counts, in one state or in all, of some
	// hubs or of all, newest first.
	Replays(ctx context.Context, f ReplayFilter, p sqldb.Page) ([]ReplayStatus, sqldb.Cursor, error)

	// DueReplays returns replays that are to be looked after, longest due first.
	DueReplays(ctx context.Context, now time.Time, limit int) ([]recoup.ID, error)

	// Items lists the items of a replay, in one state or in all, in the order of
	// their positions from one on. It returns the position to go on from, or -1.
	Items(ctx context.Context, replay recoup.ID, state recoup.ItemState, from, limit int) ([]recoup.ReplayItem, int, error)

	// ItemsOf returns the items that a dead letter has been in replays, the last
	// first.
	ItemsOf(ctx context.Context, id recoup.ID, limit int) ([]recoup.ReplayItem, error)
}

// StagedGauge counts dead letters, queued work and replays.
type StagedGauge interface {
	// StagedFigures counts dead letters, queued work and replays at now, from counts
	// that are kept as rows change, and from indexes as far as MaxFigure. Dead letters
	// and lanes are ordered by their names.
	StagedFigures(ctx context.Context, now time.Time) (StagedFigures, error)
}
