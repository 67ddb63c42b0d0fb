package postgres

import "context"

// foldErrorGroups adds what was appended to the groups and to their hours, in the order of
// their keys, so that two who fold do not wait for each other crosswise. A group that is
// new takes its table, its code and its message from one of its errors, which may be in
// the archive by now.
const foldErrorGroups = `
	with old as (delete from recoup.error_group_delta where ctid = any (array(select ctid from recoup.error_group_delta limit $1)) returning *),
	sums as materialized (select group_id, coalesce(sum(active), 0) as active, coalesce(sum(retry_pending), 0) as retry_pending, coalesce(sum(parked), 0) as parked,
		coalesce(sum(escalated), 0) as escalated, coalesce(sum(resolved), 0) as resolved, coalesce(sum(arrived), 0) as arrived,
		min(first_at) as first_at, max(last_at) as last_at, (array_agg(example order by first_at) filter (where example is not null))[1] as example
		from old group by group_id),
	hours as (insert into recoup.error_group_hour as h (group_id, hour, n)
		select group_id, date_trunc('hour', first_at, 'UTC'), sum(arrived) from old where arrived > 0 group by 1, 2 order by 1, 2
		on conflict (group_id, hour) do update set n = h.n + excluded.n),
	groups as (insert into recoup.error_group as g (group_id, table_name, code, example, first_seen_at, last_seen_at, total, active, retry_pending, parked, escalated, resolved)
		select s.group_id, coalesce(e.table_name, k.table_name), coalesce(e.code, k.code), left(e.message, 8192), coalesce(s.first_at, k.first_seen_at), coalesce(s.last_at, k.last_seen_at),
			s.arrived, s.active, s.retry_pending, s.parked, s.escalated, s.resolved
		from sums s left join recoup.error_group k on k.group_id = s.group_id
		left join lateral (select table_name, code, message from recoup.error where k.group_id is null and error_id = s.example
			union all select table_name, code, message from recoup.error_archive where k.group_id is null and error_id = s.example limit 1) e on true
		where k.group_id is not null or e.code is not null order by s.group_id
		on conflict (group_id) do update set total = g.total + excluded.total, active = g.active + excluded.active, retry_pending = g.retry_pending + excluded.retry_pending,
			parked = g.parked + excluded.parked, escalated = g.escalated + excluded.escalated, resolved = g.resolved + excluded.resolved,
			first_seen_at = least(g.first_seen_at, excluded.first_seen_at), last_seen_at = greatest(g.last_seen_at, excluded.last_seen_at))
	select count(*) from old`

// FoldErrorGroups adds what was appended to the groups of errors, in chunks.
func (s *Store) FoldErrorGroups(ctx context.Context) error {
	return s.fold(ctx, "fold groups of errors", foldErrorGroups, foldStep)
}
