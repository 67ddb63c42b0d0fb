package bench

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup"
)

// fillPostgres fills a database with set-based inserts. The guards look at whole
// statements, so they are on; indexes of errors are made afterwards.
func fillPostgres(b *testing.B, v volume) filled {
	b.Helper()
	s, owner := openPostgres(b)
	must(b, s.EnsureEventPartitions(b.Context(), present(), historyDays*24*time.Hour))
	sampleCodes(func(code string) {
		execute(b, owner, "insert into recoup.error_code (code, domain, description, retryable) values ($1, 'data', '', $2)", code, code < "SAMPLE_2")
	})
	spell := func(text string, oldnew ...string) string {
		return strings.NewReplacer(append(oldnew, "{now}", "'"+present().Format(time.RFC3339)+"'::timestamptz", "{minute}", "interval '1 minute'",
			"{id}", "gen_random_uuid()", "{group}", "md5(t || (i % 1000 / 4))::uuid", "GET /v1/things/{id}", "GET /v1/things/{id}")...).Replace(text)
	}
	back := dropIndexes(b, owner, "error", "due")
	for from, step := 0, 50_000; from < v.errors; from += step {
		stored := strings.Replace(columns, "lease_token, lease_ends_at, ", "", 1) // which are in recoup.due
		execute(b, owner, fmt.Sprintf(`with n as (select i from generate_series(%d, %d) i), x as materialized (select gen_random_uuid() as error_id, %s),
			e as (insert into recoup.error (error_id, %s) select error_id, %s from x)
			insert into recoup.due (error_id, table_name, policy_version, due_at, window_ends_at, expires_at, lease_token, leased_at, lease_ends_at)
			select error_id, table_name, policy_version, next_retry_at, retry_window_ends_at, expires_at, lease_token,
				case when lease_token is not null then updated_at end, lease_ends_at from x where state = 'RETRY_PENDING'`,
			from, min(from+step, v.errors)-1, spell(mix), stored, stored))
		must(b, s.FoldCounts(b.Context()))
	}
	back()
	execute(b, owner, fmt.Sprintf(`with n as (select i from generate_series(1, %d) i), g as (
			insert into recoup.dead_letter_group (group_id, pipeline, stage, error_class, first_seen_at, last_seen_at) select %s returning group_id, last_seen_at)
		insert into recoup.dead_letter_count select group_id, last_seen_at::date - d, 10, 1 from g, generate_series(0, 9) d`, groupsOf(v.errors), spell(groupRow)))
	fillPostgresEvents(b, owner, v.history, present().AddDate(0, 0, -historyDays), present().Add(-recent), spell)
	fillPostgresEvents(b, owner, recentEvents, present().Add(-recent), present(), spell)
	execute(b, owner, "insert into recoup.lease select leased_at, lease_ends_at, array[error_id] from recoup.due where lease_token is not null")
	execute(b, owner, "alter table recoup.error disable trigger guard_resolved")
	execute(b, owner, `with over as (update recoup.error set state = 'RESOLVED', disposition = 'RESOLVED', blocking = false, replaceable = false,
			next_retry_at = null, resolved_at = updated_at where entity_id like 'CO-1_9' and state = 'RETRY_PENDING' returning error_id, resolved_at),
		gone as (delete from recoup.due d using over where d.error_id = over.error_id)
		insert into recoup.resolved select resolved_at, error_id from over`)
	execute(b, owner, "alter table recoup.error enable trigger guard_resolved")
	must(b, s.FoldRollups(b.Context()))
	must(b, s.FoldCounts(b.Context()))
	execute(b, owner, "vacuum analyze")
	var correlation recoup.ID
	must(b, owner.QueryRow(b.Context(), "select correlation_id from recoup.error_event limit 1").Scan(&correlation))
	f := newFilled(b, s, v, correlation)
	f.owner = owner
	return f
}

// timedID is an id that begins with its event's time, as those of clients do.
const timedID = "(lpad(to_hex((extract(epoch from {begin} + i * {apart}) * 1000)::bigint), 12, '0') || substr(md5(i::text), 1, 20))::uuid"

// dropIndexes drops the indexes of tables that are no constraints, and returns what
// brings them back.
func dropIndexes(b *testing.B, owner *pgx.Conn, tables ...string) (back func()) {
	b.Helper()
	rows, _ := owner.Query(b.Context(), `select indexdef, 'drop index recoup.' || quote_ident(indexname) from pg_indexes i where schemaname = 'recoup' and tablename = any ($1)
		and not exists (select from pg_constraint c where c.conname = i.indexname and c.connamespace = 'recoup'::regnamespace)`, tables)
	type index struct{ Make, Drop string }
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[index])
	must(b, err)
	for _, x := range list {
		execute(b, owner, x.Drop)
	}
	return func() {
		for _, x := range list {
			execute(b, owner, x.Make)
		}
	}
}

// fillPostgresEvents spreads events evenly over a span, month by month, because
// the guard of a partition counts what goes there directly.
func fillPostgresEvents(b *testing.B, owner *pgx.Conn, n int, from, to time.Time, spell func(string, ...string) string) {
	b.Helper()
	if n == 0 {
		return
	}
	apart := (to.Sub(from) / time.Duration(n)).Truncate(time.Microsecond)
	for first := 0; first < n; {
		at := from.Add(time.Duration(first) * apart)
		month := time.Date(at.Year(), at.Month()+1, 1, 0, 0, 0, 0, time.UTC)
		last := min(n, first+int((month.Sub(at)+apart-1)/apart))
		execute(b, owner, fmt.Sprintf(`with n as (select i from generate_series(%d, %d) i)
			insert into recoup.error_event_y%s (event_id, code, correlation_id, service, endpoint, http_status, ts) select %s`, first, last-1,
			at.Format("2006m01"), spell(strings.ReplaceAll(eventRow, "{event}", timedID), "{begin}", "'"+from.Format(time.RFC3339Nano)+"'::timestamptz",
				"{apart}", fmt.Sprintf("interval '%d microseconds'", apart.Microseconds()))))
		first = last
	}
}
