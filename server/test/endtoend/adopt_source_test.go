package endtoend

import (
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/retry"
	"github.com/recoup-dev/recoup/server/internal/adoption/preset/presettest"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/test/tier"
)

// sourced is a node on a database with a table of somebody else's, and a policy that says
// what becomes of its rows.
type sourced struct {
	*site
	owner *adopter
}

// newSourced starts a node, has a policy in force under which outreach.dol_errors keeps of
// its rows what is said, and adopts a table as that.
func newSourced(t *testing.T, ddl, source string, adoption ...string) *sourced {
	t.Helper()
	url, nodes := pgtest.Migrated(t)
	ownerSQL(t, url, ddl)
	s := &sourced{newSite(t, database{Nodes: nodes}), &adopter{T: t, url: url}}
	s.start()
	body := policyOf(t, "2.0.0", "rows leave with their errors", func(text string) string {
		return strings.Replace(text, "\n  outreach.dol_errors:\n", "\n  outreach.dol_errors:\n    source: "+source+"\n", 1)
	})
	if got := s.ask(http.MethodPut, "/v1/policy", body); got.status != http.StatusOK {
		t.Fatalf("%d %s", got.status, got.body)
	}
	if out, err := s.owner.command(append([]string{"adopt"}, append(adoption, "--as", "outreach.dol_errors", "--apply", "--yes")...)...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return s
}

// eventually waits until something is so, by SQL.
func (s *sourced) eventually(sql string) {
	s.Helper()
	for try := 0; !s.owner.ask("select coalesce((" + sql + "), false)"); try++ {
		if try == patience || retry.Sleep(s.Context(), 20*time.Millisecond) != nil {
			s.Fatalf("it is still not so: %s\n%s", sql, s.log.String())
		}
	}
}

// later stops the node and starts it again so much later, by the clock of its database.
func (s *sourced) later(ahead time.Duration) {
	s.Helper()
	if err := s.signal(syscall.SIGTERM); err != nil {
		s.Fatalf("%v\n%s", err, s.log)
	}
	pgtest.ShiftClock(s.T, s.owner.url, ahead)
	s.start()
}

// resolved resolves the error of an entity by hand, and returns its id once it is in the
// archive.
func (s *sourced) resolved(entity string) (id string) {
	s.Helper()
	s.eventually(fmt.Sprintf("select count(*) = 1 from recoup.error where entity_id = '%s'", entity))
	s.owner.query(fmt.Sprintf("select error_id::text from recoup.error where entity_id = '%s'", entity), &id)
	if got := s.ask(http.MethodPost, "/v1/errors/"+id+"/resolve", `{"reason": "done by hand"}`); got.status != http.StatusOK {
		s.Fatalf("%d %s", got.status, got.body)
	}
	s.eventually("exists (select from recoup.error_archive where error_id = '" + id + "')")
	return id
}

// shows wants an answer to hold some things, and another not.
func (s *sourced) shows(got reply, not string, want ...string) {
	s.Helper()
	for _, text := range want {
		if got.status != http.StatusOK || !strings.Contains(got.body, text) || strings.Contains(got.body, not) {
			s.Errorf("got %d %s, want %s and not %s", got.status, got.body, text, not)
		}
	}
}

const (
	sourceTable = `create schema shop; create table shop.failures (id bigint primary key, outreach_id text, error_code text, region text, request jsonb, created_at timestamptz default now());
		insert into shop.failures values (1, 'CO-1', 'VALIDATION_ERROR', 'password=hunter2-swordfish', '{"patient": "has a cold"}'), (2, 'CO-2', 'VALIDATION_ERROR', 'eu', '{}')`
	soonAgain = 11 * time.Minute // after which rows are looked for again
)

// A row whose policy says move leaves its table with its error: its columns are shown
// redacted, decrypted for an admin with a reason, and once it has moved it is there whole.
// One whose error is open stays.
func TestSourceRowsMove(t *testing.T) {
	tier.Only(t, tier.Adoption)
	t.Parallel()
	s := newSourced(t, sourceTable, "{details: [region], encrypted: [request], at_end: move}", "shop.failures", "--entity", "outreach_id")
	id := s.resolved("CO-1")
	at := "/v1/errors/" + id + "/source"
	s.shows(s.ask(http.MethodGet, at, ""), "swordfish", `"region"`, "[redacted:", `"encrypted":true`)
	if got := s.ask(http.MethodPost, at+"/decrypt", `{}`); got.status != http.StatusBadRequest {
		t.Errorf("without a reason: %d %s", got.status, got.body)
	}
	s.shows(s.ask(http.MethodPost, at+"/decrypt", `{"reason": "the customer asked"}`), "swordfish", "has a cold")
	s.later(soonAgain)
	s.eventually("select array_agg(id) = '{2}' from shop.failures")
	s.shows(s.ask(http.MethodGet, at, ""), "swordfish", `"moved":true`)
	s.shows(s.ask(http.MethodPost, at+"/decrypt", `{"reason": "the customer asked"}`), "nothing", "has a cold", `"outreach_id":"CO-1"`)
	s.shows(s.ask(http.MethodGet, "/v1/audit?act=error.source", ""), "nothing", "the customer asked", id)
	if dump := pgtest.Dump(t, s.owner.url); strings.Contains(dump, "swordfish") || strings.Contains(dump, "has a cold") {
		t.Error("a row that has moved is stored in plaintext")
	}
	if !s.owner.ask("select recoup.is_blocked('CO-2') and not recoup.is_blocked('CO-1')") {
		t.Error("the gate does not follow")
	}
}

// A row whose policy says delete stays while its error is in the archive, and goes when
// that is purged.
func TestSourceRowsAreDeleted(t *testing.T) {
	tier.Only(t, tier.Adoption)
	t.Parallel()
	const years = 8 * 365 * 24 * time.Hour // longer than any archive is kept
	s := newSourced(t, sourceTable, "{at_end: delete}", "shop.failures", "--entity", "outreach_id")
	id := s.resolved("CO-1")
	s.later(soonAgain)
	s.eventually("select swept_at > recoup.clock() - interval '5 minutes' from recoup.adoption")
	if !s.owner.ask("select count(*) = 2 from shop.failures") {
		t.Error("a row is gone before its archived error")
	}
	s.later(years)
	s.eventually("not exists (select from recoup.error_archive where error_id = '" + id + "')")
	s.later(years + soonAgain)
	s.eventually("not exists (select from shop.failures where id = 1)")
}

// Jobs of a queue leave it as rows of a table do, once their errors are over; jobs that
// have not failed are nobody's business.
func TestSourceRowsOfAQueueMove(t *testing.T) {
	tier.Only(t, tier.Adoption)
	t.Parallel()
	q := presettest.Queues[0]
	ddl := "create schema shop; " + strings.Replace(q.DDL, "'2026-02-02 08:59Z'", "now()", 1) // it has failed just now
	s := newSourced(t, ddl, "{details: [kind], encrypted: [args], at_end: move}", q.Table, "--preset", q.Preset, "--entity", q.Entity, "--code", "VALIDATION_ERROR")
	id := s.resolved("o2")
	at := "/v1/errors/" + id + "/source"
	s.shows(s.ask(http.MethodGet, at, ""), "o2", `"kind":"charge"`, `"encrypted":true`)
	s.later(soonAgain)
	s.eventually("select array_agg(id) = '{1}' from " + q.Table)
	s.shows(s.ask(http.MethodPost, at+"/decrypt", `{"reason": "the customer asked"}`), "nothing", `"order":"o2"`, `"discarded"`)
}
