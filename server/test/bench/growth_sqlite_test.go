package bench

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
)

// fillSQLite fills a file with large inserts. Its triggers look at every row, and
// its indexes too; both are put aside meanwhile, and the counts that the triggers
// keep are made afterwards.
func fillSQLite(b *testing.B, v volume) filled {
	b.Helper()
	s, db := openSQLite(b)
	run := func(statement string, args ...any) {
		b.Helper()
		_, err := db.ExecContext(b.Context(), statement, args...)
		must(b, err)
	}
	sampleCodes(func(code string) {
		run("insert into error_code (code, domain, description, retryable) values (?, 'data', '', ?)", code, code < "SAMPLE_2")
	})
	back := putAside(b, db, run)
	spell := func(text string, oldnew ...string) string {
		return strings.NewReplacer(append(oldnew, "{now}", fmt.Sprint(present().UnixMicro()), "{minute}", "60000000",
			"GET /v1/things/{id}", "GET /v1/things/{id}", "{id}", "randomblob(16)", "{group}", "null", "{event}", "randomblob(16)")...).Replace(text)
	}
	numbers := func(n int) string {
		return fmt.Sprintf("with recursive n (i) as (values (0) union all select i + 1 from n where i + 1 < %d) ", n)
	}
	run(numbers(v.errors) + "insert into error (" + columns + ") select " + spell(mix))
	run(numbers(groupsOf(v.errors)) + "insert into dead_letter_group (group_id, pipeline, stage, error_class, first_seen_at, last_seen_at) select " + spell(groupRow))
	events := func(n int, from, to time.Time) {
		if n > 0 {
			run(numbers(n) + "insert into error_event (event_id, code, correlation_id, service, endpoint, http_status, ts) select " +
				spell(eventRow, "{begin}", fmt.Sprint(from.UnixMicro()), "{apart}", fmt.Sprint((to.Sub(from)/time.Duration(n)).Microseconds())))
		}
	}
	events(v.history, present().AddDate(0, 0, -historyDays), present().Add(-recent))
	events(recentEvents, present().Add(-recent), present())
	run(`update error set state = 'RESOLVED', disposition = 'RESOLVED', blocking = 0, replaceable = 0, next_retry_at = null, resolved_at = updated_at
		where entity_id like 'CO-1_9' and state = 'RETRY_PENDING'`)
	run(`insert into error_count select table_name, state, ttl, count(*), sum(blocking), sum(iif(ttl > 0, created_at / 1000000, 0)), sum(iif(ttl > 0, created_at % 1000000, 0))
		from (select *, iif(state <> 'RESOLVED' and expires_at > created_at, expires_at - created_at, 0) as ttl from error) group by 1, 2, 3`)
	for table, span := range map[string]string{"hourly": "3600000000", "daily": "86400000000"} {
		run(`insert into error_aggregate_` + table + ` select ts - ts % ` + span + `, service, code, count(*), sum(retryable), max(ts)
			from error_event join error_code using (code) group by 1, 2, 3`)
	}
	back()
	must(b, s.FoldCounts(b.Context()))
	run("analyze")
	var correlation []byte
	must(b, db.QueryRowContext(b.Context(), "select correlation_id from error_event limit 1").Scan(&correlation))
	return newFilled(b, s, v, recoup.ID(correlation))
}

// putAside drops the triggers and indexes of the large tables, and returns what
// brings them back.
func putAside(b *testing.B, db *sql.DB, run func(string, ...any)) (back func()) {
	b.Helper()
	const which = "from sqlite_schema where tbl_name in ('error', 'error_event') and type in ('trigger', 'index') and sql is not null order by type, name"
	made := texts(b, db, "select sql "+which)
	for _, drop := range texts(b, db, "select 'drop ' || type || ' ' || name "+which) {
		run(drop)
	}
	return func() {
		for _, make := range made {
			run(make)
		}
	}
}
