package adoption

import (
	"context"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

const (
	// sweepEvery is how often rows are looked for that are to be removed.
	sweepEvery = 10 * time.Minute

	// removeBatch is how many rows are removed together.
	removeBatch = 50
)

// sweep is the way through all pairs of an adoption, in search of rows to be removed.
// Where the node dies on the way, another one begins anew.
type sweep struct {
	after string
	kept  int64  // rows that the source refuses to give up
	why   string // the last of them
}

// sweeps reports whether rows are to be looked for: the policy has them removed, their
// owner has agreed to that, and it is time.
func (s *Service) sweeps(a *Target, st *state) bool {
	if end := s.rules(a).AtEnd; end != a.Agreed.AtEnd || !a.Agreed.Removes() {
		return false
	}
	now := s.Now()
	return !now.Before(st.slow) && (st.sweep != nil || !now.Before(a.SweptAt.Add(sweepEvery)))
}

// removeRows looks at a batch of the pairs of an adoption, and removes the rows whose
// errors are over. Like the backfill it takes at most half of the time.
func (s *Service) removeRows(ctx context.Context, a *Target, turn Lease, st *state) (more bool, err error) {
	if a.State != wire.AdoptionGoverned || !s.sweeps(a, st) {
		return false, nil
	}
	begun := s.Now()
	if waits, err := s.waits(ctx, st); waits || err != nil {
		return false, err
	}
	if st.sweep == nil {
		st.sweep = &sweep{}
	}
	ended, last, err := s.Store.EndedRows(ctx, a.ID, st.sweep.after, Batch)
	if err != nil {
		return false, err
	}
	move := a.Agreed.AtEnd == wire.SourceMove
	ended = slices.DeleteFunc(ended, func(e EndedRow) bool { return e.Archived != move })
	for part := range slices.Chunk(ended, removeBatch) {
		if s.spent(st) {
			return true, nil // the next turn begins with the same pairs
		}
		if err := s.remove(ctx, turn, st.sweep, part); err != nil {
			return false, err
		}
	}
	if last == "" {
		err := s.Store.SaveSweep(ctx, turn, begun, st.sweep.kept, st.sweep.why)
		a.SweptAt, st.sweep = begun, nil
		return false, err
	}
	st.sweep.after = last
	now := s.Now()
	st.slow = now.Add(now.Sub(begun))
	return true, nil
}

// remove removes rows. A row that is not as it was when its error ended is not removed: it has
// failed again, or will be looked at.
func (s *Service) remove(ctx context.Context, turn Lease, sw *sweep, list []EndedRow) error {
	known, keys := make(map[string]*EndedRow, len(list)), make([]string, len(list))
	for i := range list {
		known[list[i].Key], keys[i] = &list[i], list[i].Key
	}
	done, err := s.Store.RemoveRows(ctx, turn, keys, func(rows []RemovedRow) (remove []RemovedRow, moved []MovedRow, err error) {
		for i := range rows {
			r := &rows[i]
			pair := known[r.Key]
			switch {
			case pair == nil || r.Refused == "" && !s.over(&r.SourceRow, pair):
			case r.Refused != "":
				sw.kept, sw.why = sw.kept+1, r.Refused
			default:
				remove = append(remove, *r)
				if moved, err = s.moved(moved, pair.ErrorID, r.Whole); err != nil {
					return nil, nil, err
				}
			}
		}
		return remove, moved, nil
	})
	for i := range done {
		if done[i].Refused != "" {
			sw.kept, sw.why = sw.kept+1, done[i].Refused
			continue
		}
		s.count(func(c *Counts) { c.Removed++ })
	}
	return err
}

// moved adds a row that is moved, encrypted.
func (s *Service) moved(list []MovedRow, id recoup.ID, whole []byte) ([]MovedRow, error) {
	if whole == nil {
		return list, nil
	}
	key, encrypted, err := s.Letters.Keys.EncryptBeside(id, rowPlace, whole)
	return append(list, MovedRow{ErrorID: id, Encrypted: encrypted, Key: key}), err
}

// over reports whether a row is as it was when its error ended: the same failure, or no
// failure any more.
func (s *Service) over(r *SourceRow, pair *EndedRow) bool {
	if r.Underway {
		return false // what comes of that is not known yet
	}
	if !r.Governed {
		return len(pair.Digest) == 0
	}
	c := cleaned{digest: s.digest(r)}
	return c.memory(&Row{Digest: pair.Digest}) == same
}
