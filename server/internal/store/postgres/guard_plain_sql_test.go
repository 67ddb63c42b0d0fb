package postgres_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/recoup-dev/recoup/fault"
	checks "github.com/recoup-dev/recoup/server/internal/check"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store/postgres"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/test/conformance"
)

// role opens a session of one of the roles that migrations make.
func role(t testing.TB, owner prompt, name string) prompt {
	t.Helper()
	return at(t, strings.Replace(owner.Config().ConnString(), owner.Config().User, name, 1))
}

// registered writes the codes that nodes bring along.
func registered(t testing.TB, s *postgres.Store) {
	t.Helper()
	must(t, s.SyncCodes(t.Context(), conformance.Epoch(), fault.Default().All()))
}

// afresh is a database that recoup migrate has just made, governed by the default
// policy. A copy of one lacks what belongs to a database itself: the paths of its roles.
func afresh(t testing.TB) (owner prompt, s *postgres.Store) {
	t.Helper()
	address := pgtest.New(t)
	must(t, postgres.Migrate(t.Context(), address))
	owner = at(t, address)
	s = open(t, strings.Replace(address, owner.Config().User, "recoup_app", 1))
	must(t, s.SyncTables(t.Context(), policy.Default()))
	registered(t, s)
	return owner, s
}

// A code in plain SQL is folded and checked like one in a report.
func TestPlainCodes(t *testing.T) {
	t.Parallel()
	s, owner, _ := governed(t)
	registered(t, s)
	writer := role(t, owner, "recoup_writer")
	for given, want := range map[string]string{
		"network_timeout": "NETWORK_TIMEOUT", "Network_Timeout": "NETWORK_TIMEOUT", "rate_limited": "RATE_LIMIT_EXCEEDED",
		"validation_failed": "VALIDATION_ERROR", "already_exists": "DUPLICATE_RECORD", "stale_read": "STALE_READ", "our_own_code": "OUR_OWN_CODE",
	} {
		got := ask[string](writer, "insert into outreach.dol_errors (outreach_id, code) values ('CO-1', $1) returning code", given)
		if got != want {
			t.Errorf("%s is kept as %s, want %s", given, got, want)
		}
	}
	for _, bad := range []string{"", "not a code", "9LIVES", "_X", "NAÏVE", "naïve", "a-b", strings.Repeat("A", 65)} {
		_, err := writer.Exec(t.Context(), "insert into outreach.dol_errors (outreach_id, code) values ('CO-1', $1)", bad)
		var refused *pgconn.PgError
		if !errors.As(err, &refused) || refused.Code != guard || !strings.Contains(refused.Message, "does not look like a code") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// Plain SQL has the limits of the API: a longer message is cut between characters and says how
// long it was, a longer entity is refused in words.
func TestPlainLimits(t *testing.T) {
	t.Parallel()
	_, owner, app := governed(t)
	writer := role(t, owner, "recoup_writer")
	for _, row := range []struct {
		unit string
		n    int
		kept int
	}{{"x", 8192, 8192}, {"x", 8193, 8150}, {"x", 20 << 20, 8150}, {"é", 4096, 8192}, {"é", 5000, 8150}, {"€", 5000, 8148}, {"😀", 9000, 8148}} {
		sent := strings.Repeat(row.unit, row.n)
		want := sent[:row.kept]
		if want != sent {
			want += fmt.Sprintf(" [cut: %d bytes]", len(sent))
		}
		got := ask[string](writer, "insert into outreach.dol_errors (outreach_id, code, message) values ('CO-1', 'X', repeat($1, $2)) returning message", row.unit, row.n)
		if got != want {
			t.Errorf("%d of %s: %d bytes are kept, ending with %s", row.n, row.unit, len(got), got[len(got)-30:])
		}
	}
	if n := ask[int](app, "select max(octet_length(message)) from recoup.error"); n > 8192 {
		t.Errorf("a message has %d bytes", n)
	}
	const max = "repeat('e', 200)"
	writer.run("insert into outreach.dol_errors (outreach_id, code) values (" + max + ", 'X')")
	writer.run("select recoup.promote('p', " + max + "), recoup.promote('q' || repeat('e', 199), 'next')")
	app.run("select recoup.promote_for('r', 'next', " + max + ")")
	for sql, want := range map[string]string{
		"insert into outreach.dol_errors (outreach_id, code) values (repeat('e', 201), 'X')": "the entity may have 200 bytes, not 201",
		"insert into outreach.dol_errors (outreach_id, code) values (repeat('é', 101), 'X')": "the entity may have 200 bytes, not 202",
		"select recoup.is_blocked(repeat('e', 5000))":                                        "the entity may have 200 bytes, not 5000",
		"select recoup.promote(repeat('e', 5000), 'next')":                                   "the entity may have 200 bytes, not 5000",
		"select recoup.promote('e', repeat('p', 201))":                                       "may have 200 bytes each, not 1, 201 and 13",
	} {
		if got := writer.refusal(sql); !strings.Contains(got, want) {
			t.Errorf("%s: %s", sql, got)
		}
	}
	for sql, want := range map[string]string{
		"select recoup.promote_for(md5('e') || repeat(md5('e'), 100), 'next', 'recoup_app')": "may have 200 bytes each, not 3232, 4 and 10",
		"select recoup.promote_for('e', 'next', repeat('a', 201))":                           "may have 200 bytes each, not 1, 4 and 201",
		"select recoup.promote_for('e', 'next', null)":                                       "needs an entity, a phase and an actor",
	} {
		if got := app.refusal(sql); !strings.Contains(got, want) {
			t.Errorf("%s: %s", sql, got)
		}
	}
}

// Entities and phases of plain SQL are held to the rule of the API: what looks like another one is
// refused, and what Unicode composes differently is the same entity.
func TestPlainEntities(t *testing.T) {
	t.Parallel()
	_, owner, _ := governed(t)
	writer := role(t, owner, "recoup_writer")
	for _, odd := range []string{"CO-1 ", " CO-1", "CO\t1", "CO-1\n", "CO\u00071", "CO\u00a01", "CO\u200b1", "\u202eCO-1"} {
		if err := checks.Identifier("entity_id", odd); err == nil {
			t.Fatalf("the API accepts %q", odd)
		}
		for _, sql := range []string{
			"insert into outreach.dol_errors (outreach_id, code) values ($1, 'X')",
			"insert into company.url_discovery_failures (outreach_id, code) values ($1, 'X')",
			"select recoup.is_blocked($1)", "select recoup.promote($1, 'next')", "select recoup.promote('CO-2', $1)",
		} {
			_, err := writer.Exec(t.Context(), sql, odd)
			var refused *pgconn.PgError
			if !errors.As(err, &refused) || refused.Code != guard || !strings.Contains(refused.Message, "must not begin or end with a space") {
				t.Errorf("%s with %q: %v", sql, odd, err)
			}
		}
	}
	const composed, decomposed = "Caf\u00e9", "Cafe\u0301"
	if got := ask[string](writer, "insert into outreach.dol_errors (outreach_id, code) values ($1, 'X') returning outreach_id", decomposed); got != composed {
		t.Errorf("%q is kept as %q", decomposed, got)
	}
	for _, form := range []string{composed, decomposed} {
		if !ask[bool](writer, "select recoup.is_blocked($1)", form) {
			t.Errorf("%q is not blocked", form)
		}
	}
}

// A row without the entity that its table requires is kept among the orphans, under
// the name of the table that it was meant for, and one with an entity is not.
func TestPlainOrphans(t *testing.T) {
	t.Parallel()
	_, owner, app := governed(t)
	writer := role(t, owner, "recoup_writer")
	writer.run("insert into outreach.dol_errors (code, message) values ('NETWORK_TIMEOUT', 'whose?')")
	writer.run("insert into company.url_discovery_failures (company_unique_id, code) values ('', 'NETWORK_TIMEOUT')")
	writer.run("insert into outreach.dol_errors (outreach_id, code) select nullif(e, ''), 'X' from unnest(array['CO-1', '', 'CO-2']) e")
	const born = `select string_agg(concat_ws(' ', reported_table, disposition, blocking, expires_at - created_at), ', ' order by reported_table)
		from public.shq_orphan_errors`
	want := "company.url_discovery_failures PARKED f 30 days, outreach.dol_errors PARKED f 30 days, outreach.dol_errors PARKED f 30 days"
	if got := ask[string](app, born); got != want {
		t.Errorf("the orphans are %s", got)
	}
	if n := ask[int](app, "select count(*) from outreach.dol_errors"); n != 2 {
		t.Errorf("%d rows are in the table itself", n)
	}
}

// A dead letter carries its work, which no plain insert has: the refusal names the call.
func TestPlainDeadLetter(t *testing.T) {
	t.Parallel()
	_, owner, app := governed(t)
	for _, who := range []prompt{owner, app, role(t, owner, "recoup_writer")} {
		_, err := who.Exec(t.Context(), "insert into pipeline.dead_letters (entity_id, code) values ('E', 'X')")
		if err == nil || !strings.Contains(err.Error(), "send it with POST /v1/dead-letters") {
			t.Errorf("%s: %v", who.Config().User, err)
		}
	}
}

// The promotion query of spec 000, 6.3 is answered by each of the tables of 6.2, and
// the gate as a whole, for whoever runs a pipeline.
func TestPromotionQueryOnEveryTable(t *testing.T) {
	t.Parallel()
	_, owner, _ := governed(t)
	for _, name := range []string{"recoup_writer", "recoup_reader", "recoup_app"} {
		who := role(t, owner, name)
		for _, table := range []string{dol, "outreach.company_target_errors", people, "company.url_discovery_failures",
			"public.shq_error_log", masterLog, "public.shq_orphan_errors", "pipeline.dead_letters"} {
			if ask[bool](who, promotionCheck(t, table), "CO-"+name) {
				t.Errorf("%s: %s blocks what has no error", name, table)
			}
		}
	}
	writer := role(t, owner, "recoup_writer")
	writer.run("insert into outreach.dol_errors (outreach_id, code) values ('CO-1', 'NETWORK_TIMEOUT')")
	writer.run("insert into company.url_discovery_failures (outreach_id, code) values ('CO-1', 'NETWORK_TIMEOUT')")
	if !ask[bool](writer, promotionCheck(t, dol), "CO-1") || ask[bool](writer, promotionCheck(t, "company.url_discovery_failures"), "CO-1") {
		t.Error("a blocking table blocks and another does not")
	}
	if got := ask[string](writer, "select company_unique_id || ' ' || outreach_id from company.url_discovery_failures"); got != "CO-1 CO-1" {
		t.Errorf("the entity is %s", got)
	}
}

// A pipeline in plain SQL needs no more than its role has, and has no more.
func TestWriterRole(t *testing.T) {
	t.Parallel()
	owner, _ := afresh(t)
	writer := role(t, owner, "recoup_writer")
	if got := ask[string](writer, "show idle_in_transaction_session_timeout"); got != "30s" {
		t.Errorf("a transaction may be idle for %s", got)
	}
	writer.run("INSERT INTO outreach.dol_errors (outreach_id, code, severity, message) VALUES ('CO-1', 'NETWORK_TIMEOUT', 'HIGH', 'slow')")
	if !ask[bool](writer, "SELECT is_blocked('CO-1')") || ask[bool](writer, "SELECT is_blocked('CO-2')") {
		t.Error("is_blocked is wrong")
	}
	if ask[bool](writer, "SELECT seq IS NOT NULL FROM promote('CO-1', 'outreach')") || !ask[bool](writer, "SELECT seq IS NOT NULL FROM promote('CO-2', 'outreach')") {
		t.Error("promote is wrong")
	}
	if got := ask[string](owner, "select promoted_by from recoup.promotion"); got != "recoup_writer" {
		t.Errorf("promoted by %s", got)
	}
	for _, sql := range []string{
		"insert into outreach.dol_errors (outreach_id, code, disposition) values ('E', 'X', 'ARCHIVE')",
		"insert into outreach.dol_errors (outreach_id, code, policy_version) values ('E', 'X', '1.0.0')",
		"update outreach.dol_errors set message = ''", "delete from outreach.dol_errors", "select * from error", "insert into error (code) values ('X')",
		"select * from error_event", "select purge_archive(now(), 1)", "select * from api_key", "select sync_table(null)",
		"insert into outreach.dol_errors_archive (outreach_id, code) values ('E', 'X')",
	} {
		if got := writer.sqlState(sql); got != privilege {
			t.Errorf("%s: %s", sql, got)
		}
	}
}

// An analyst runs the queries of the specifications as they are written, and nothing else.
func TestReaderRole(t *testing.T) {
	t.Parallel()
	owner, s := afresh(t)
	pgtest.OwnTime(t, owner.Config().ConnString())
	now := ask[time.Time](owner, "select now()")
	run(t, session(t, owner.Config().ConnString()), "spec003/2_partition.sql")
	must(t, s.EnsureEventPartitions(t.Context(), now, 90*24*time.Hour))
	app := role(t, owner, "recoup_app")
	run(t, app.Conn, "spec003/fixture.sql")
	run(t, app.Conn, "spec004/fixture.sql")
	if ask[int](owner, serverVersion) < 150000 { // before, everybody could create in public, unless its owner says otherwise
		at(t, as(t, owner.Config().ConnString(), "postgres", "")).run("revoke create on schema public from public")
	}
	reader := role(t, owner, "recoup_reader")
	for _, name := range []string{"spec003/3_top_errors", "spec003/4_retryable_rate", "spec003/5_drill_down", "spec004/1_eligible", "spec004/2_exhausted"} {
		answers(t, reader.Conn, name)
	}
	for _, sql := range []string{
		"delete from error_event", "insert into error_code (code, domain, description) values ('X', 'data', '')", "select * from api_key",
		"select * from platform_key", "select * from work_payload", "select * from audit", "update cl.gate_zero_recovery set attempt_count = 1",
		"select promote('CO-1', 'x')", "create table public.mine (n int)", "select recoup.enable_row_security()",
	} {
		if got := reader.sqlState(sql); got != privilege {
			t.Errorf("%s: %s", sql, got)
		}
	}
}

// An id of zeros, which the API takes for none, is refused: nobody could act on the error, and it would block for good.
func TestPlainZeroID(t *testing.T) {
	t.Parallel()
	_, owner, _ := governed(t)
	writer := role(t, owner, "recoup_writer")
	const zero = "'00000000-0000-0000-0000-000000000000'"
	for _, sql := range []string{
		"insert into outreach.dol_errors (error_id, outreach_id, code) values (" + zero + ", 'e', 'X')",
		"select recoup.promote('e', 'next', id => " + zero + ")",
		"insert into recoup.promoting (entity, phase, id) values ('e', 'next', " + zero + ")",
	} {
		if got := writer.refusal(sql); !strings.Contains(got, "all zeros") {
			t.Errorf("%s: %s", sql, got)
		}
	}
}

// The phase of a promotion has no characters that an entity may not have.
func TestPlainPhase(t *testing.T) {
	t.Parallel()
	_, owner, _ := governed(t)
	writer := role(t, owner, "recoup_writer")
	for _, phase := range []string{"a\u0007b", "a\nb", " a", "a ", "a\u200bb", "a\u202eb"} {
		_, err := writer.Exec(t.Context(), "select recoup.promote('e', $1)", phase)
		if err == nil || !strings.Contains(err.Error(), "the phase must not") {
			t.Errorf("%q: %v", phase, err)
		}
	}
	writer.run("select recoup.promote('e', 'outreach, 2nd – « é »')")
}
