package adoption

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/postgres"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// DB has the statements of the slice. What is done under a [Lease] is [store.ErrOutOfTurn] once another
// node has a later one.
type DB struct {
	store.AuditWriter
	store.NoticeWriter
	store   *postgres.Store
	pool    postgres.Pool
	sources *sources
}

// Open returns the statements on a store, which knows where adopted tables are reached.
func Open(s *postgres.Store) (*DB, error) {
	sources, err := newSources(s.Login())
	return &DB{AuditWriter: s, NoticeWriter: s, store: s, pool: s.Pool(), sources: sources}, err
}

// behind selects the first $3 rows of adoption $1 in the order of a key, as a condition has them. All tables
// of adoptions have a primary key of both, and all go by it: a plan for those of one
// adoption that knows nothing of a table which has grown since it was last counted would
// read and sort them all.
func behind(table, key, where string) string {
	return fmt.Sprintf("(select * from (select * from recoup.%[1]s where %[3]s order by adoption_id, %[2]s limit $3) r where adoption_id = $1)", table, key, where)
}

// first is whether adoption a has a row in a table, which is in the order of a key: see behind.
func first(table, key string) string {
	return fmt.Sprintf("coalesce((select r.adoption_id from recoup.%s r where r.adoption_id >= a.adoption_id order by r.adoption_id, r.%s limit 1) = a.adoption_id, false)", table, key)
}

// selectAdoptions is asked a few times a second by every node: where nothing is adopted
// it reads an empty table.
var selectAdoptions = `select a.adoption_id, a.owner, a.table_name, a.source, a.key_columns, a.mapping, coalesce(a.preset, ''), a.state, a.scanned, a.rows,
		a.begun_at, a.governed_at, a.begun_by, a.agreed, a.kept_back, coalesce(a.kept_why, ''), coalesce(a.swept_at, '0001-01-01'), cardinality(a.steps) > 0,
		a.partitions is not null, coalesce(cardinality(a.partitions), 0), a.unseen, a.unseen_since, coalesce(a.unseen_why, ''),
		` + first("adopted_change", "change_id") + `, ` + first("adopted_mirror", "mirror_id") + `, ` + first("adopted_unreadable", "key") + `,
		exists (select from recoup.error_table t where t.table_name = a.table_name and not t.retired),
		(select f.retry_at from recoup.adopted_refused f where f.adoption_id = a.adoption_id order by f.adoption_id, f.retry_at limit 1)
	from recoup.adoption a order by a.adoption_id`

// Adoptions lists the adopted tables, by id.
func (s *DB) Adoptions(ctx context.Context) ([]Target, error) {
	rows, err := s.pool.Query(ctx, selectAdoptions)
	return postgres.CollectRows("read adoptions", rows, err, func(row pgx.CollectableRow) (a Target, err error) {
		var governed, refused, unseen *time.Time
		err = row.Scan(&a.ID, &a.Owner, &a.Table, &a.Source, &a.Key, &a.Mapping, &a.Preset, &a.State, &a.Scanned, &a.Rows,
			&a.BegunAt, &governed, &a.BegunBy, &a.Agreed, &a.KeptBack, &a.KeptWhy, &a.SweptAt, &a.Defined,
			&a.Partitioned, &a.Partitions, &a.Unseen, &unseen, &a.UnseenReason, &a.Changed, &a.Moved, &a.Bad, &a.Tabled, &refused)
		if governed != nil {
			a.GovernedAt = governed.UTC()
		}
		if refused != nil {
			a.RefusedAt = refused.UTC()
		}
		if unseen != nil {
			a.UnseenSince = unseen.UTC()
		}
		a.BegunAt = a.BegunAt.UTC()
		return a, err
	})
}

// countPending is how many entries of a queue are counted: of more, nobody needs to know
// how many there are.
const countPending = 10_000

