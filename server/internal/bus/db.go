package bus

import (
	"context"
	"encoding/binary"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

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

const forgetBatches = `
delete from recoup.bus_batch where batch_id in
  (select batch_id from recoup.bus_batch where batch_id < $1 order by batch_id limit $2)`

// Fold joins the noted sequences that have no gap between them, and forgets at most limit ids,
// and gaps, that are older than a time. It returns how many ids. Store.WriteEventBatches
// notes them.
func Fold(ctx context.Context, db sqldb.DB, before time.Time, limit int) (forgotten int, err error) {
	err = db.Act(ctx, "fold the batches of the bus", time.Time{}, func(tx sqldb.Tx) error {
		if err := tx.Do(foldRanges); err != nil {
			return err
		}
		if err := tx.Do(forgetGaps, before); err != nil {
			return err
		}
		var err error
		forgotten, err = tx.Change(forgetBatches, []any{firstID(before), limit})
		return err
	})
	return forgotten, err
}

// firstID is below every id that was made at a time or later.
func firstID(at time.Time) (id recoup.ID) {
	binary.BigEndian.PutUint64(id[:], uint64(at.UnixMilli())<<16)
	return id
}

// gapsQuery finds the gaps between ranges: a range that begins above all before it.
const gapsQuery = `
select stream, below + 1, first_seq - 1, written_at from (
  select *, max(last_seq) over (partition by stream order by first_seq, last_seq
    rows between unbounded preceding and 1 preceding) as below from recoup.bus_range) r
where first_seq > below + 1 and written_at < $1 order by written_at, stream, first_seq limit $2`

// Gaps returns at most limit gaps between the noted sequences that have been known since before
// a time, the oldest first.
func Gaps(ctx context.Context, db sqldb.Reader, before time.Time, limit int) ([]BusGap, error) {
	columns := sqldb.Fields(func(g *BusGap) []any { return []any{&g.Stream, &g.First, &g.Last, &g.Since} })
	return sqldb.Rows(ctx, db, sqldb.NewQuery("list gaps of the bus", gapsQuery, before, limit), columns...)
}
