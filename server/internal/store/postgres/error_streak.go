package postgres

import (
	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup/server/internal/store"
)

// lockStreaks queues the locks on counts of failures, and reads them. A count that
// does not exist yet cannot be locked as a row, and two reports that both saw none
// would both write one.
func lockStreaks(t *tx, keys []store.StreakKey, into *[]store.StreakCount) {
	families, entities := splitKeys(keys)
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = k.Family + " " + k.Entity
	}
	t.queue("select recoup.lock_names('streak', $1)", names)
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