// waiting is how many entries adoption a has in a queue, as far as they are counted: see behind.
func waiting(table, key string) string {
	return fmt.Sprintf("(select count(*) from (select adoption_id from recoup.%[1]s q where q.adoption_id >= a.adoption_id order by q.adoption_id, q.%[2]s limit $1) q where q.adoption_id = a.adoption_id)", table, key)
}

// unreadable is how many rows of adoption a cannot be read, and one of them.
const unreadable = `select count(*) as n, min(u.key) as key, (array_agg(u.cause order by u.key))[1] as cause
	from (select * from recoup.adopted_unreadable u where u.adoption_id >= a.adoption_id order by u.adoption_id, u.key limit 10000) u where u.adoption_id = a.adoption_id`

// refused is how many rows of adoption a refuse what became of their error, and one of them.
const refused = `select count(*) as n, min(u.key) as key, (array_agg(u.cause order by u.key))[1] as cause
	from (select * from recoup.adopted_refused u where u.adoption_id = a.adoption_id order by u.adoption_id, u.retry_at limit 10000) u`

// AdoptionFigures returns how far nodes are with each adoption.
func (s *DB) AdoptionFigures(ctx context.Context) ([]Progress, error) {
	rows, err := s.pool.Query(ctx, `select a.table_name, a.source, a.state, `+waiting("adopted_change", "change_id")+`, coalesce(extract(epoch from clock_timestamp() - c.at), 0)::float8,
			`+waiting("adopted_mirror", "mirror_id")+`, b.n, coalesce(b.key, ''), coalesce(b.cause, ''), f.n, coalesce(f.key, ''), coalesce(f.cause, '')
		from recoup.adoption a
		cross join lateral (`+unreadable+`) b
		cross join lateral (`+refused+`) f
		left join lateral (select adoption_id, at from recoup.adopted_change c where c.adoption_id >= a.adoption_id order by c.adoption_id, c.change_id limit 1) c using (adoption_id)
		order by a.adoption_id`, countPending)
	return postgres.CollectRows("count what is adopted", rows, err, func(row pgx.CollectableRow) (f Progress, err error) {
		var age float64
		err = row.Scan(&f.Table, &f.Source, &f.State, &f.Pending, &age, &f.Queued, &f.Bad, &f.Example.Key, &f.Example.Cause, &f.Refused, &f.Refuser.Key, &f.Refuser.Cause)
		f.Oldest = time.Duration(max(age, 0) * float64(time.Second))
		return f, err
	})
}

// TakeTurn gives a node the turn at an adoption, or lengthens the one that it has,
// and reports whether it has it then.
func (s *DB) TakeTurn(ctx context.Context, adoption int, node string, lasts time.Duration) (Lease, bool, error) {
	var number *int64
	err := s.pool.QueryRow(ctx, "select recoup.take_turn($1, $2, make_interval(secs => $3))", adoption, node, lasts.Seconds()).Scan(&number)
	if err != nil || number == nil {
		return Lease{}, false, postgres.Failed("take a turn", err)
	}
	return Lease{Adoption: adoption, Number: *number}, true, nil
}

// EndTurns lets other nodes have all turns of one.
func (s *DB) EndTurns(ctx context.Context, node string) error {
	_, err := s.pool.Exec(ctx, "select recoup.end_turns($1)", node)
	return postgres.Failed("end turns", err)
}

// maxChangeSize is how many bytes of keys are read together: 4,000 numbers, 2,000 uuids.
const maxChangeSize = 32 << 10

