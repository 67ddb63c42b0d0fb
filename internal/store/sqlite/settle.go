package sqlite

import (
	"crypto/sha256"
	"time"

	"recoup"
	"recoup/internal/lifecycle"
	"recoup/internal/store"
)

// settle applies to results what was decided before on errors like theirs, of those
// that the writer remembers, and returns the places of the steps that are left, each
// of which is decided for itself.
func (t *tx) settle(m *store.Memory, steps []store.Step, outcomes []store.Outcome) (rest []int, err error) {
	if err := t.held.look(t); err != nil {
		return nil, err
	}
	s := settling{tx: t, updates: newUpdates(), levels: levels{}, counts: map[*lifecycle.Decision]int{}, chapters: chapters{seen: make(map[recoup.ID]bool, len(steps))}}
	var (
		like      any
		decisions []*lifecycle.Decision
	)
	for i := range steps {
		step := &steps[i]
		if r := step.Result; r == nil || r.Like == nil || step.Receipt != nil || s.chapters.seen[step.ID] {
			s.chapters.seen[step.ID] = true // what comes behind it has to see what it has done
			rest = append(rest, i)
			continue
		}
		if step.Result.Like != like {
			like, decisions = step.Result.Like, m.Of(step.Result.Like)
		}
		settled, err := s.end(step, decisions, &outcomes[i])
		if err != nil {
			return nil, err
		}
		if !settled {
			rest = append(rest, i)
		}
	}
	return rest, s.save()
}

// settling is results that are decided as others were.
type settling struct {
	*tx
	updates  *updates
	chapters chapters
	levels   levels
	counts   map[*lifecycle.Decision]int
	events   []store.Event
	ended    []recoup.ID
}

// end ends the attempt that a result is about, if that was decided before.
func (s *settling) end(step *store.Step, decisions []*lifecycle.Decision, out *store.Outcome) (bool, error) {
	was, known := s.held.errors[step.ID]
	if !known || was.LeaseToken != step.Result.Token {
		return false, nil
	}
	d := standing(decisions, was.Error, s.now)
	if d == nil {
		return false, nil
	}
	out.Error, out.Effects = d.End(was.Error, s.now)
	s.rows[step.ID] = was.row
	if err := s.chapters.add(s.tx, told{&out.Effects.History, was.Error}); err != nil {
		return false, err
	}
	if err := s.updates.add(was.row, was.Error, &out.Error); err != nil {
		return false, err
	}
	s.levels.count(was.Error, -1)
	s.levels.count(&out.Error, 1)
	s.counts[d]++
	s.ended = append(s.ended, step.ID)
	if out.Effects.Event != "" && step.Tell != nil {
		if e := step.Tell(was.Error, out); e != nil {
			s.events = append(s.events, *e)
		}
	}
	return true, nil
}

func (s *settling) save() error {
	if len(s.ended) == 0 {
		return nil
	}
	var tallies store.Tallies
	for d, n := range s.counts {
		tallies.Note(&d.Was, &d.Next, d.Kind, n)
	}
	for _, part := range []func() error{
		func() error { return s.chapters.save(s.tx) },
		func() error { return s.exec(beginBatch) },
		func() error { return s.updates.save(s.tx) },
		func() error { return s.levels.save(s.tx) },
		func() error { return s.exec(endBatch) },
		func() error { return s.saveEvents(s.events) },
		func() error { return s.saveActivity(tallies) },
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

// standing returns the decision that stands for an error, if there is one.
func standing(decisions []*lifecycle.Decision, e *recoup.Error, now time.Time) *lifecycle.Decision {
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
