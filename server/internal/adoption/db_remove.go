package adoption

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store/postgres"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// SourceDetail returns what an error keeps of its source row; ErrNotFound: nothing.
func (s *DB) SourceDetail(ctx context.Context, id recoup.ID) (d SourceDetail, err error) {
	err = s.pool.QueryRow(ctx, `select details, sealed, coalesce(sealed_by, ''), moved, coalesce(moved_by, '')
		from recoup.source_detail where error_id = $1`, id).Scan(&d.Details, &d.Sealed, &d.SealedBy, &d.Moved, &d.MovedBy)
	if errors.Is(err, pgx.ErrNoRows) {
		err = sqldb.ErrNotFound
	}
	return d, postgres.Failed("read what is kept of a source row", err)
}

// EndedRows returns the rows behind a key whose errors are over, of as many pairs as the
// limit says, and the key of the last of these; empty: there are none.
// Errors are looked up one by one, as selectPairs does.
func (s *DB) EndedRows(ctx context.Context, adoption int, after string, limit int) (ended []EndedRow, last string, err error) {
	rows, err := s.pool.Query(ctx, `select r.key, r.error_id, r.digest, a.error_id is not null, e.error_id is not null
		from `+pairsBehind+` r
		left join lateral (select error_id from recoup.error where error_id = r.error_id limit 1) e on true
		left join lateral (select error_id from recoup.error_archive where error_id = r.error_id limit 1) a on true order by r.key`,
		adoption, after, sqldb.Clamp(limit))
	all, err := postgres.CollectRows("read adopted rows whose errors are over", rows, err, func(row pgx.CollectableRow) (e EndedRow, err error) {
		var there bool
		if err = row.Scan(&e.Key, &e.ErrorID, &e.Digest, &e.Archived, &there); err == nil && !there {
			ended = append(ended, e)
		}
		return e, err
	})
	if len(all) > 0 {
		last = all[len(all)-1].Key
	}
	return ended, last, err
}

// RemoveRows deletes rows of a source, forgets their pairs, and returns which were deleted or
// refused. Take is asked about the rows as they are, and returns those to delete and what of
// them to keep beside their archived errors, of each or of none, which is kept first. A row that changes in
// between stays, as do rows that are locked.
// Each part may be repeated: a copy is kept first, then
// exactly the version of the row that was copied is deleted, then its pair. If a node dies before
// the last, the row's trigger has noted that it is gone.
func (s *DB) RemoveRows(ctx context.Context, turn Lease, keys []string, take func([]RemovedRow) (remove []RemovedRow, moved []MovedRow, err error)) ([]RemovedRow, error) {
	const doing = "remove rows of an adopted table"
	list, err := rowsAtSource(ctx, s, doing, turn.Adoption, "take", len(keys), scanTaken, keys)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	remove, copies, err := take(list)
	if err != nil || len(remove) == 0 {
		return nil, err
	}
	if err := s.keepMoved(ctx, turn, copies); err != nil {
		return nil, err
	}
	keys, marks := make([]string, len(remove)), make([]string, len(remove))
	for i := range remove {
		keys[i], marks[i] = remove[i].Key, remove[i].Mark
	}
	done, err := rowsAtSource(ctx, s, doing, turn.Adoption, "remove", len(keys), func(row pgx.CollectableRow) (r RemovedRow, err error) {
		var refused *string
		err = row.Scan(&r.Key, &refused)
		r.Refused = cut(refused, maxSourceText)
		return r, err
	}, keys, marks)
	if err != nil {
		return nil, err
	}
	return done, s.forgetRemoved(ctx, turn, done, remove, copies)
}

// forgetRemoved forgets the pairs of rows that are gone, and the copies of those that were refused.
func (s *DB) forgetRemoved(ctx context.Context, turn Lease, done, asked []RemovedRow, copies []MovedRow) error {
	var gone []string
	var kept []recoup.ID
	for i := range done {
		if done[i].Refused == "" {
			gone = append(gone, done[i].Key)
			continue
		}
		at := slices.IndexFunc(asked, func(r RemovedRow) bool { return r.Key == done[i].Key })
		if at >= 0 && at < len(copies) {
			kept = append(kept, copies[at].ErrorID)
		}
	}
	return s.inTurn(ctx, "remove rows of an adopted table", turn, func(t postgres.Tx) error {
		t.Queue(deletePairs, turn.Adoption, gone)
		if len(kept) > 0 {
			t.Queue("select recoup.drop_moved($1::uuid[])", postgres.IDs(kept))
		}
		return nil
	})
}

// scanTaken reads a row that is to be removed. Of one that is too large the columns are its size.
func scanTaken(row pgx.CollectableRow) (r RemovedRow, err error) {
	r.SourceRow, r.Mark, r.Whole, err = scanSource(row)
	if len(r.Whole) > 0 && r.Whole[0] != '{' {
		r.Refused = fmt.Sprintf("it has %s bytes, and %d are kept", cut(new(string(r.Whole)), 20), maxMoved)
		r.Whole = nil
	}
	return r, err
}

// maxMoved is how many bytes of JSON a row may have that is moved.
const maxMoved = 1 << 20

// keepMoved keeps copies of rows, and checks the turn.
func (s *DB) keepMoved(ctx context.Context, turn Lease, moved []MovedRow) error {
	ids, rows, by := make([]recoup.ID, len(moved)), make([][]byte, len(moved)), make([]string, len(moved))
	for i, m := range moved {
		ids[i], rows[i], by[i] = m.ErrorID, m.Encrypted, m.Key
	}
	return s.inTurn(ctx, "keep rows of an adopted table", turn, func(t postgres.Tx) error {
		if len(ids) > 0 {
			t.Queue("select recoup.keep_moved($1::uuid[], $2, $3)", postgres.IDs(ids), rows, by)
		}
		return nil
	})
}

// SaveSweep notes when a sweep has ended, how many rows it could not remove, and why.
func (s *DB) SaveSweep(ctx context.Context, turn Lease, at time.Time, kept int64, why string) error {
	return s.inTurn(ctx, "note the end of a sweep", turn, func(t postgres.Tx) error {
		t.Queue("update recoup.adoption set swept_at = $2, kept_back = $3, kept_why = $4 where adoption_id = $1", turn.Adoption, at, kept, postgres.Optional(why))
		return nil
	})
}
