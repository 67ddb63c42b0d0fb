package sqlite

import (
	"bytes"
	"context"
	"slices"
	"time"

	"recoup"
	"recoup/internal/store"
)

const (
	// openBatches are those whose kill switch is off, and '' for what has none. A
	// frozen batch is among them: its intakes get their first result. ?1 is the one
	// that is asked for, or ''.
	openBatches = `select '' where ?1 = '' union all select batch_id from gate_zero_batch where killed_at is null and ?1 in ('', batch_id)`
	anyBatch    = `select '' union all select batch_id from gate_zero_batch`

	// selectPending reads the intakes of one batch that wait for their first
	// result and that nobody is at, the oldest first.
	selectPending = `select intake_id from gate_zero_intake i indexed by gate_zero_intake_list_idx
		where coalesce(batch_id, '') = ?2 and status = 'PENDING'
		and not exists (select 1 from gate_zero_turn t where t.intake_id = i.intake_id and t.ends_at > ?1)
		order by intake_id limit ?3`

	upsertTurn = `insert into gate_zero_turn values (?, ?, ?)
		on conflict (intake_id) do update set worker = excluded.worker, ends_at = excluded.ends_at`
	deleteTurn = `delete from gate_zero_turn where intake_id = ?`
	returnTurn = `delete from gate_zero_turn where intake_id = ? and worker = ? and ends_at = ?`
)

func ownID(key *recoup.ID) []any { return []any{id{key}} }

func plainText(s *string) []any { return []any{s} }

// ClaimPending hands intakes that nobody has verified yet to a worker, the oldest
// first.
func (s *Store) ClaimPending(ctx context.Context, claim store.IntakeClaim) (taken []store.Intake, at time.Time, err error) {
	if claim.Limit <= 0 {
		return nil, time.Time{}, nil
	}
	err = s.writer.doAt(ctx, claim.Now, func(tx *tx) error {
		at = tx.now
		until := at.Add(claim.Lease)
		ids, err := tx.pending(claim)
		if err != nil {
			return err
		}
		for _, key := range ids {
			if err := tx.exec(upsertTurn, id{&key}, text[string]{&claim.Worker}, stamp{&until}); err != nil {
				return err
			}
		}
		cases, err := tx.casesOf(selectCaseOfIntake, ids)
		for i := range cases {
			taken = append(taken, cases[i].Intake)
		}
		return err
	})
	if err != nil {
		return nil, time.Time{}, err
	}
	return taken, at, nil
}

// ReturnPending lets others claim an intake that was handed to a worker.
func (s *Store) ReturnPending(ctx context.Context, intake recoup.ID, worker string, until time.Time) error {
	return s.writer.do(ctx, func(tx *tx) error { return tx.exec(returnTurn, id{&intake}, worker, stamp{&until}) })
}

// pending returns the oldest of all open batches.
func (t *tx) pending(claim store.IntakeClaim) ([]recoup.ID, error) {
	limit := store.Page{Limit: claim.Limit}.Size()
	batches, err := collectAll(t, plainText, openBatches, claim.Batch)
	if err != nil {
		return nil, err
	}
	var all []recoup.ID
	for _, batch := range batches {
		list, err := collectAll(t, ownID, selectPending, micros(t.now), batch, limit)
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	slices.SortFunc(all, func(a, b recoup.ID) int { return bytes.Compare(a[:], b[:]) })
	return all[:min(len(all), limit)], nil
}

// The lists of intakes, newest first. ?1 is the page's size and ?2 its cursor.
var (
	selectIntakes = `select ` + intakeColumns + ` from gate_zero_intake where intake_id < ?2 order by intake_id desc limit ?1`

	selectIntakesOf = `select ` + intakeColumns + ` from gate_zero_intake indexed by gate_zero_intake_list_idx
		where coalesce(batch_id, '') = ?3 and status = ?4 and intake_id < ?2 order by intake_id desc limit ?1`
)

// afterAll lies behind every id.
var afterAll = bytes.Repeat([]byte{0xff}, 17)

// Intakes lists intakes, newest first.
func (s *Store) Intakes(ctx context.Context, f store.IntakeFilter, p store.Page) ([]store.Intake, store.Cursor, error) {
	list, err := s.intakes(ctx, f, p)
	if err != nil || len(list) < p.Size() {
		return list, store.Cursor{}, err
	}
	list = list[:p.Size()]
	last := &list[len(list)-1]
	return list, store.Cursor{At: last.CreatedAt, ID: last.ID}, nil
}

// intakes reads a page, or a little more. Of every batch and status in question
// as many are read as may be needed, and the newest of all come first.
func (s *Store) intakes(ctx context.Context, f store.IntakeFilter, p store.Page) ([]store.Intake, error) {
	before := afterAll
	if !p.Cursor.IsZero() {
		before = p.Cursor.ID[:]
	}
	if f == (store.IntakeFilter{}) {
		return query(ctx, s, intakeFields, selectIntakes, p.Size(), before)
	}
	batches, statuses := []string{f.Batch}, []store.IntakeStatus{f.Status}
	if f.Status == "" {
		statuses = store.IntakeStatuses()
	}
	if f.Batch == "" {
		var err error
		if batches, err = query(ctx, s, plainText, anyBatch); err != nil {
			return nil, err
		}
	}
	var all []store.Intake
	for _, batch := range batches {
		for _, status := range statuses {
			list, err := query(ctx, s, intakeFields, selectIntakesOf, p.Size(), before, batch, string(status))
			if err != nil {
				return nil, err
			}
			all = append(all, list...)
		}
	}
	slices.SortStableFunc(all, func(a, b store.Intake) int { return bytes.Compare(b.ID[:], a.ID[:]) })
	return slices.CompactFunc(all, func(a, b store.Intake) bool { return a.ID == b.ID }), nil
}

const (
	selectFigures = `select count(*), count(killed_at), count(frozen_at) from gate_zero_batch`
	selectTotals  = `select status, sum(n) from gate_zero_count where status in ('PENDING', 'FAILED', 'AUTHORIZED', 'REENTER_SUCCEEDED') group by 1`
	selectReasons = `select status, reason, n from gate_zero_reason where n <> 0 order by 1, 2`
)

// GateFigures counts batches, and the intakes and recoveries by status.
func (s *Store) GateFigures(ctx context.Context) (store.GateFigures, error) {
	type total struct {
		status store.IntakeStatus
		n      int64
	}
	figures, err := query(ctx, s, func(f *store.GateFigures) []any { return []any{&f.Batches, &f.Killed, &f.Frozen} }, selectFigures)
	if err != nil {
		return store.GateFigures{}, err
	}
	f := figures[0]
	totals, err := query(ctx, s, func(t *total) []any { return []any{text[store.IntakeStatus]{&t.status}, &t.n} }, selectTotals)
	if err != nil {
		return store.GateFigures{}, err
	}
	f.Intakes = make(map[store.IntakeStatus]int64, len(totals))
	for _, t := range totals {
		f.Intakes[t.status] = t.n
	}
	f.Recoveries, err = query(ctx, s, func(r *store.ReasonCount) []any {
		return []any{text[store.RecoveryStatus]{&r.Status}, &r.Reason, &r.N}
	}, selectReasons)
	return f, err
}
