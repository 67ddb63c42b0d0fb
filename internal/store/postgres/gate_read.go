package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"recoup"
	"recoup/internal/store"
)

var selectStatus = "select " + names(statusColumns, "") + ` from cl.gate_zero_batch b
	cross join lateral (
		select coalesce(jsonb_object_agg(status, n), '{}') as counts from (
			select status, sum(n) as n from cl.gate_zero_count c
			where c.batch_id = b.batch_id group by 1 having sum(n) <> 0) s) c`

// Batch returns a batch with its counts.
func (s *Store) Batch(ctx context.Context, id string) (store.BatchStatus, error) {
	rows, err := s.pool.Query(ctx, selectStatus+" where b.batch_id = $1", id)
	list, err := collectRows("read a batch", rows, err, decodeStatus)
	return one(list, err, "batch "+id)
}

// Batches lists batches with their counts, newest first.
func (s *Store) Batches(ctx context.Context, after store.BatchCursor, limit int) ([]store.BatchStatus, store.BatchCursor, error) {
	page := store.Page{Limit: limit}
	q := query{}
	q.add(selectStatus)
	if !after.IsZero() {
		q.add(" where (b.created_at, b.batch_id) < (" + q.arg(after.At) + ", " + q.arg(after.ID) + ")")
	}
	q.add(" order by b.created_at desc, b.batch_id desc limit " + q.arg(page.Size()))
	rows, err := s.pool.Query(ctx, q.String(), q.args...)
	list, err := collectRows("list batches", rows, err, decodeStatus)
	if err != nil || len(list) < page.Size() {
		return list, store.BatchCursor{}, err
	}
	last := &list[len(list)-1]
	return list, store.BatchCursor{At: last.CreatedAt, ID: last.ID}, nil
}

func decodeStatus(row pgx.CollectableRow) (store.BatchStatus, error) {
	s := store.BatchStatus{Intakes: map[store.IntakeStatus]int64{}, Recoveries: map[store.RecoveryStatus]int64{}}
	for i, value := range row.RawValues() {
		if value == nil {
			continue
		}
		if err := statusColumns[i].read(&s, value); err != nil {
			return s, err
		}
	}
	return s, nil
}

// Intake returns the case of an intake.
func (s *Store) Intake(ctx context.Context, id recoup.ID) (store.Case, error) {
	list, err := s.cases(ctx, selectCase+" where i.intake_id = $1", id[:])
	return one(list, err, "intake "+id.String())
}

// Recovery returns the case of a recovery.
func (s *Store) Recovery(ctx context.Context, id recoup.ID) (store.Case, error) {
	list, err := s.cases(ctx, selectCase+" where r.recovery_id = $1", id[:])
	return one(list, err, "recovery "+id.String())
}

func (s *Store) cases(ctx context.Context, sql string, args ...any) ([]store.Case, error) {
	rows, err := s.pool.Query(ctx, sql, args...)
	return collectRows("read recoveries", rows, err, decode(caseColumns))
}

// Eligible lists ACTIVE recoveries whose wait is over, the longest waiting first.
func (s *Store) Eligible(ctx context.Context, batch string, now time.Time, p store.Page) ([]store.Case, store.Cursor, error) {
	q := query{}
	q.add(selectCase + " where r.status = 'ACTIVE' and r.next_eligible_at <= " + q.arg(now))
	if batch != "" {
		q.add(" and coalesce(r.batch_id, '') = " + q.arg(batch))
	}
	q.beyondRecovery("r.next_eligible_at", ">", p.Cursor)
	q.add(" order by r.next_eligible_at, r.recovery_id limit " + q.arg(p.Size()))
	list, err := s.cases(ctx, q.String(), q.args...)
	return list, nextCase(list, p, func(r *store.Recovery) time.Time { return r.NextEligibleAt }), err
}

// Exhausted lists EXHAUSTED recoveries, the last exhausted first.
func (s *Store) Exhausted(ctx context.Context, batch string, p store.Page) ([]store.Case, store.Cursor, error) {
	q := query{}
	q.add(selectCase + " where r.status = 'EXHAUSTED'")
	q.equal("r.batch_id", batch)
	q.beyondRecovery("r.updated_at", "<", p.Cursor)
	q.add(" order by r.updated_at desc, r.recovery_id desc limit " + q.arg(p.Size()))
	list, err := s.cases(ctx, q.String(), q.args...)
	return list, nextCase(list, p, func(r *store.Recovery) time.Time { return r.UpdatedAt }), err
}

// beyondRecovery goes on from a cursor in a list of recoveries.
func (q *query) beyondRecovery(column, sign string, c store.Cursor) {
	if !c.IsZero() {
		q.add(" and (" + column + ", r.recovery_id) " + sign + " (" + q.arg(c.At) + ", " + q.arg(c.ID[:]) + ")")
	}
}

// nextCase is where a list goes on after this page, or nowhere.
func nextCase(list []store.Case, p store.Page, at func(*store.Recovery) time.Time) store.Cursor {
	if len(list) < p.Size() {
		return store.Cursor{}
	}
	last := &list[len(list)-1].Recovery
	return store.Cursor{At: at(last), ID: last.ID}
}

// Timeline returns what the AIR tells of an intake, and of the failed one that
// it took over from, oldest first.
func (s *Store) Timeline(ctx context.Context, intake recoup.ID, limit int) ([]store.AIR, error) {
	rows, err := s.pool.Query(ctx, "select "+names(airColumns, "")+` from cl.gate_zero_air
		where intake_id in ($1, (select previous_intake_id from cl.gate_zero_intake where intake_id = $1))
		order by air_id limit $2`, intake[:], clamp(limit))
	return collectRows("read the timeline", rows, err, decode(airColumns))
}

// BatchTimeline returns what the AIR tells of a batch as a whole, oldest first.
func (s *Store) BatchTimeline(ctx context.Context, batch string, limit int) ([]store.AIR, error) {
	rows, err := s.pool.Query(ctx, "select "+names(airColumns, "")+` from cl.gate_zero_air
		where batch_id = $1 and intake_id is null order by air_id limit $2`, batch, clamp(limit))
	return collectRows("read the timeline of a batch", rows, err, decode(airColumns))
}
