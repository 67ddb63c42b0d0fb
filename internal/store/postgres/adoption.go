package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"recoup"
	"recoup/internal/store"
)

// selectAdoptions is asked a few times a second by every node: where nothing is adopted
// it reads an empty table.
const selectAdoptions = `select a.adoption_id, a.table_name, a.source, a.key_columns, a.mapping, coalesce(a.preset, ''), a.state, a.scanned, a.rows,
		a.begun_at, a.governed_at, a.begun_by, a.agreed, a.kept_back, coalesce(a.kept_why, ''), coalesce(a.swept_at, '0001-01-01'), coalesce(a.scanned_to, ''), cardinality(a.steps) > 0,
		exists (select from recoup.adopted_change c where c.adoption_id = a.adoption_id),
		exists (select from recoup.adopted_mirror m where m.adoption_id = a.adoption_id),
		exists (select from recoup.adopted_unreadable u where u.adoption_id = a.adoption_id),
		exists (select from recoup.error_table t where t.table_name = a.table_name and not t.retired)
	from recoup.adoption a order by a.adoption_id`

// Adoptions implements [store.AdoptionReader].
func (s *Store) Adoptions(ctx context.Context) ([]store.Adoption, error) {
	rows, err := s.pool.Query(ctx, selectAdoptions)
	return collectRows("read adoptions", rows, err, func(row pgx.CollectableRow) (a store.Adoption, err error) {
		var governed *time.Time
		err = row.Scan(&a.ID, &a.Table, &a.Source, &a.Key, &a.Mapping, &a.Preset, &a.State, &a.Scanned, &a.Rows,
			&a.BegunAt, &governed, &a.BegunBy, &a.Agreed, &a.KeptBack, &a.KeptWhy, &a.SweptAt, &a.ScannedTo, &a.Defined, &a.Changed, &a.Moved, &a.Bad, &a.Tabled)
		if governed != nil {
			a.GovernedAt = governed.UTC()
		}
		a.BegunAt = a.BegunAt.UTC()
		return a, err
	})
}

// countPending is how many entries of a queue are counted: of more, nobody needs to know
// how many there are.
const countPending = 10_000

// unreadable is how many rows of adoption a cannot be read, and one of them.
const unreadable = `select count(*) as n, min(u.key) as key, (array_agg(u.cause order by u.key))[1] as cause
	from (select key, cause from recoup.adopted_unreadable u where u.adoption_id = a.adoption_id order by u.key limit 10000) u`

// AdoptionFigures implements [store.AdoptionReader].
func (s *Store) AdoptionFigures(ctx context.Context) ([]store.AdoptionFigures, error) {
	rows, err := s.pool.Query(ctx, `select a.table_name, a.source, a.state, c.n, coalesce(extract(epoch from clock_timestamp() - c.oldest), 0)::float8,
			(select count(*) from (select from recoup.adopted_mirror m where m.adoption_id = a.adoption_id limit $1) m), b.n, coalesce(b.key, ''), coalesce(b.cause, '')
		from recoup.adoption a
		cross join lateral (`+unreadable+`) b
		cross join lateral (select count(*) as n, min(at) as oldest from (
			select at from recoup.adopted_change c where c.adoption_id = a.adoption_id order by change_id limit $1) c) c
		order by a.adoption_id`, countPending)
	return collectRows("count what is adopted", rows, err, func(row pgx.CollectableRow) (f store.AdoptionFigures, err error) {
		var age float64
		err = row.Scan(&f.Table, &f.Source, &f.State, &f.Pending, &age, &f.Queued, &f.Bad, &f.Example.Key, &f.Example.Cause)
		f.Oldest = time.Duration(max(age, 0) * float64(time.Second))
		return f, err
	})
}

// TakeTurn implements [store.Adopter].
func (s *Store) TakeTurn(ctx context.Context, adoption int, node string, lasts time.Duration) (store.Turn, bool, error) {
	var number *int64
	err := s.pool.QueryRow(ctx, "select recoup.take_turn($1, $2, make_interval(secs => $3))", adoption, node, lasts.Seconds()).Scan(&number)
	if err != nil || number == nil {
		return store.Turn{}, false, failure("take a turn", err)
	}
	return store.Turn{Adoption: adoption, Number: *number}, true, nil
}

// EndTurns implements [store.Adopter].
func (s *Store) EndTurns(ctx context.Context, node string) error {
	_, err := s.pool.Exec(ctx, "select recoup.end_turns($1)", node)
	return failure("end turns", err)
}

// maxChangeSize is how many bytes of keys are read together: 4,000 numbers, 2,000 uuids.
const maxChangeSize = 32 << 10

// Changes implements [store.Adopter]. How large keys are is known without reading them.
func (s *Store) Changes(ctx context.Context, adoption, limit int) (list []store.AdoptedChange, more bool, err error) {
	limit = clamp(limit)
	rows, err := s.pool.Query(ctx, `select change_id, coalesce(keys, numbers::text[], uuids::text[]), keys is null and numbers is null and uuids is null,
			at, place < there or there > $2
		from (select *, count(*) over () as there, row_number() over w as place, sum(size) over w - size as before
			from (select *, coalesce(pg_column_size(keys), pg_column_size(numbers), pg_column_size(uuids), 0) as size
				from recoup.adopted_change where adoption_id = $1 order by change_id limit $2 + 1) c
			window w as (order by change_id)) c
		where before < $3 and place <= $2 order by change_id`, adoption, limit, maxChangeSize)
	list, err = collectRows("read changes", rows, err, func(row pgx.CollectableRow) (c store.AdoptedChange, err error) {
		return c, row.Scan(&c.ID, &c.Keys, &c.All, &c.At, &more)
	})
	return list, more, err
}

