package adoption

import (
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/recoup-dev/recoup/server/internal/pgsession"
	"github.com/recoup-dev/recoup/server/internal/store/postgres"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// selectPartitions lists the partitions of a source, those that a node saw when it last looked, those
// without a trigger, and whether it is noted that there are some.
const selectPartitions = `
	select array(select format('%I.%I', n.nspname, c.relname) from pg_partition_tree(recoup.adopted_source(a.adoption_id)) p join pg_class c on c.oid = p.relid
	    join pg_namespace n on n.oid = c.relnamespace where p.level > 0 order by p.level, c.oid), coalesce(a.partitions, '{}'),
	  array(select format('%I.%I', n.nspname, c.relname) from pg_partition_tree(recoup.adopted_source(a.adoption_id)) p join pg_class c on c.oid = p.relid
	    join pg_namespace n on n.oid = c.relnamespace where p.level > 0 and (select count(*) from pg_trigger g where g.tgrelid = p.relid
	      and g.tgname in (select format('adopted_%s_%s', a.adoption_id, w) from unnest('{insert,update,delete,truncate}'::text[]) w)) < 4 order by p.level, c.oid),
	  a.unseen <> '{}'
	from recoup.adoption a where a.adoption_id = $1`

// attached is what became of partitions without triggers.
type attached struct {
	filled bool // there are rows that no trigger has seen
	unseen []string
	why    string
}

// TendPartitions adds triggers to partitions of a source that have none and has their rows
// read. It notes which partitions there are, and those that it could not add triggers to. If
// partitions are gone, every row that has an error is looked at again.
func (s *DB) TendPartitions(ctx context.Context, turn Lease) error {
	const doing = "look at the partitions of a source"
	var now, known, bare []string
	var noted bool
	if err := s.pool.QueryRow(ctx, selectPartitions, turn.Adoption).Scan(&now, &known, &bare, &noted); err != nil {
		return postgres.Failed(doing, err)
	}
	missing := func(in []string) func(string) bool {
		return func(name string) bool { return !slices.Contains(in, name) }
	}
	gone, added := slices.ContainsFunc(known, missing(now)), slices.ContainsFunc(now, missing(slices.Concat(known, bare)))
	if !gone && len(bare) == 0 && !noted && len(now) == len(known) {
		return nil
	}
	found := attached{filled: added} // a partition that has triggers from an earlier time is attached again
	if gone || len(bare) > 0 {
		if err := s.attach(ctx, doing, turn.Adoption, gone, bare, &found); err != nil {
			return err
		}
	}
	return s.inTurn(ctx, doing, turn, func(t postgres.Tx) error {
		t.Queue(`update recoup.adoption set partitions = $2, unseen = $3, unseen_since = case when $3::text[] = '{}' then null else coalesce(unseen_since, recoup.clock()) end, unseen_why = nullif($4, '')
			where adoption_id = $1`, turn.Adoption, now, append([]string{}, found.unseen...), found.why)
		if found.filled {
			t.Queue("update recoup.adoption set state = $2, scanned_to = null, scan_end = null, scanned = 0 where adoption_id = $1 and state in ($2, $3)",
				turn.Adoption, wire.AdoptionBackfilling, wire.AdoptionGoverned)
		}
		return nil
	})
}

// attach adds triggers with the rights of the table's owner. What the database refuses is noted and
// tried again: it must not keep the node from the rows that it can govern.
func (s *DB) attach(ctx context.Context, doing string, adoption int, gone bool, bare []string, found *attached) error {
	err := atSource(ctx, s, doing, adoption, "attach", func(rows pgx.Rows) error {
		for rows.Next() {
			var name, refused *string
			var filled *bool
			if err := rows.Scan(&name, &filled, &refused); err != nil {
				return err
			}
			found.filled = found.filled || filled != nil && *filled
			if refused != nil && name != nil && slices.Contains(bare, *name) && len(found.unseen) < len(bare) {
				found.unseen, found.why = append(found.unseen, *name), pgsession.BriefText(*refused)
			}
		}
		return rows.Err()
	}, gone)
	if said, ok := errors.AsType[*pgconn.PgError](err); ok {
		found.unseen, found.why = bare, pgsession.BriefText(said.Message)
		return nil
	}
	return err
}
