package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup/server/internal/store"
)

// rowRule is an invariant and the statement that finds what breaks it: its subject as
// text, at most $2 of them, among $1 rows from either end of a table.
type rowRule struct{ name, find string }

// ends reads so many rows from either end of a table, by its primary key.
func ends(table, key, columns string) string {
	return fmt.Sprintf(`(select * from (select %[3]s from %[1]s order by %[2]s limit $1) a union select * from (select %[3]s from %[1]s order by %[2]s desc limit $1) z)`,
		table, key, columns)
}

// sampledErrors are errors that are open or wait for the archive.
var sampledErrors = ends("recoup.error", "error_id", "error_id, table_name, state, entity_id, code, blocking, policy_version, expires_at, next_retry_at, next_escalation_at, review_due_at, assigned_to, escalated_to")

var rowRules = []rowRule{
	{store.RuleDeadline, `select e.error_id::text from ` + sampledErrors + ` e join recoup.error_table t using (table_name)
		where e.state <> 'RESOLVED' and e.policy_version is not null and t.ttl is not null
		  and num_nonnulls(e.expires_at, e.next_retry_at, e.next_escalation_at, e.review_due_at, e.assigned_to, e.escalated_to) = 0 limit $2`},
	{store.RuleQueued, `select e.error_id::text from ` + sampledErrors + ` e
		where e.state = 'RETRY_PENDING' and not exists (select from recoup.due d where d.error_id = e.error_id) limit $2`},
	{store.RuleQueue, `select d.error_id::text from ` + ends("recoup.due", "error_id", "error_id") + ` d
		where not exists (select from recoup.error e where e.error_id = d.error_id and e.state = 'RETRY_PENDING') limit $2`},
	{store.RuleGateClosed, `select e.error_id::text from ` + sampledErrors + ` e where e.blocking and coalesce((
		select not g.blocks from recoup.gate_entry g where g.entity_id = e.entity_id and g.error_id = e.error_id order by g.seq desc limit 1), true) limit $2`},
	{store.RuleGateOpened, `select e.error_id::text from ` + sampledErrors + ` e where not e.blocking and e.entity_id is not null and (
		select g.blocks from recoup.gate_entry g where g.entity_id = e.entity_id and g.error_id = e.error_id order by g.seq desc limit 1) limit $2`},
	{store.RuleCounts, `with real as (select table_name, state, count(*) as n from (select table_name, state from recoup.error limit 2 * $1 + 1) e group by 1, 2),
		  counted as (select table_name, state, sum(n) as n from recoup.error_count group by 1, 2)
		select format('%s %s: %s counted, %s are there', coalesce(r.table_name, c.table_name), coalesce(r.state, c.state), coalesce(c.n, 0), coalesce(r.n, 0))
		from real r full join counted c using (table_name, state)
		where coalesce(r.n, 0) <> coalesce(c.n, 0) and (select coalesce(sum(n), 0) from real) <= 2 * $1 limit $2`},
	{store.RuleArchive, `select error_id::text from recoup.error_archive where purge_at < recoup.clock() - interval '3 days' and $1 > 0 order by purge_at limit $2`},
	{store.RuleCodes, `with recursive sent (code) as (
		  (select code from recoup.error_event order by code limit 1)
		  union all select (select e.code from recoup.error_event e where e.code > s.code order by e.code limit 1) from sent s where s.code is not null),
		used (code) as (select code from (select code from sent limit 2 * $1::int) s
		  union select distinct code from recoup.error_aggregate_daily where day > (recoup.clock() at time zone 'UTC')::date - 7)
		select u.code from used u where u.code is not null and not exists (select from recoup.error_code c where c.code = u.code) limit $2`},
	{store.RuleDeadLetters, `select d.error_id::text from ` + ends("recoup.dead_letter", "error_id", "error_id") + ` d
		where not exists (select from recoup.error e where e.error_id = d.error_id)
		  and not exists (select from recoup.error_archive a where a.error_id = d.error_id) limit $2`},
	{store.RulePayloadKeys, `select distinct p.key_id from (select key_id from ` + ends("recoup.work_payload", "work_id", "work_id, key_id") + ` w
		  union select key_id from ` + ends("recoup.checkpoint", "work_id, stage", "work_id, stage, key_id") + ` c
		  union select unnest(array[sealed_by, moved_by]) from ` + ends("recoup.source_detail", "error_id", "error_id, sealed_by, moved_by") + ` d) p
		where p.key_id is not null and not exists (select from recoup.platform_key k where k.key_id = p.key_id and k.deleted_at is null) limit $2`},
	{store.RuleAdmission, `select error_id::text from recoup.error where policy_version is null and created_at < recoup.clock() - interval '15 minutes' and $1 > 0
		order by created_at, error_id limit $2`},
	{store.RuleNotices, `select o.notice_id::text from (select notice_id, created_at from recoup.outbox where given_up_at is not null order by created_at, notice_id limit $1) o
		where not exists (select from recoup.outbox r where r.dedup_key = 'resend:' || o.notice_id) limit $2`},
}

func (r rowRule) read(ctx context.Context, q querier, i store.Inspection, f *store.Facts) error {
	rows, err := q.Query(ctx, r.find, i.Sample, store.BreachRows+1)
	if err != nil {
		return err
	}
	found, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err == nil && len(found) > 0 {
		f.Breaches = append(f.Breaches, store.NewBreach(r.name, found))
	}
	return err
}