// Changes returns the first changes of an adoption, as many as have some thousands of
// keys together, and reports whether there are more.
// How large keys are is known without reading them: they are
// stored uncompressed (change_guard).
func (s *DB) Changes(ctx context.Context, adoption, limit int) (list []Change, more bool, err error) {
	limit = sqldb.Clamp(limit)
	rows, err := s.pool.Query(ctx, `select change_id, coalesce(keys, numbers::text[], uuids::text[]), keys is null and numbers is null and uuids is null,
			at, place < there or there > $2
		from (select *, count(*) over () as there, row_number() over w as place, sum(size) over w - size as before
			from (select *, coalesce(pg_column_size(keys), 8 * cardinality(numbers), 16 * cardinality(uuids), 0) as size
				from (select * from recoup.adopted_change where adoption_id >= $1 order by adoption_id, change_id limit $2 + 1) c where adoption_id = $1) c
			window w as (order by change_id)) c
		where before < $3 and place <= $2 order by change_id`, adoption, limit, maxChangeSize)
	list, err = postgres.CollectRows("read changes", rows, err, func(row pgx.CollectableRow) (c Change, err error) {
		return c, row.Scan(&c.ID, &c.Keys, &c.All, &c.At, &more)
	})
	return list, more, err
}

// IndexChanges lets the gate find the entities of changes that wait by an index, about
// as many entities as said, and returns of how many changes. It needs no turn.
func (s *DB) IndexChanges(ctx context.Context, adoption, entities int) (changes int, err error) {
	err = s.pool.QueryRow(ctx, "select recoup.index_changes($1, $2)", adoption, entities).Scan(&changes)
	return changes, postgres.Failed("index changes", err)
}

// PassChanges notes how far changes are read or indexed, of all adoptions. Writers of an
// adoption that is behind index their changes. IndexChanges and ForgetChanges do so too.
func (s *DB) PassChanges(ctx context.Context) error {
	_, err := s.pool.Exec(ctx, "select recoup.pass_changes()")
	return postgres.Failed("pass changes", err)
}

// inTurn runs statements in a transaction that only whoever has the turn can commit.
func (s *DB) inTurn(ctx context.Context, doing string, turn Lease, do func(postgres.Tx) error) error {
	return s.store.Transact(ctx, doing, func(t postgres.Tx) error {
		checkTurn(t, turn)
		return do(t)
	})
}

// holdsTurn refuses what is done out of turn. It is asked right before a source is written,
// which no transaction of ours can include: see decision 0105 for what a late node can do.
func (s *DB) holdsTurn(ctx context.Context, doing string, turn Lease) error {
	return s.inTurn(ctx, doing, turn, func(postgres.Tx) error { return nil })
}

func checkTurn(t postgres.Tx, turn Lease) {
	t.Queue("select recoup.check_turn($1, $2)", turn.Adoption, turn.Number)
}

var (
	deleteChanges  = deleteEach("adopted_change", "change_id", "bigint")
	deleteEntities = deleteEach("adopted_entity", "change_id", "bigint")
)

// ForgetChanges ends changes, once all that they lead to is committed. They are the first of
// their adoption.
func (s *DB) ForgetChanges(ctx context.Context, turn Lease, ids []int64) error {
	return s.inTurn(ctx, "forget changes", turn, func(t postgres.Tx) error {
		t.Queue(deleteChanges, turn.Adoption, ids)
		t.Queue(deleteEntities, turn.Adoption, ids)
		t.Queue("select recoup.pass_changes()")
		return nil
	})
}

// The most characters of what is read of a source row. A message is kept up to
// engine.MaxMessage; the rest lets what looks like a secret be recognised at its end.
const (
	maxSourceText    = 1000
	maxSourceMessage = 16384
)

// The most bytes that are kept of the columns of a source row: of one, and of all of them.
const (
	maxDetail, maxDetails = 1 << 10, 4 << 10
	maxSealed, maxAll     = 16 << 10, 64 << 10
)

