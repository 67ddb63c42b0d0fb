package sqlite

import (
	"context"
	"encoding/json"
	"math"
	"time"

	"recoup"
	"recoup/internal/store"
)

var (
	selectStatus = `select ` + of("b", batchColumns) + `, (
			select json_group_object(status, n) from gate_zero_count c where c.batch_id = b.batch_id and n <> 0)
		from gate_zero_batch b`

	selectBatches     = selectStatus + ` order by b.created_at desc, b.batch_id desc limit ?1`
	selectMoreBatches = selectStatus + ` where (b.created_at, b.batch_id) < (?2, ?3)
		order by b.created_at desc, b.batch_id desc limit ?1`
)

// counted is a batch with its counts as they are read.
type counted struct {
	store.Batch
	counts string
}

func (c *counted) fields() []any { return append(batchFields(&c.Batch), &c.counts) }

// status tells the statuses of intakes and recoveries apart, which share no word.
func (c *counted) status() (store.BatchStatus, error) {
	s := store.BatchStatus{Batch: c.Batch, Intakes: map[store.IntakeStatus]int64{}, Recoveries: map[store.RecoveryStatus]int64{}}
	var counts map[string]int64
	err := json.Unmarshal([]byte(c.counts), &counts)
	for status, n := range counts {
		switch r := store.RecoveryStatus(status); r {
		case store.RecoveryActive, store.RecoveryExhausted, store.RecoverySucceeded:
			s.Recoveries[r] = n
		default:
			s.Intakes[store.IntakeStatus(status)] = n
		}
	}
	return s, err
}

// Batch returns a batch with its counts.
func (s *Store) Batch(ctx context.Context, id string) (store.BatchStatus, error) {
	list, err := query(ctx, s, (*counted).fields, selectStatus+` where b.batch_id = ?`, id)
	found, err := one(list, err, "batch "+id)
	if err != nil {
		return store.BatchStatus{}, err
	}
	return found.status()
}

// Batches lists batches with their counts, newest first.
func (s *Store) Batches(ctx context.Context, after store.BatchCursor, limit int) ([]store.BatchStatus, store.BatchCursor, error) {
	size := store.Page{Limit: limit}.Size()
	text, args := selectBatches, []any{size}
	if !after.IsZero() {
		text, args = selectMoreBatches, append(args, micros(after.At), after.ID)
	}
	found, err := query(ctx, s, (*counted).fields, text, args...)
	if err != nil {
		return nil, store.BatchCursor{}, err
	}
	list := make([]store.BatchStatus, len(found))
	for i := range found {
		if list[i], err = found[i].status(); err != nil {
			return nil, store.BatchCursor{}, err
		}
	}
	if len(list) < size {
		return list, store.BatchCursor{}, nil
	}
	last := &list[len(list)-1]
	return list, store.BatchCursor{At: last.CreatedAt, ID: last.ID}, nil
}

// Intake returns the case of an intake.
func (s *Store) Intake(ctx context.Context, intake recoup.ID) (store.Case, error) {
	list, err := query(ctx, s, caseFields, selectCaseOfIntake, id{&intake})
	return one(list, err, "intake "+intake.String())
}

// Recovery returns the case of a recovery.
func (s *Store) Recovery(ctx context.Context, recovery recoup.ID) (store.Case, error) {
	list, err := query(ctx, s, caseFields, selectCaseOfRecovery, id{&recovery})
	return one(list, err, "recovery "+recovery.String())
}

// The lists of recoveries. ?1 is the page's size, ?2 and ?3 its cursor, ?4 the
// batch and ?5 the time. A first cursor lies before or behind everything.
var (
	selectEligible = selectCase + ` where r.status = 'ACTIVE' and r.next_eligible_at <= ?5
		and (r.next_eligible_at, r.recovery_id) > (?2, ?3)`
	orderEligible = ` order by r.next_eligible_at, r.recovery_id limit ?1`

	selectExhausted = selectCase + ` where r.status = 'EXHAUSTED' and (r.updated_at, r.recovery_id) < (?2, ?3)`
	orderExhausted  = ` order by r.updated_at desc, r.recovery_id desc limit ?1`
)

// Eligible lists ACTIVE recoveries whose wait is over, the longest waiting first.
func (s *Store) Eligible(ctx context.Context, batch string, now time.Time, p store.Page) ([]store.Case, store.Cursor, error) {
	text := selectEligible
	if batch != "" {
		text += ` and coalesce(r.batch_id, '') = ?4`
	}
	list, err := query(ctx, s, caseFields, text+orderEligible, p.Size(), from(p.Cursor.At, math.MinInt64), p.Cursor.ID[:], batch, micros(now))
	return list, nextCase(list, p, func(r *store.Recovery) time.Time { return r.NextEligibleAt }), err
}

// Exhausted lists EXHAUSTED recoveries, the last exhausted first.
func (s *Store) Exhausted(ctx context.Context, batch string, p store.Page) ([]store.Case, store.Cursor, error) {
	text := selectExhausted
	if batch != "" {
		text += ` and r.batch_id = ?4`
	}
	list, err := query(ctx, s, caseFields, text+orderExhausted, p.Size(), from(p.Cursor.At, math.MaxInt64), p.Cursor.ID[:], batch)
	return list, nextCase(list, p, func(r *store.Recovery) time.Time { return r.UpdatedAt }), err
}

// from is where a list goes on, or where it begins.
func from(at time.Time, first int64) int64 {
	if at.IsZero() {
		return first
	}
	return micros(at)
}

// nextCase is where a list goes on after this page, or nowhere.
func nextCase(list []store.Case, p store.Page, at func(*store.Recovery) time.Time) store.Cursor {
	if len(list) < p.Size() {
		return store.Cursor{}
	}
	last := &list[len(list)-1].Recovery
	return store.Cursor{At: at(last), ID: last.ID}
}

const (
	selectTimeline = `select ` + airColumns + ` from gate_zero_air
		where intake_id in (?1, (select previous_intake_id from gate_zero_intake where intake_id = ?1))
		order by air_id limit ?2`
	selectBatchTimeline = `select ` + airColumns + ` from gate_zero_air
		where batch_id = ?1 and intake_id is null order by air_id limit ?2`
)

// Timeline returns what the AIR tells of an intake, and of the failed one that
// it took over from, oldest first.
func (s *Store) Timeline(ctx context.Context, intake recoup.ID, limit int) ([]store.AIR, error) {
	return query(ctx, s, airFields, selectTimeline, id{&intake}, store.Page{Limit: limit}.Size())
}

// BatchTimeline returns what the AIR tells of a batch as a whole, oldest first.
func (s *Store) BatchTimeline(ctx context.Context, batch string, limit int) ([]store.AIR, error) {
	return query(ctx, s, airFields, selectBatchTimeline, batch, store.Page{Limit: limit}.Size())
}
