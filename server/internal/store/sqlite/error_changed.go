package sqlite

import (
	"context"
	"time"

	"github.com/recoup-dev/recoup/server/internal/store"
)

const (
	// selectChanged reads the end of the history: with one writer, numbers are in the
	// order of commits.
	selectChanged = `select h.error_id, e.table_name, h.state, h.at, h.seq from transition h join error e on e.error_id = h.error_id
		where h.seq > ?1 order by h.seq desc limit 0 + ?2`

	// selectChangedArchive reads the end of a table's archive.
	selectChangedArchive = `select error_id, table_name, state, archived_at, end_seq from error_archive indexed by error_archive_table_idx
		where table_name = ?1 and archived_at > ?2 order by archived_at desc, error_id desc limit 0 + ?3`
)

// ChangeMark returns where to begin.
func (s *Store) ChangeMark(ctx context.Context, now time.Time) (store.ChangeMark, error) {
	found, err := query(ctx, s, func(n *int64) []any { return []any{n} }, "select coalesce(max(seq), 0) from transition")
	if err != nil {
		return store.ChangeMark{}, err
	}
	return store.ChangeMark{Seq: found[0], At: now}, nil
}

// Changed returns what has happened since a mark.
func (s *Store) Changed(ctx context.Context, since store.ChangeMark, tables []string, limit int) ([]store.Changed, store.ChangeMark, error) {
	fields := func(c *store.Changed) []any { return []any{id{&c.ErrorID}, &c.Table, &c.State, stamp{&c.At}, &c.Seq} }
	list, err := query(ctx, s, fields, selectChanged, since.Seq, limit)
	if err != nil {
		return nil, since, err
	}
	next := since
	if len(list) > 0 {
		next.Seq = list[0].Seq
	}
	for _, table := range tables {
		ended, err := query(ctx, s, fields, selectChangedArchive, table, micros(since.At.Add(-store.ChangeOverlap)), limit)
		if err != nil {
			return nil, since, err
		}
		list = append(list, ended...)
	}
	for i := range list {
		if list[i].At.After(next.At) {
			next.At = list[i].At
		}
	}
	return list[:min(len(list), limit)], next, nil
}
