package sqlops

import (
	"context"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// Locks are taken in one order: the replay, leases of work that is held together,
// errors, the work itself, then its place in the queue; the lock of an error
// protects its dead letter. Claims take only what is free, and so wait for nobody.

// joinLetter joins the parts of a dead letter, but for its error. The limit keeps
// the planner from reading the items of all replays for every row.
func joinLetter(d sqldb.Dialect) string {
	return d.Either(`
	left join lateral (select * from recoup.replay_item i where i.error_id = d.error_id and i.state in ('PENDING', 'RELEASED') limit 1) i on true`, `
	left join recoup.replay_item i on i.error_id = d.error_id and i.state in ('PENDING', 'RELEASED')`) + `
	left join recoup.work w on w.work_id = d.work_id and d.closed_at is null`
}

// ofWorkOrError are the dead letters of the errors in $1, and the open ones of
// the work in $2.
func ofWorkOrError(d sqldb.Dialect) string {
	return d.AnyOf(d.SelectIDs("$1") + `
	union all select error_id from recoup.dead_letter where work_id` + d.AnyID("$2") + ` and closed_at is null`)
}

var (
	stored = sqldb.NewRepository(store.OpenErrors, "error")

	deadLetters = sqldb.NewRepository(store.DeadLetters, "dead letter")
	letterMoves = sqldb.NewRepository(store.DeadLetters.Only("error_id", "step", "cause", "held_expiry", "updated_at"), "dead letter")
	letterParts = sqldb.NewView(store.LetterParts, "dead letter", " from recoup.dead_letter d")

	// letters are dead letters with the errors that are not archived.
	letters = sqldb.NewView(slices.Concat(store.LetterParts,
		sqldb.Within("e.", store.OpenErrors.Columns, func(l *store.StagedWork) *recoup.Error { return &l.Error })), "", " from ")
)

// StepStaged applies inputs to dead letters and pieces of work, in order. Where
// two first failures of one piece of work meet, the later one starts over and
// finds the earlier.
func (v Ops) StepStaged(ctx context.Context, now time.Time, steps []store.StagedStep) ([]store.StagedOutcome, error) {
	var errors, works, tokens []recoup.ID
	var receipts []store.ReceiptKey
	for _, step := range steps {
		if step.ErrorID.IsZero() {
			works = append(works, step.WorkID)
		} else {
			errors = append(errors, step.ErrorID)
		}
		if step.Instead != nil {
			errors = append(errors, step.Instead.ID)
		}
		if !step.Token.IsZero() {
			tokens = append(tokens, step.Token)
		}
		for _, r := range []*store.StagedReceipt{step.Receipt, step.Submission} {
			if r != nil {
				receipts = append(receipts, r.ID())
			}
		}
	}
	load := func(tx Tx) (*store.UnitOfWork, error) {
		w, err := loadLetters(tx, errors, works, tokens)
		if err != nil {
			return nil, err
		}
		w.Receipts, err = FindReceipts(tx, receipts)
		return w, err
	}
	return sqldb.Decide(ctx, v.db, "step letters", now, steps, load, (*store.UnitOfWork).StepLetter, save)
}

// loadLetters locks and reads dead letters by their errors and by their work, and the
// leases under which that is held. What turns out to have got a dead letter while its
// place in the queue was waited for is locked once more, with it.
func loadLetters(tx Tx, errors, works, tokens []recoup.ID) (*store.UnitOfWork, error) {
	if len(works) > 0 {
		if err := tx.HoldWork(works, tokens); err != nil {
			return nil, err
		}
	}
	d := tx.Dialect()
	for {
		locked, err := stored.Find(tx, "where error_id"+ofWorkOrError(d)+" order by error_id"+d.ForUpdate("update"), errors, works)
		if err != nil {
			return nil, err
		}
		found, queued, previous, err := readLetters(tx, errors, works, &locked)
		if err != nil {
			return nil, err
		}
		if missing := attach(found, locked); len(missing) > 0 {
			errors = append(slices.Clip(errors), missing...)
			continue
		}
		for i := range queued {
			tx.Leased(&queued[i])
			found = append(found, store.StagedWork{Queued: queued[i]})
		}
		w := store.NewUnitOfWork(tx.Now(), locked)
		w.AddLetters(found)
		for _, d := range previous {
			w.SetPrevious(d)
		}
		return w, nil
	}
}

// readLetters locks the rows in the queue and reads dead letters, and work without an
// open dead letter with what it had before. Errors that are archived are added to
// those that are locked.
func readLetters(tx Tx, errors, works []recoup.ID, locked *[]recoup.Error) (found []store.StagedWork, queued []recoup.WorkItem, previous []recoup.DeadLetter, err error) {
	d, ids := tx.Dialect(), slices.Clone(errors)
	for i := range *locked {
		ids = append(ids, (*locked)[i].ID)
	}
	tx.LockRows(`select from recoup.work where work_id = any (array(select unnest($2::uuid[])
		union all select work_id from recoup.dead_letter where error_id = any ($1::uuid[]))) order by work_id for update`, ids, works)
	if len(works) > 0 {
		err = sqldb.InOrder(
			func() error {
				return queue.QueryLater(tx, &queued, `w where work_id`+d.AnyID("$1")+`
					and (select 1 from recoup.dead_letter d where d.work_id = w.work_id and d.closed_at is null limit 1) is null`, works)
			},
			func() error {
				return deadLetters.QueryLater(tx, &previous, "where work_id"+d.AnyID("$1")+" and closed_at is not null order by work_id, created_at", works)
			})
	}
	if err == nil && len(*locked) < len(errors) { // some are archived, or unknown
		err = archived.QueryLater(tx, locked, "where error_id"+d.AnyID("$1"), errors)
	}
	if err == nil {
		err = tx.Lock(letterParts.Select("", joinLetter(d)+" where d.error_id"+ofWorkOrError(d), errors, works), sqldb.Into(&found, letterParts.Columns))
	}
	return found, queued, previous, err
}

// attach gives dead letters their errors and returns the ids of those that are not
// there.
func attach(found []store.StagedWork, locked []recoup.Error) (missing []recoup.ID) {
	byID := make(map[recoup.ID]*recoup.Error, len(locked))
	for i := range locked {
		byID[locked[i].ID] = &locked[i]
	}
	for i := range found {
		if e := byID[found[i].Dead.ErrorID]; e != nil {
			found[i].Error = *e
		} else {
			missing = append(missing, found[i].Dead.ErrorID)
		}
	}
	return missing
}

const joinError = " left join recoup.error e on e.error_id = d.error_id"

// DeadLetter returns a dead letter with its error and all that belongs to it.
func (v Ops) DeadLetter(ctx context.Context, id recoup.ID) (store.StagedWork, error) {
	q := letters.Select("read a dead letter", "recoup.dead_letter d"+joinLetter(v.db.Dialect())+joinError+" where d.error_id = $1", id)
	l, err := letters.Get(ctx, v.db, q, "dead letter "+id.String())
	if err == nil && l.Error.ID.IsZero() {
		l.Error, err = archived.Get(ctx, v.db, archived.Select("read an error", "where error_id = $1", id), id.String())
	}
	return l, err
}

// StagedWork returns what there is of a piece of work.
func (v Ops) StagedWork(ctx context.Context, work recoup.ID) (store.StagedWork, error) {
	return letters.Get(ctx, v.db, letters.Select("read work", `(select $1::uuid as work_id) o
		left join recoup.dead_letter d on d.work_id = o.work_id and d.closed_at is null
		left join recoup.replay_item i on i.error_id = d.error_id and i.state in ('PENDING', 'RELEASED')
		left join recoup.work w on w.work_id = o.work_id`+joinError+`
		where d.work_id is not null or w.work_id is not null`, work), "work "+work.String())
}

// DeadLetters lists dead letters, newest first.
func (v Ops) DeadLetters(ctx context.Context, f store.DeadLetterFilter, p sqldb.Page) ([]store.StagedWork, sqldb.Cursor, error) {
	if f.Within.None() {
		return nil, sqldb.Cursor{}, nil
	}
	return letters.Page(ctx, v.db, lettersQuery(v.db.Dialect(), f, p), p, func(l *store.StagedWork) sqldb.Cursor {
		return sqldb.Cursor{At: l.Dead.CreatedAt, ID: l.Dead.ErrorID}
	})
}

// lettersQuery picks the page, by the index of the rarest thing that is asked for,
// before it is joined with anything. What is closed is in the index of workflow states alone.
func lettersQuery(d sqldb.Dialect, f store.DeadLetterFilter, p sqldb.Page) *sqldb.Query {
	closed, index, byPipeline := f.Step == recoup.StepVerified, "list", "dead_letter_pipeline_idx"
	conditions := []struct{ column, value, index string }{
		{"step", string(f.Step), "step"}, {"pipeline", f.Pipeline, "pipeline"}, {"stage", f.Stage, "stage"}, {"error_class", string(f.Class), "class"},
	}
	for _, c := range conditions {
		if c.value != "" && (!closed || c.column == "step") {
			index = c.index
		}
	}
	if !f.GroupID.IsZero() && !closed {
		index = "group"
	}
	if closed || !f.GroupID.IsZero() {
		byPipeline = ""
	}
	q := letters.Select("list dead letters", "")
	pageOf(q, d, "recoup.dead_letter", "dead_letter_"+index+"_idx", byPipeline, " order by created_at desc, error_id desc", f.Within, p, func() {
		if !closed {
			q.Add(" and closed_at is null")
		}
		for _, c := range conditions {
			q.Equal(c.column, c.value)
		}
		if !f.GroupID.IsZero() {
			q.Add(" and group_id = " + q.Arg(f.GroupID))
		}
		q.During("created_at", f.After, f.Before)
		q.Past("created_at", "error_id", p.Cursor)
	})
	return q.Add(" d" + joinLetter(d) + joinError + " order by d.created_at desc, d.error_id desc")
}

// maxArms is of how many pipelines a page of each is read.
const maxArms = 50

// pageOf picks a page of a table. Of several pipelines a page of each is read from
// the index of pipelines, and the newest of them are taken; of too many for a
// statement, or all but some, or where there is no such index, the one that has the
// order is read.
func pageOf(q *sqldb.Query, d sqldb.Dialect, from, index, byPipeline, order string, within *store.Pipelines, p sqldb.Page, conditions func()) {
	limit := order + " limit " + q.Arg(p.Size())
	if within == nil || within.Except || byPipeline == "" || len(within.Names) > maxArms {
		if index != "" {
			from += " /*by " + index + "*/"
		}
		q.Add("(select * from " + from + " where true")
		among(q, d, within)
		conditions()
		q.Add(limit + ")")
		return
	}
	q.Add("(select * from (")
	for i, name := range within.Names {
		if i > 0 {
			q.Add(" union all ")
		}
		q.Add("select * from (select * from " + from + " /*by " + byPipeline + "*/ where pipeline = " + q.Arg(name))
		conditions()
		q.Add(limit + ") n")
	}
	q.Add(") n" + limit + ")")
}

// among restricts to the pipelines that a caller sees, without the index of
// pipelines: another has the order.
func among(q *sqldb.Query, d sqldb.Dialect, within *store.Pipelines) {
	if within == nil {
		return
	}
	seen := "(pipeline || '')" + d.AnyText(q.Arg(within.Names))
	if within.Except {
		seen = "not (" + seen + ")"
	}
	q.Add(" and " + seen)
}
