package postgres

import (
	"github.com/jackc/pgx/v5"

	"recoup/internal/store"
)

// streakLock is the class of advisory locks that guard counts of failures. A
// count that does not exist yet cannot be locked as a row, and two reports that
// both saw none would both write one.
const streakLock = 20260203

// lockStreaks queues the locks on counts, in order, and reads them.
func lockStreaks(t *tx, keys []store.StreakKey, into *[]store.StreakCount) {
	families, entities := splitKeys(keys)
	t.queue(`select pg_advisory_xact_lock($1, o.k) from (
			select distinct hashtext(f || ' ' || e) as k from unnest($2::text[], $3::text[]) as u (f, e) order by 1) o`,
		streakLock, families, entities)
	q := t.queue(`select s.family, s.entity_id, s.count from recoup.entity_streak s
		join (select distinct f, e from unnest($1::text[], $2::text[]) as u (f, e)) k on s.family = k.f and s.entity_id = k.e`,
		families, entities)
	collect(q, func(row pgx.CollectableRow) (c store.StreakCount, err error) {
		err = row.Scan(&c.Family, &c.Entity, &c.Count)
		return c, err
	}, into)
}

// writeStreaks queues counts that have changed; those that are zero are
// forgotten.
func writeStreaks(t *tx, counts []store.StreakCount) {
	var gone, kept []store.StreakKey
	var n []int32
	for _, c := range counts {
		if c.Count == 0 {
			gone = append(gone, c.StreakKey)
			continue
		}
		kept, n = append(kept, c.StreakKey), append(n, int32(c.Count))
	}
	if len(gone) > 0 {
		families, entities := splitKeys(gone)
		t.queue(`delete from recoup.entity_streak s using unnest($1::text[], $2::text[]) as u (f, e)
			where s.family = u.f and s.entity_id = u.e`, families, entities)
	}
	if len(kept) > 0 {
		families, entities := splitKeys(kept)
		t.queue(`insert into recoup.entity_streak (family, entity_id, count)
			select * from unnest($1::text[], $2::text[], $3::int[])
			on conflict (family, entity_id) do update set count = excluded.count`, families, entities, n)
	}
}

func splitKeys(keys []store.StreakKey) (families, entities []string) {
	for _, k := range keys {
		families, entities = append(families, k.Family), append(entities, k.Entity)
	}
	return families, entities
}
