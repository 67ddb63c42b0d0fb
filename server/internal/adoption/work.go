package adoption

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/recoup-dev/recoup/server/internal/wire"
)

// work does a batch of everything that there is to do at an adoption, in the order of
// urgency, and reports whether there is more. Without the turn it does nothing.
func (s *Service) work(ctx context.Context, a *Target, st *state) (more bool, err error) {
	if _, known := s.Engine.Policies.Current().Table(a.Table); a.Tabled && !known {
		return false, nil // this node has the policy that has its table in a moment
	}
	turn, held, err := s.Store.TakeTurn(ctx, a.ID, s.Node, turnLasts)
	if err != nil || !held {
		return false, err
	}
	if a.State == wire.AdoptionReleasing {
		return s.release(ctx, a, turn)
	}
	defer s.Store.LeaveSource(ctx, a.ID)
	if err := s.tend(ctx, a, turn, st); err != nil {
		return false, err
	}
	if more, err = s.changes(ctx, a, turn, st); err != nil {
		return false, err
	}
	if !more {
		s.upToDate(st)
	}
	if err := s.retryRefused(ctx, a, turn); err != nil {
		return false, err
	}
	moved, err := s.mirror(ctx, turn, st)
	if err != nil || s.spent(st) {
		return true, err
	}
	if s.retriesDue(a, st) {
		if err := s.retries(ctx, a, turn, st); err != nil {
			return false, err
		}
	}
	filling := false
	if a.State == wire.AdoptionBackfilling {
		if filling, err = s.backfill(ctx, a, turn, st); err != nil {
			return false, err
		}
	}
	sweeping, err := s.removeRows(ctx, a, turn, st)
	return more || moved || filling || sweeping, err
}

// changes looks at the rows that changes name. Of what has to wait the gate is to find
// the entities quickly: there may be a million of them.
func (s *Service) changes(ctx context.Context, a *Target, turn Lease, st *state) (more bool, err error) {
	list, more, err := s.Store.Changes(ctx, a.ID, maxChanges)
	if err != nil || len(list) == 0 {
		return false, err
	}
	if more {
		if _, err := s.Store.IndexChanges(ctx, a.ID, maxIndexed); err != nil {
			return false, err
		}
	}
	look, done, emptied := st.named(list)
	seen, err := s.lookAt(ctx, a, turn, st, look)
	if err != nil {
		return false, err
	}
	if seen < len(look.keys) {
		done, emptied, more = s.doneOf(st, list, look, seen), nil, true
	}
	if len(done) > 0 {
		if err := s.Store.ForgetChanges(ctx, turn, done); err != nil {
			return false, err
		}
	}
	walking := false
	if len(emptied) > 0 {
		if walking, err = s.walk(ctx, a, turn, st, emptied); err != nil {
			return false, err
		}
	}
	return walking || more && len(done) > 0, nil
}

// named collects the keys that changes name, without those that were looked at before. It returns
// the changes that name keys, and those by which the source was emptied.
func (st *state) named(list []Change) (look lookAt, done, emptied []int64) {
	look = lookAt{seen: map[string]time.Time{}}
	for i := range list {
		c := &list[i]
		if c.ID == st.partly.change {
			c.Keys = c.Keys[min(st.partly.keys, len(c.Keys)):]
		}
		if c.All {
			emptied = append(emptied, c.ID)
			continue
		}
		done = append(done, c.ID)
		for _, key := range c.Keys {
			look.add(key, c.At)
		}
	}
	return look, done, emptied
}

// walk looks at a batch of all rows that have an error, because the source was emptied.
// Where the node dies on the way, another one begins anew.
func (s *Service) walk(ctx context.Context, a *Target, turn Lease, st *state, emptied []int64) (more bool, err error) {
	if st.walk == nil {
		st.walk = &walk{changes: emptied}
	}
	pairs, err := s.Store.PairsAfter(ctx, a.ID, st.walk.after, Batch)
	if err != nil {
		return false, err
	}
	if len(pairs) == 0 {
		err := s.Store.ForgetChanges(ctx, turn, st.walk.changes)
		more = len(emptied) > len(st.walk.changes)
		st.walk = nil
		return more, err
	}
	look := lookAt{seen: map[string]time.Time{}}
	for i := range pairs {
		look.add(pairs[i].Key, time.Time{})
	}
	seen, err := s.lookAt(ctx, a, turn, st, look)
	if err != nil {
		return false, err
	}
	if seen > 0 {
		st.walk.after = &pairs[seen-1].Key
	}
	return true, nil
}

// lookAt is which rows are to be looked at, and when they were written.
type lookAt struct {
	keys []string
	seen map[string]time.Time
}

func (l *lookAt) add(key string, at time.Time) {
	if _, known := l.seen[key]; !known {
		l.keys = append(l.keys, key)
	}
	l.seen[key] = at
}

// doneOf returns the first of changes whose keys are all among the first n that were looked at,
// and notes how far the one behind them is.
func (s *Service) doneOf(st *state, list []Change, look lookAt, n int) (done []int64) {
	left := make(map[string]bool, len(look.keys)-n)
	for _, key := range look.keys[n:] {
		left[key] = true
	}
	for _, c := range list {
		keys := slices.IndexFunc(c.Keys, func(key string) bool { return left[key] })
		if keys >= 0 && c.ID == st.partly.change {
			st.partly.keys += keys
		} else if keys >= 0 {
			st.partly = partly{c.ID, keys}
		}
		if c.All || keys >= 0 {
			break
		}
		done = append(done, c.ID)
	}
	return done
}

// lookAt reads rows as they are now and does what follows, a batch at a time, until the time of
// the turn is over. It returns how many keys it has looked at, from the first. If it has found
// time for none, the next batch is smaller.
func (s *Service) lookAt(ctx context.Context, a *Target, turn Lease, st *state, look lookAt) (seen int, err error) {
	for seen < len(look.keys) && (seen == 0 || !s.spent(st)) {
		size := cmp.Or(st.batch, Batch)
		part := look.keys[seen:min(len(look.keys), seen+size)]
		// The pairs first: a row from before its job was set off is not what became of it.
		pairs, err := s.Store.Pairs(ctx, a.ID, part)
		if err != nil {
			return seen, err
		}
		r, err := s.read(ctx, a, st, part)
		if err != nil {
			return seen, err
		}
		if r.keys < len(part) {
			st.batch = max(1, size/2)
		} else {
			st.batch = min(Batch, 2*size)
		}
		if r.keys == 0 {
			break
		}
		if err := s.reconcile(ctx, a, turn, batch{keys: part[:r.keys], pairs: pairs, rows: r.rows, bad: tooLong(r.rows, r.bad), written: look.seen}); err != nil {
			return seen, err
		}
		seen += r.keys
	}
	return seen, nil
}
