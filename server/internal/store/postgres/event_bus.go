package postgres

import (
	"bytes"
	"context"
	"slices"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
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
