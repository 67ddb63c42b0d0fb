package adoption

import (
	"context"

	"recoup/internal/store"
)

// mirror writes into the source what became of its errors, a batch of them. Rows that
// others hold are left for the next time; one that the source refuses, by a constraint
// or a trigger of its owner, is left out.
func (s *Service) mirror(ctx context.Context, turn store.Turn, st *state) (more bool, err error) {
	after := st.moved
	for limit := Batch; ; limit = max(1, limit/8) {
		done, err := s.Store.Mirror(ctx, turn, after, limit)
		said, ofRow := rowFault(err)
		switch {
		case err == nil:
			st.moved = done.Last
			s.count(func(c *Counts) { c.Mirrored += int64(done.Told) })
			return done.Last != 0, nil
		case !ofRow:
			return false, err
		case limit == 1:
			cause, _ := s.Redactor.String(said)
			s.Logger.Warn("row of an adopted table cannot be notified of its error", "adoption", turn.Adoption, "cause", cause)
			s.count(func(c *Counts) { c.Refused++ })
			return true, s.Store.ForgetMoved(ctx, turn, done.Last)
		}
	}
}
