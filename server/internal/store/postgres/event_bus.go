package postgres

import (
	"bytes"
	"context"
	"encoding/binary"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// WriteEventBatches adds the events of batches that were not written yet, and notes the
// batches.
func (s *Store) WriteEventBatches(ctx context.Context, stream string, batches []store.EventBatch) (int, error) {
	batches = slices.SortedFunc(slices.Values(batches), func(a, b store.EventBatch) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	return s.insertEvents(ctx, byMonth(eventsOf(batches, nil)), func(t *tx, ctx context.Context) (monthly, error) {
		known, err := t.rememberBatches(ctx, batches)
		if err != nil {
			return nil, err
		}
		t.noteSequences(stream, batches)
		return byMonth(eventsOf(batches, known)), nil
	})
}

// eventsOf returns the events of the batches but the known ones.
func eventsOf(batches []store.EventBatch, known map[recoup.ID]bool) (list []store.Event) {
	for _, b := range batches {
		if !known[b.ID] {
			list = append(list, b.Events...)
		}
	}
	return list
}

// rememberBatches remembers the ids of batches, and returns those that were known. Two
// that write the same batch wait for each other here, in the order of ids.
func (t *tx) rememberBatches(ctx context.Context, batches []store.EventBatch) (known map[recoup.ID]bool, err error) {
	var ids []recoup.ID
	for _, b := range batches {
		if !b.ID.IsZero() {
			ids = append(ids, b.ID)
		}
	}
	known = make(map[recoup.ID]bool, len(ids))
	for _, id := range ids {
		known[id] = true
	}
	rows, err := t.conn.Query(ctx, `insert into recoup.bus_batch (batch_id)
		select k from unnest($1::uuid[]) k order by k on conflict do nothing returning batch_id`, raw(ids))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		delete(known, recoup.ID(rows.RawValues()[0]))
	}
	return known, rows.Err()
}

// noteSequences notes which sequences of a stream are written with this transaction.
func (t *tx) noteSequences(stream string, batches []store.EventBatch) {
	var sequences []int64
	for _, b := range batches {
		if b.Sequence > 0 {
			sequences = append(sequences, b.Sequence)
		}
	}
	if len(sequences) == 0 {
		return
	}
	slices.Sort(sequences)
	var first, last []int64
	for i, n := range sequences {
		if i == 0 || n > sequences[i-1]+1 {
			first, last = append(first, n), append(last, n)
		}
		last[len(last)-1] = n
	}
	t.queue(`insert into recoup.bus_range (stream, first_seq, last_seq)
		select $1, * from unnest($2::bigint[], $3::bigint[]) on conflict do nothing`, stream, first, last)
}

// foldRanges joins ranges that overlap or follow each other. What is written meanwhile is
// left for the next time.
const foldRanges = `
with taken as (delete from recoup.bus_range returning *),
marked as (
  select *, case when first_seq <= 1 + max(last_seq) over (partition by stream order by first_seq, last_seq
    rows between unbounded preceding and 1 preceding) then 0 else 1 end as begins from taken),
numbered as (select *, sum(begins) over (partition by stream order by first_seq, last_seq) as island from marked)
insert into recoup.bus_range (stream, first_seq, last_seq, written_at)
select stream, min(first_seq), max(last_seq), min(written_at) from numbered group by stream, island on conflict do nothing`

// forgetGaps deletes ranges below a gap that is older than a time.
const forgetGaps = `
delete from recoup.bus_range r where exists (select 1 from recoup.bus_range n
  where n.stream = r.stream and n.first_seq > r.last_seq and n.written_at < $1)
  or written_at < $1 and exists (select 1 from recoup.bus_range n where n.stream <> r.stream and n.written_at > r.written_at)`

// FoldEventBatches joins ranges, and forgets what is older than a time.
func (s *Store) FoldEventBatches(ctx context.Context, before time.Time, limit int) (forgotten int, err error) {
	err = s.transact(ctx, "fold the batches of the bus", time.Time{}, func(t *tx) error {
		t.queue(foldRanges)
		t.queue(forgetGaps, before)
		if err := t.send(ctx); err != nil {
			return err
		}
		tag, err := t.conn.Exec(ctx, `delete from recoup.bus_batch where batch_id in
			(select batch_id from recoup.bus_batch where batch_id < $1 order by batch_id limit $2)`, firstID(before), limit)
		forgotten = int(tag.RowsAffected())
		return err
	})
	return forgotten, err
}

// firstID is below every id that was made at a time or later.
func firstID(at time.Time) []byte {
	return append(binary.BigEndian.AppendUint64(nil, uint64(at.UnixMilli())<<16), make([]byte, 8)...)
}

// gapsQuery finds the gaps between ranges: a range that begins above all before it.
const gapsQuery = `
select stream, below + 1, first_seq - 1, written_at from (
  select *, max(last_seq) over (partition by stream order by first_seq, last_seq
    rows between unbounded preceding and 1 preceding) as below from recoup.bus_range) r
where first_seq > below + 1 and written_at < $1 order by written_at, stream, first_seq limit $2`

// BusGaps returns the gaps that have been known since before a time.
func (s *Store) BusGaps(ctx context.Context, before time.Time, limit int) ([]wire.BusGap, error) {
	rows, err := s.pool.Query(ctx, gapsQuery, before, limit)
	if err != nil {
		return nil, failure("list gaps of the bus", err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (g wire.BusGap, err error) {
		err = row.Scan(&g.Stream, &g.First, &g.Last, &g.Since)
		g.Since = g.Since.UTC()
		return g, err
	})
	return list, failure("list gaps of the bus", err)
}
