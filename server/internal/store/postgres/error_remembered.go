package postgres

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// applyRemembered applies remembered decisions to results on errors that they fit, and reports
// for each step whether it is done. The rest is decided for itself.
func (s *Store) applyRemembered(ctx context.Context, t *tx, steps []store.Step, outcomes []store.Outcome) (done []bool, err error) {
	done = make([]bool, len(steps))
	for like, group := range alike(steps) {
		decisions := s.memory.Of(like)
		if len(decisions) == 0 {
			continue
		}
		if err := s.applyAlike(ctx, t, steps, group, decisions, outcomes, done); err != nil {
			return nil, err
		}
	}
	return done, nil
}

// alike groups the results that may be decided together. A second step of an error
// has to see what the first has done, and one with a receipt may have been done.
func alike(steps []store.Step) map[any][]int {
	groups, seen := map[any][]int{}, make(map[recoup.ID]bool, len(steps))
	for i := range steps {
		if r := steps[i].Result; r != nil && r.Like != nil && steps[i].Receipt == nil && !seen[steps[i].ID] {
			groups[r.Like] = append(groups[r.Like], i)
		}
		seen[steps[i].ID] = true
	}
	return groups
}

func (s *Store) applyAlike(ctx context.Context, t *tx, steps []store.Step, group []int, decisions []*lifecycle.Decision, outcomes []store.Outcome, done []bool) error {
	b := remembered{tx: t, steps: steps, decisions: decisions, outcomes: outcomes, done: done, place: make(map[recoup.ID]int, len(group))}
	list := make([]*store.Step, len(group))
	for k, i := range group {
		list[k], b.place[steps[i].ID] = &steps[i], i
	}
	sql, args, err := s.statement(t, list, decisions)
	if err != nil {
		return err
	}
	t.queue(sql, args...).Query(b.read)
	if err := t.send(ctx); err != nil {
		return err
	}
	if b.held != b.written {
		return errTaken
	}
	addRows(t, "recoup.activity_delta", activityColumns, b.Tallies().Of(t.now), "")
	writeEvents(t, b.Events)
	if notices := b.Notices(); len(notices) > 0 {
		addNotices(t, t.now, notices)
	}
	s.readRemembered(t, b.whole, b.place, outcomes)
	return nil
}

// statement is that which applies decisions to the errors of steps.
func (s *Store) statement(t *tx, steps []*store.Step, decisions []*lifecycle.Decision) (sql string, args []any, err error) {
	switch d := decisions[0]; {
	case d.Effects.Archive:
		args, err = archiveArgs(t.due(), steps, decisions)
		return archiveAlike, args, err
	case d.Kind == lifecycle.Succeeded:
		args, err = successArgs(t.due(), steps, decisions)
		return resolveAlike, args, err
	}
	t.steer()
	by := s.failureStatements.of(decisions)
	return by.sql, by.args(t.due(), steps, decisions), nil
}

// remembered is a batch of results that are decided together.
type remembered struct {
	*tx
	store.CachedOutcomes
	steps     []store.Step
	decisions []*lifecycle.Decision
	outcomes  []store.Outcome
	done      []bool
	place     map[recoup.ID]int // of an error's step
	held      int64             // how many agreed, and how many of them were written
	written   int64
	whole     [][]byte // ids of errors that are to be read back
}

// read notes which of the results were recorded, and by which decision: one row of
// arrays, which cost less than rows.
func (b *remembered) read(rows pgx.Rows) error {
	for rows.Next() {
		v := rows.RawValues()
		ids, correlations, workers, places, retried := elements(v[0]), elements(v[1]), elements(v[2]), elements(v[3]), elements(v[6])
		if len(ids) == 0 {
			continue
		}
		now, bad := integer("now", v[4])
		written, worse := integer("done", v[5])
		if err := errors.Join(bad, worse); err != nil {
			return err
		}
		b.now = time.UnixMicro(now + epoch).UTC()
		b.held, b.written = int64(len(ids)), written
		for i := range ids {
			which, err := integer("place", places[i])
			if err != nil {
				return err
			}
			d := b.decisions[which]
			b.note(d, recoup.ID(ids[i]), identity(correlations[i]), string(workers[i]))
			if i < len(retried) && retried[i] != nil {
				at, err := integer("retried", retried[i])
				if err != nil {
					return err
				}
				b.Again(d.Was.Table, time.UnixMicro(at+epoch))
			}
		}
	}
	return rows.Err()
}

func (b *remembered) note(d *lifecycle.Decision, id, correlation recoup.ID, worker string) {
	i := b.place[id]
	step := &b.steps[i]
	b.done[i] = true
	b.outcomes[i].Error, b.outcomes[i].Effects = d.Brief(id, correlation, b.now)
	if d.Kind == lifecycle.Succeeded {
		b.outcomes[i].Error.ResolvedBy = cmp.Or(worker, recoup.System)
	}
	b.Add(step, d, &d.Was, &b.outcomes[i])
	if !step.Result.Brief && !d.Effects.Archive {
		b.whole = append(b.whole, step.ID[:])
	}
}

// readRemembered queues the reading of errors whose results were recorded.
func (s *Store) readRemembered(t *tx, whole [][]byte, place map[recoup.ID]int, outcomes []store.Outcome) {
	if len(whole) == 0 {
		return
	}
	row := decode(s.sql.errors)
	t.queue(s.sql.readIDs, whole).Query(func(rows pgx.Rows) error {
		_, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (recoup.Error, error) {
			e, err := row(r)
			outcomes[place[e.ID]].Error = e
			return e, err
		})
		return err
	})
}
