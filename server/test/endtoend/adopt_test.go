package endtoend

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup/retry"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/test/tier"
)

// The table of spec 000 as somebody has had it for years: with rows, and with writers
// that know nothing of us. One is new, one has waited for three days, one is over.
const dolErrors = `create schema outreach;
	create table outreach.dol_errors (id bigint generated always as identity primary key, outreach_id text, error_code text, error_message text, created_at timestamptz not null default now());
	insert into outreach.dol_errors (outreach_id, error_code, error_message, created_at) values
		('CO-new', 'network_timeout', 'password=hunter2-swordfish', now()), ('CO-parked', 'VALIDATION_ERROR', 'no EIN', now() - interval '3 days'),
		('CO-old', 'NETWORK_TIMEOUT', 'long ago', now() - interval '40 days')`

// isBlocked is the promotion check of spec 000, 6.3, on the table itself.
const isBlocked = `(select count(*) > 0 from outreach.dol_errors where outreach_id = '%' and disposition in ('RETRY', 'PARKED') and archived_at is null)`

// TestAdoptedTable holds every enforcement layer of spec 000, section 12 to a table that
// was there before, by plain SQL: its columns, the archive job, the gate, escalation and
// metrics; while its writers insert, copy, update, delete and truncate as ever. In the end
// nothing is left in it.
func TestAdoptedTable(t *testing.T) {
	tier.Only(t, tier.Adoption)
	t.Parallel()
	owner, nodes := pgtest.Migrated(t)
	ownerSQL(t, owner, dolErrors)
	s := newSite(t, database{Nodes: nodes})
	s.start()
	c := &adopter{T: t, url: owner}
	before := pgtest.DumpSchema(t, owner)
	if out, err := c.command("adopt", "outreach.dol_errors", "--entity", "outreach_id", "--apply", "--yes").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	eventually := func(sql string) {
		t.Helper()
		for try := 0; !c.ask("select " + sql); try++ {
			if try == patience || retry.Sleep(t.Context(), 20*time.Millisecond) != nil {
				t.Fatalf("it is still not so: %s\n%s", sql, s.log.String())
			}
		}
	}
	blocked := func(entity string) string { return strings.ReplaceAll(isBlocked, "%", entity) }

	// Columns: what the policy has decided is in the table.
	eventually("array(select disposition from outreach.dol_errors where archived_at is null order by id) = '{RETRY,PARKED}'")
	// The archive job: what was over is in the archive, for that reason.
	eventually("(select archive_reason = 'TTL_EXPIRED' from outreach.dol_errors_archive where outreach_id = 'CO-old') and (select archived_at is not null from outreach.dol_errors where outreach_id = 'CO-old')")
	// The gate, by the specification's query and by ours.
	eventually(blocked("CO-new") + " and " + blocked("CO-parked") + " and not " + blocked("CO-old"))
	eventually("recoup.is_blocked('CO-new') and recoup.is_blocked('CO-parked') and not recoup.is_blocked('CO-old')")
	// Escalation: after two days in the park it is with the lead.
	eventually("(select escalation_level = 2 and escalated_to = 'dol-filings-lead' from recoup.error where entity_id = 'CO-parked')")
	// Metrics.
	for _, want := range []string{`recoup_errors{state="ESCALATED",table="outreach.dol_errors"} 1`, `recoup_blocking_errors{hub="dol-filings",table="outreach.dol_errors"} 2`} {
		s.until(want, func() reply { return s.ask(http.MethodGet, "/metrics", "") }, func(r reply) bool { return strings.Contains(r.body, want) })
	}

	// Writers go on. From its commit on a row blocks, though nobody has read it yet.
	c.exec("insert into outreach.dol_errors (outreach_id, error_code) values ('CO-4', 'RATE_LIMITED')")
	if !c.ask("select recoup.is_blocked('CO-4') and " + blocked("CO-4")) {
		t.Error("a row does not block from its commit on")
	}
	c.connected(func(conn *pgx.Conn) error {
		lines := strings.Repeat("CO-copied\tDNS_TIMEOUT\n", 700)
		_, err := conn.PgConn().CopyFrom(t.Context(), strings.NewReader(lines), "copy outreach.dol_errors (outreach_id, error_code) from stdin")
		return err
	})
	eventually("(select count(*) = 700 from recoup.error where entity_id = 'CO-copied')")
	c.exec("update outreach.dol_errors set error_code = 'VALIDATION_ERROR' where outreach_id = 'CO-4'")
	eventually("(select disposition = 'PARKED' from outreach.dol_errors where outreach_id = 'CO-4')")
	c.exec("delete from outreach.dol_errors where outreach_id = 'CO-new'")
	eventually("not recoup.is_blocked('CO-new') and (select p.seq is not null from recoup.promote('CO-new', 'outreach') p)")
	c.exec("truncate outreach.dol_errors")
	eventually("not exists (select from recoup.error where table_name = 'outreach.dol_errors' and state <> 'RESOLVED')")

	if leaked := pgtest.Dump(t, owner); strings.Contains(leaked, "swordfish") {
		t.Error("a secret of the source is stored")
	}
	if out, err := c.command("adopt", "release", "outreach.dol_errors", "--yes").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if pgtest.DumpSchema(t, owner) != before {
		t.Error("the definition is not what it was")
	}
	eventually("not exists (select from recoup.adoption)")
}