// IndexChanges implements [store.Adopter].
func (s *Store) IndexChanges(ctx context.Context, turn store.Turn, entities int) (changes int, err error) {
	err = s.pool.QueryRow(ctx, "select recoup.index_changes($1, $2, $3)", turn.Adoption, turn.Number, entities).Scan(&changes)
	return changes, failure("index changes", err)
}

// inTurn runs statements in a transaction that only whoever has the turn can commit.
func (s *Store) inTurn(ctx context.Context, doing string, turn store.Turn, do func(*tx) error) error {
	return s.transact(ctx, doing, time.Time{}, func(t *tx) error {
		checkTurn(t, turn)
		return do(t)
	})
}

func checkTurn(t *tx, turn store.Turn) {
	t.queue("select recoup.check_turn($1, $2)", turn.Adoption, turn.Number)
}

// ForgetChanges implements [store.Adopter].
func (s *Store) ForgetChanges(ctx context.Context, turn store.Turn, ids []int64) error {
	return s.inTurn(ctx, "forget changes", turn, func(t *tx) error {
		t.queue("delete from recoup.adopted_change where adoption_id = $1 and change_id = any ($2)", turn.Adoption, ids)
		t.queue("delete from recoup.adopted_entity where adoption_id = $1 and change_id = any ($2)", turn.Adoption, ids)
		return nil
	})
}

// The most characters of what is read of a source row. A message is kept up to
// engine.MaxMessage; the rest lets what looks like a secret be recognised at its end.
const (
	maxSourceText    = 1000
	maxSourceMessage = 16384
)

// selectSource is the columns of the function that returns source rows.
const selectSource = `select r.key, left(coalesce(r.entity_id, ''), $1), left(coalesce(r.code, ''), $1), left(coalesce(r.severity, ''), $1), left(coalesce(r.message, ''), $2),
	char_length(coalesce(r.message, '')) > $2, r.created_at, coalesce(r.governed, false), coalesce(r.underway, false)`

// The most bytes that are kept of the columns of a source row: of one, and of all of them.
const (
	maxDetail, maxDetails = 1 << 10, 4 << 10
	maxSealed, maxAll     = 16 << 10, 64 << 10
)

// selectKept are the columns that are kept. What is not asked for does not leave the database.
var selectKept = fmt.Sprintf(`, recoup.picked(r.columns, $4, %d, %d), recoup.picked(r.columns, $5, %d, %d) from recoup.adopted_%%d_read($3) as r`,
	maxDetail, maxDetails, maxSealed, maxAll)

// SourceRows implements [store.Adopter].
func (s *Store) SourceRows(ctx context.Context, adoption int, keys []string, rules recoup.SourceRules) ([]store.SourceRow, error) {
	rows, err := s.pool.Query(ctx, fmt.Sprintf(selectSource+selectKept, adoption), maxSourceText, maxSourceMessage, keys, rules.Details, rules.Encrypted)
	return collectRows("read an adopted table", rows, err, func(row pgx.CollectableRow) (r store.SourceRow, err error) {
		var created pgtype.Timestamptz
		err = row.Scan(append(sourceFields(&r, &created), &r.Details, &r.Encrypted)...)
		r.CreatedAt = finite(created)
		return r, err
	})
}

// sourceFields is where the columns of selectSource go.
func sourceFields(r *store.SourceRow, created *pgtype.Timestamptz) []any {
	return []any{&r.Key, &r.EntityID, &r.Code, &r.Severity, &r.Message, &r.Cut, created, &r.Governed, &r.Underway}
}

// finite is a time, or zero.
func finite(t pgtype.Timestamptz) time.Time {
	if t.Valid && t.InfinityModifier == pgtype.Finite {
		return t.Time.UTC()
	}
	return time.Time{}
}

// ScanSource implements [store.Adopter].
func (s *Store) ScanSource(ctx context.Context, adoption int, after string, limit int) ([]string, error) {
	var from *string
	if after != "" {
		from = &after
	}
	rows, err := s.pool.Query(ctx, fmt.Sprintf("select * from recoup.adopted_%d_scan($1, $2)", adoption), from, clamp(limit))
	return collectRows("scan an adopted table", rows, err, pgx.RowTo[string])
}

// ReplicationLag implements [store.Adopter].
func (s *Store) ReplicationLag(ctx context.Context) (time.Duration, error) {
	var seconds float64
	err := s.pool.QueryRow(ctx, "select coalesce(extract(epoch from max(replay_lag)), 0)::float8 from pg_stat_replication").Scan(&seconds)
	return time.Duration(seconds * float64(time.Second)), failure("read the replication lag", err)
}

// SaveScan implements [store.Adopter].
func (s *Store) SaveScan(ctx context.Context, turn store.Turn, to string, rows int, done bool) error {
	return s.inTurn(ctx, "note how far a backfill is", turn, func(t *tx) error {
		t.queue(`update recoup.adoption set scanned_to = coalesce(nullif($2, ''), scanned_to), scanned = scanned + $3,
				state = case when $4 then 'GOVERNED' else state end, governed_at = case when $4 then recoup.clock() else governed_at end
			where adoption_id = $1 and state = 'BACKFILLING'`, turn.Adoption, to, rows, done)
		return nil
	})
}

// EndAdoption implements [store.Adopter].
func (s *Store) EndAdoption(ctx context.Context, turn store.Turn) (ended bool, err error) {
	err = s.pool.QueryRow(ctx, "select recoup.forget_adoption($1)", turn.Adoption).Scan(&ended)
	return ended, failure("end an adoption", err)
}

var _ store.Adopter = (*Store)(nil)

// pairOf is a pair with the id of its error.
type pairOf struct {
	error recoup.ID
	store.Pair
}
