package adoption

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/postgres"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// moved is an entry of the queue of errors that have moved, with what its source row
// is to say. Without a key the row is gone, or has another error by now.
type moved struct {
	entry       int64
	error       recoup.ID
	key         *string
	disposition *string
	archivedAt  *time.Time
	attempts    int // that its source has refused
}

var deleteMirrored = deleteEach("adopted_mirror", "mirror_id", "bigint")

// selectMoved looks up one by one, as selectPairs does, and only what is no open error in
// the archive.
var selectMoved = `select m.mirror_id, m.error_id, case when coalesce(e.error_id, a.error_id) is not null then r.key end, coalesce(e.disposition, a.disposition), a.archived_at, coalesce(f.attempts, 0)
	from ` + behind("adopted_mirror", "mirror_id", "(adoption_id, mirror_id) > ($1, $2)") + ` m
	left join lateral (select key from recoup.adopted_row where error_id = m.error_id and adoption_id = $1 limit 1) r on true
	left join lateral (select error_id, disposition from recoup.error where error_id = m.error_id limit 1) e on true
	left join lateral (select error_id, disposition, archived_at from recoup.error_archive where error_id = m.error_id and e.error_id is null limit 1) a on true
	left join lateral (select attempts from recoup.adopted_refused where adoption_id = $1 and error_id = m.error_id limit 1) f on true
	order by m.mirror_id`

// Mirror writes into the source what became of its errors, from the queue of those that
// have moved, behind an entry of it. It waits for no lock: what others hold stays in the queue.
// It waits for no row of the source.
func (s *DB) Mirror(ctx context.Context, turn Lease, after int64, limit int) (done Mirrored, err error) {
	const doing = "notify an adopted table"
	var list []moved
	err = s.inTurn(ctx, doing, turn, func(t postgres.Tx) error {
		list = nil
		postgres.Collect(t.Queue(selectMoved, turn.Adoption, after, sqldb.Clamp(limit)), func(row pgx.CollectableRow) (m moved, err error) {
			return m, row.Scan(&m.entry, &m.error, &m.key, &m.disposition, &m.archivedAt, &m.attempts)
		}, &list)
		return nil
	})
	if err != nil || len(list) == 0 {
		return done, err
	}
	done.Last, done.Attempts = list[len(list)-1].entry, list[0].attempts // of a batch that fails, too
	if list[0].key != nil {
		done.Key = *list[0].key
	}
	written, err := s.mirror(ctx, turn.Adoption, list)
	if err != nil {
		return done, err
	}
	if len(list) < sqldb.Clamp(limit) {
		done.Last = 0
	}
	var entries []int64
	var taken []recoup.ID
	for _, m := range list {
		if m.key == nil || written[*m.key] {
			entries = append(entries, m.entry)
			if m.attempts > 0 {
				taken = append(taken, m.error)
			}
		}
	}
	done.Written = len(entries)
	err = s.inTurn(ctx, doing, turn, func(t postgres.Tx) error {
		t.Queue(deleteMirrored, turn.Adoption, entries)
		if len(taken) > 0 {
			t.Queue("delete from recoup.adopted_refused where adoption_id = $1 and error_id = any ($2::uuid[])", turn.Adoption, postgres.IDs(taken))
		}
		return nil
	})
	if errors.Is(err, store.ErrOutOfTurn) {
		err = errors.Join(err, s.mirrorAgain(ctx, turn.Adoption, list))
	}
	return done, err
}

// mirrorAgain queues errors that this node has written to their rows after another node took
// the turn: what it wrote may be older than what the other did.
func (s *DB) mirrorAgain(ctx context.Context, adoption int, list []moved) error {
	ids := make([]recoup.ID, len(list))
	for i := range list {
		ids[i] = list[i].error
	}
	_, err := s.pool.Exec(ctx, "insert into recoup.adopted_mirror (adoption_id, error_id) select $1, unnest($2::uuid[])", adoption, postgres.IDs(ids))
	return postgres.Failed("queue source rows again", err)
}

// RefuseMoved takes an entry out of that queue that the source refuses, and keeps it for another
// attempt.
func (s *DB) RefuseMoved(ctx context.Context, turn Lease, r Refusal) error {
	return s.inTurn(ctx, "note a source row that refuses", turn, func(t postgres.Tx) error {
		t.Queue(`with refused as (delete from recoup.adopted_mirror where adoption_id = $1 and mirror_id = $2 returning error_id)
			insert into recoup.adopted_refused (adoption_id, error_id, key, cause, attempts, retry_at) select $1, error_id, $3, $4, $5, $6 from refused
			on conflict (adoption_id, error_id) do update set key = excluded.key, cause = excluded.cause, attempts = excluded.attempts, retry_at = excluded.retry_at`,
			turn.Adoption, r.Entry, r.Key, r.Cause, r.Attempts, r.RetryAt)
		return nil
	})
}

// RetryRefused queues refused entries whose time has come again.
// Until a retry is refused its entry waits for an hour, so
// that it is not queued twice.
func (s *DB) RetryRefused(ctx context.Context, turn Lease, now time.Time, limit int) error {
	return s.inTurn(ctx, "queue refused source rows again", turn, func(t postgres.Tx) error {
		t.Queue(`with again as (update recoup.adopted_refused f set retry_at = $2::timestamptz + interval '1 hour'
				from (select adoption_id, error_id from recoup.adopted_refused where adoption_id = $1 and retry_at <= $2 order by retry_at limit $3) d
				where f.adoption_id = d.adoption_id and f.error_id = d.error_id returning f.adoption_id, f.error_id)
			insert into recoup.adopted_mirror (adoption_id, error_id) select adoption_id, error_id from again`, turn.Adoption, now, sqldb.Clamp(limit))
		return nil
	})
}

// mirror writes what became of errors into their source rows, each once, and returns the
// keys that are written or gone.
func (s *DB) mirror(ctx context.Context, adoption int, list []moved) (map[string]bool, error) {
	seen := make(map[string]bool, len(list))
	var keys, dispositions []string
	var archived []*time.Time
	for _, m := range list {
		if m.key == nil || seen[*m.key] {
			continue
		}
		seen[*m.key] = true
		keys, dispositions, archived = append(keys, *m.key), append(dispositions, *m.disposition), append(archived, m.archivedAt)
	}
	if len(keys) == 0 {
		return nil, nil
	}
	written, err := keysAtSource(ctx, s, "notify an adopted table", adoption, "mirror", keys, dispositions, archived)
	if err != nil {
		return nil, err
	}
	clear(seen)
	for _, key := range written {
		seen[key] = true
	}
	return seen, nil
}
