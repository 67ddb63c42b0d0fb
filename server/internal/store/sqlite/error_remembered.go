package sqlite

import (
	"crypto/sha256"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// applyRemembered applies remembered decisions to steps on errors that they fit, and returns the
// places of the steps that are left, each of which is decided for itself. Results are of
// errors that the writer remembers; of what is archived little is read.
func (t *tx) applyRemembered(m *store.DecisionCache, steps []store.Step, outcomes []store.Outcome) (rest []int, err error) {
	if err := t.held.look(t); err != nil {
		return nil, err
	}
	s := remembered{tx: t, updates: newUpdates(), endings: endings{at: t.now}, levels: newLevels(), history: historyBatch{seen: make(map[recoup.ID]bool, len(steps))}}
	var (
		like      any
		decisions []*lifecycle.Decision
		over      = map[any][]int{} // what a decision to archive may stand for
	)
	for i := range steps {
		step := &steps[i]
		if r := step.Result; r == nil || r.Like == nil || step.Receipt != nil || s.history.seen[step.ID] {
			s.history.seen[step.ID] = true // what comes behind it has to see what it has done
			rest = append(rest, i)
			continue
		}
		if step.Result.Like != like {
			like, decisions = step.Result.Like, m.Of(step.Result.Like)
		}
		if len(decisions) > 0 && decisions[0].Effects.Archive {
			s.history.seen[step.ID] = true
			over[like] = append(over[like], i)
			continue
		}
		applied, err := s.end(step, decisions, &outcomes[i])
		if err != nil {
			return nil, err
		}
		if !applied {
			rest = append(rest, i)
		}
	}
	for like, places := range over {
		left, err := s.archive(steps, places, m.Of(like), outcomes)
		if err != nil {
			return nil, err
		}
		rest = append(rest, left...)
	}
	slices.Sort(rest)
	return rest, s.save()
}

// remembered is steps to which remembered decisions are applied.
type remembered struct {
	*tx
	store.CachedOutcomes
	updates *updates
	endings endings
	history historyBatch
	levels  levels
	ended   []recoup.ID
}

// end ends the attempt that a result is about, if that was decided before.
func (s *remembered) end(step *store.Step, decisions []*lifecycle.Decision, out *store.Outcome) (bool, error) {
	was, known := s.held.errors[step.ID]
	if !known || was.LeaseToken != step.Result.Token {
		return false, nil
	}
	d := matchDecision(decisions, was.Error, s.now)
	if d == nil {
		return false, nil
	}
	out.Error, out.Effects = d.End(was.Error, s.now)
	s.rows[step.ID] = was.row
	if err := s.history.add(s.tx, historyRow{&out.Effects.History, was.Error}); err != nil {
		return false, err
	}
	if err := s.updates.add(was.row, was.Error, &out.Error); err != nil {
		return false, err
	}
	s.levels.count(was.Error, -1)
	s.levels.count(&out.Error, 1)
	s.Add(step, d, was.Error, out)
	s.Again(was.Table, was.RetriedAt)
	s.ended = append(s.ended, step.ID)
	return true, nil
}

// overColumns are those that decide whether a remembered decision to archive fits an
// error that nobody holds and whose retries are as lifecycle.Step leaves them, and by
// which it is counted.
var overColumns = slices.DeleteFunc(slices.Clone(errorColumns), func(c column) bool {
	return !slices.Contains([]string{
		"error_id", "correlation_id", "table_name", "policy_version", "state", "blocking", "code", "last_failure_code", "assigned_to", "escalated_to",
		"created_at", "expires_at", "group_id", "historic",
	}, c.name)
})

var selectOver = selectByID(overColumns) + ` where e.lease_token is null and e.retry_exhausted = (e.max_retries > 0 and e.retry_count >= e.max_retries)`

// archive has those errors archived for which a decision to do so stands, and returns the
// places of the others.
func (s *remembered) archive(steps []store.Step, places []int, decisions []*lifecycle.Decision, outcomes []store.Outcome) (left []int, err error) {
	ids, at := make([]recoup.ID, len(places)), make(map[recoup.ID]int, len(places))
	for k, i := range places {
		ids[k], at[steps[i].ID] = steps[i].ID, i
	}
	wanted, err := hexes(ids)
	if err != nil {
		return nil, err
	}
	as := map[*lifecycle.Decision]store.Ending{}
	for _, d := range decisions {
		as[d] = store.EndingOf(&d.Next, &d.Effects.History)
	}
	err = s.scan(overColumns, func(row int64, e *recoup.Error) {
		d := matchDecision(decisions, e, s.now)
		if d == nil {
			return
		}
		i := at[e.ID]
		delete(at, e.ID)
		s.endings.add(row, as[d], e, recoup.ID{})
		s.levels.count(e, -1)
		outcomes[i].Error, outcomes[i].Effects = d.Brief(e.ID, e.CorrelationID, s.now)
		s.Add(&steps[i], d, &d.Was, &outcomes[i])
		s.ended = append(s.ended, e.ID)
	}, selectOver, wanted)
	for _, i := range at {
		left = append(left, i)
	}
	return left, err
}

func (s *remembered) save() error {
	if len(s.ended) == 0 {
		return nil
	}
	for _, part := range []func() error{
		func() error { return s.history.save(s.tx) },
		func() error { return s.exec(beginBatch) },
		func() error { return s.updates.save(s.tx) },
		func() error { return s.endings.copy(s.tx) },
		func() error { return s.endings.leave(s.tx) },
		func() error { return s.levels.save(s.tx) },
		func() error { return s.exec(endBatch) },
		func() error { return s.saveEvents(s.Events) },
		func() error { return s.saveNotices(s.Notices()) },
		func() error { return s.saveActivity(s.Tallies()) },
	} {
		if err := part(); err != nil {
			return err
		}
	}
	for _, id := range s.ended {
		delete(s.held.errors, id)
	}
	return nil
}

// matchDecision returns the remembered decision that fits an error, if there is one.
func matchDecision(decisions []*lifecycle.Decision, e *recoup.Error, now time.Time) *lifecycle.Decision {
	for _, d := range decisions {
		if d.Holds(e, now) {
			return d
		}
	}
	return nil
}

// tokenOf makes the token of an error's lease of its claim's.
func tokenOf(claim, id recoup.ID) recoup.ID {
	sum := sha256.Sum256(append(claim[:], id[:]...))
	copy(claim[8:], sum[:8])
	claim[8] = claim[8]&0x3f | 0x80 // a UUID's variant
	return claim
}