// SourceRows returns the rows of keys as they are now, with the columns that rules list as
// far as the source's owner has agreed. Those that are gone are left out.
func (s *DB) SourceRows(ctx context.Context, adoption int, keys []string, rules wire.SourceRules) ([]SourceRow, error) {
	return rowsAtSource(ctx, s, "read an adopted table", adoption, "read", len(keys), func(row pgx.CollectableRow) (SourceRow, error) {
		r, _, columns, err := scanSource(row)
		if err != nil || columns == nil {
			return r, err
		}
		var values map[string]json.RawMessage
		if err := json.Unmarshal(columns, &values); err != nil {
			return r, fmt.Errorf("the columns of a row are no JSON object: %w", err)
		}
		r.Details, r.Encrypted = picked(values, rules.Details, maxDetail, maxDetails), picked(values, rules.Encrypted, maxSealed, maxAll)
		return r, nil
	}, keys)
}

// scanSource reads a source_row. What is too long is cut: the function may have been replaced.
func scanSource(row pgx.CollectableRow) (r SourceRow, mark string, columns []byte, err error) {
	var entity, code, severity, message, pipeline, stage, version, seen *string
	var created pgtype.Timestamptz
	var governed, underway *bool
	err = row.Scan(&r.Key, &entity, &code, &severity, &message, &created, &governed, &columns, &underway, &pipeline, &stage, &version, &seen)
	r.EntityID, r.Code, r.Severity = cut(entity, maxSourceText), cut(code, maxSourceText), cut(severity, maxSourceText)
	r.Message, r.Pipeline, r.Stage = cut(message, maxSourceMessage), cut(pipeline, maxSourceText), cut(stage, maxSourceText)
	r.Cut = message != nil && len(r.Message) < len(*message)
	r.CreatedAt, r.LastSeen, r.Governed, r.Underway = finite(created), cut(seen, maxSourceText), governed != nil && *governed, underway != nil && *underway
	return r, cut(version, maxSourceText), columns, err
}

// cut is the beginning of a text.
func cut(text *string, most int) string {
	if text == nil {
		return ""
	}
	n := 0
	for at := range *text {
		if n++; n > most {
			return (*text)[:at]
		}
	}
	return *text
}

// picked is the columns of a source row that the policy lists, as JSON. What is too large, alone
// or with those before it, is left out and says so.
func picked(columns map[string]json.RawMessage, names []string, most, mostOfAll int) []byte {
	kept := map[string]json.RawMessage{}
	total := 0
	for _, name := range names {
		value, ok := columns[name]
		if !ok {
			continue
		}
		if len(value) <= most {
			total += len(value)
		}
		if len(value) > most || total > mostOfAll {
			value = fmt.Appendf(nil, `"[%d bytes: too large to be kept]"`, len(value))
		}
		kept[name] = value
	}
	if len(kept) == 0 {
		return nil
	}
	text := []byte("{")
	for _, name := range slices.Sorted(maps.Keys(kept)) {
		quoted, _ := json.Marshal(name) // a string never fails
		if len(text) > 1 {
			text = append(text, ", "...)
		}
		text = append(append(append(text, quoted...), ": "...), kept[name]...)
	}
	return append(text, '}')
}

// finite is a time, or zero.
func finite(t pgtype.Timestamptz) time.Time {
	if t.Valid && t.InfinityModifier == pgtype.Finite {
		return t.Time.UTC()
	}
	return time.Time{}
}

// maxScanned is how many bytes a key of a scan may have, as the table of adoptions checks it. It
// leaves room for every key that an index holds uncompressed, as JSON with escapes.
const maxScanned = 32 << 10

// scanKey reads a key of a source, which may be null. Casts of the source's owner make its text.
func scanKey(row pgx.CollectableRow) (key *string, err error) {
	if err = row.Scan(&key); err == nil && key != nil && len(*key) > maxScanned {
		err = fmt.Errorf("a key of the adopted table has %d bytes, and %d are allowed; shorten it, or release the table: %w", len(*key), maxScanned, store.ErrRefused)
	}
	return key, err
}

