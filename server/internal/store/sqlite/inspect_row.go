package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/recoup-dev/recoup/server/internal/store"
)

// rowRule is an invariant and the query that finds what breaks it: its subject as text, at
// most :most of them, among :sample rows from either end of a table. :now is the time.
type rowRule struct{ name, find string }

// ends reads so many rows from either end of a table, by its primary key.
func ends(table, key, columns string) string {
	return fmt.Sprintf(`(select * from (select %[3]s from %[1]s order by %[2]s limit :sample) union select * from (select %[3]s from %[1]s order by %[2]s desc limit :sample))`,
		table, key, columns)
}

// shown writes an id as people know it.
func shown(id string) string {
	return fmt.Sprintf(`lower(substr(hex(%[1]s), 1, 8) || '-' || substr(hex(%[1]s), 9, 4) || '-' || substr(hex(%[1]s), 13, 4) || '-' || substr(hex(%[1]s), 17, 4) || '-' || substr(hex(%[1]s), 21))`, id)
}

// sampledErrors are errors that are open or wait for the archive.
var sampledErrors = ends("error", "error_id", "error_id, table_name, state, entity_id, code, blocking, policy_version, expires_at, next_retry_at, next_escalation_at, review_due_at, assigned_to, escalated_to, lease_token")

// lastEntry is what the gate's log says last of an error.
const lastEntry = `(select g.blocks from gate_entry g where g.entity_id = e.entity_id and g.error_id = e.error_id order by g.seq desc limit 1)`

var rowRules = []rowRule{
	{store.RuleDeadline, `select ` + shown("e.error_id") + ` from ` + sampledErrors + ` e join error_table t using (table_name)
		where e.state <> 'RESOLVED' and e.policy_version is not null and t.ttl is not null
		and coalesce(e.expires_at, e.next_retry_at, e.next_escalation_at, e.review_due_at, e.assigned_to, e.escalated_to) is null limit :most`},
	{store.RuleQueued, `select ` + shown("e.error_id") + ` from ` + sampledErrors + ` e where e.state = 'RETRY_PENDING' and e.next_retry_at is null and e.lease_token is null limit :most`},
	{store.RuleGateClosed, `select ` + shown("e.error_id") + ` from ` + sampledErrors + ` e where e.blocking and coalesce(` + lastEntry + `, 0) = 0 limit :most`},
	{store.RuleGateOpened, `select ` + shown("e.error_id") + ` from ` + sampledErrors + ` e where not e.blocking and e.entity_id is not null and ` + lastEntry + ` = 1 limit :most`},
	{store.RuleCounts, `with real as (select table_name, state, count(*) as n from (select table_name, state from error limit 2 * :sample + 1) group by 1, 2),
			counted as (select table_name, state, sum(n) as n from error_count group by 1, 2)
		select coalesce(r.table_name, c.table_name) || ' ' || coalesce(r.state, c.state) || ': ' || coalesce(c.n, 0) || ' counted, ' || coalesce(r.n, 0) || ' are there'
		from real r full join counted c on c.table_name = r.table_name and c.state = r.state
		where coalesce(r.n, 0) <> coalesce(c.n, 0) and (select coalesce(sum(n), 0) from real) <= 2 * :sample limit :most`},
	{store.RuleArchive, `select ` + shown("error_id") + ` from error_archive where purge_at < :now - 3 * 86400000000 order by purge_at limit :most`},
	{store.RuleCodes, `with recursive sent (code) as (select min(code) from error_event
			union all select (select min(e.code) from error_event e where e.code > s.code) from sent s where s.code is not null limit 1000)
		select code from sent where code is not null and not exists (select 1 from error_code c where c.code = sent.code) limit :most`},
	{store.RuleDeadLetters, `select ` + shown("d.error_id") + ` from ` + ends("dead_letter", "error_id", "error_id") + ` d
		where not exists (select 1 from error e where e.error_id = d.error_id) and not exists (select 1 from error_archive a where a.error_id = d.error_id) limit :most`},
	{store.RulePayloadKeys, `select distinct p.key_id from (select key_id from ` + ends("work_payload", "work_id", "work_id, key_id") + `
			union select key_id from ` + ends("checkpoint", "work_id, stage", "work_id, stage, key_id") + `) p
		where not exists (select 1 from platform_key k where k.key_id = p.key_id and k.deleted_at is null) limit :most`},
	{store.RuleAdmission, `select ` + shown("error_id") + ` from error where policy_version is null and created_at < :now - 900000000 order by created_at, error_id limit :most`},
	{store.RuleNotices, `select ` + shown("o.notice_id") + ` from (select notice_id from outbox where given_up_at is not null order by created_at, notice_id limit :sample) o
		where not exists (select 1 from outbox r where r.dedup_key = 'resend:' || ` + shown("o.notice_id") + `) limit :most`},
}

func (r rowRule) read(ctx context.Context, s *Store, i store.Inspection, f *store.Facts) error {
	rows, err := s.read.QueryContext(ctx, r.find, ruleArgs(r.find, i)...)
	if err != nil {
		return err
	}
	found, err := collect(rows, func(subject *string) []any { return []any{subject} })
	if err == nil && len(found) > 0 {
		f.Breaches = append(f.Breaches, store.NewBreach(r.name, found))
	}
	return err
}

// ruleArgs are the parameters that a query names.
func ruleArgs(query string, i store.Inspection) (args []any) {
	for _, p := range []sql.NamedArg{sql.Named("sample", i.Sample), sql.Named("most", store.BreachRows+1), sql.Named("now", i.Now.UnixMicro())} {
		if strings.Contains(query, ":"+p.Name) {
			args = append(args, p)
		}
	}
	return args
}