// ScanSource returns the keys of a source behind one, up to another, in their order. It
// refuses keys that are too long to be noted.
func (s *DB) ScanSource(ctx context.Context, adoption int, after *string, until string, limit int) ([]string, error) {
	limit = sqldb.Clamp(limit)
	return rowsAtSource(ctx, s, "scan an adopted table", adoption, "scan", limit, func(row pgx.CollectableRow) (string, error) {
		key, err := scanKey(row)
		if err != nil || key == nil {
			return "", err
		}
		return *key, nil
	}, after, until, limit)
}

// BeginScan returns how far the backfill is. If it has not begun, it notes the last key of
// the source as the one at which the backfill ends.
func (s *DB) BeginScan(ctx context.Context, turn Lease) (at Scan, err error) {
	const doing = "begin a backfill"
	err = s.pool.QueryRow(ctx, "select scanned_to, scan_end from recoup.adoption where adoption_id = $1", turn.Adoption).Scan(&at.To, &at.End)
	if err != nil || at.End != nil {
		return at, postgres.Failed(doing, err)
	}
	last, err := rowsAtSource(ctx, s, doing, turn.Adoption, "last", 1, scanKey)
	if err != nil || len(last) == 0 || last[0] == nil {
		return at, err
	}
	at.End = last[0]
	return at, s.inTurn(ctx, doing, turn, func(t postgres.Tx) error {
		t.Queue("update recoup.adoption set scan_end = $2 where adoption_id = $1", turn.Adoption, at.End)
		return nil
	})
}

// ReplicationLag is how far the slowest standby is behind, as far as the schema's owner may know.
func (s *DB) ReplicationLag(ctx context.Context) (time.Duration, error) {
	var seconds float64
	err := s.pool.QueryRow(ctx, "select extract(epoch from recoup.replication_lag())::float8").Scan(&seconds)
	return time.Duration(seconds * float64(time.Second)), postgres.Failed("read the replication lag", err)
}

// SaveScan notes how far the backfill is, and that it is done.
func (s *DB) SaveScan(ctx context.Context, turn Lease, to *string, rows int, done bool) error {
	return s.inTurn(ctx, "note how far a backfill is", turn, func(t postgres.Tx) error {
		t.Queue(`update recoup.adoption set scanned_to = coalesce($2, scanned_to), scanned = scanned + $3,
				state = case when $4 then 'GOVERNED' else state end, governed_at = case when $4 then recoup.clock() else governed_at end
			where adoption_id = $1 and state = 'BACKFILLING'`, turn.Adoption, to, rows, done)
		return nil
	})
}

// SumAdoption counts what became of the rows of an adoption. It reads all of its pairs.
func (s *DB) SumAdoption(ctx context.Context, adoption int) (sum wire.AdoptionSum, err error) {
	err = s.pool.QueryRow(ctx, `select a.source, a.table_name, count(*) filter (where r.key is not null and (e.historic or e.error_id is null)), count(*) filter (where e.historic and e.state in ('PARKED', 'ESCALATED')),
			count(*) filter (where e.historic and e.state = 'RETRY_PENDING'), count(*) filter (where r.key is not null and e.error_id is null), count(*) filter (where e.historic and e.blocking)
		from recoup.adoption a left join recoup.adopted_row r using (adoption_id) left join recoup.error e on e.error_id = r.error_id
		where a.adoption_id = $1 group by a.adoption_id`, adoption).Scan(&sum.Source, &sum.Table, &sum.Rows, &sum.Parked, &sum.Retried, &sum.Archived, &sum.Blocking)
	return sum, postgres.Failed("sum up an adoption", err)
}

// EndAdoption forgets an adoption that is released, once it has no pair and nothing of
// its definition is there, and reports whether it did.
func (s *DB) EndAdoption(ctx context.Context, turn Lease) (ended bool, err error) {
	err = s.pool.QueryRow(ctx, "select recoup.forget_adoption($1)", turn.Adoption).Scan(&ended)
	return ended, postgres.Failed("end an adoption", err)
}
