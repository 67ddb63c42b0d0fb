package app_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/server/internal/app"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/test/live"
)

const dolErrors = "outreach.dol_errors"

// idlers hears from the log of a node that it becomes idle, or awake, and of all that is
// worth a warning.
type idlers struct {
	slog.Handler
	changed chan bool
	warned  chan string
}

func newIdlers() idlers {
	return idlers{slog.DiscardHandler, make(chan bool, 1000), make(chan string, 1000)}
}

func (h idlers) Enabled(context.Context, slog.Level) bool { return true }

func (h idlers) Handle(_ context.Context, r slog.Record) error {
	if r.Level >= slog.LevelWarn {
		h.warned <- r.Message
	}
	if r.Message == "idle" {
		r.Attrs(func(a slog.Attr) bool { h.changed <- a.Value.Bool(); return false })
	}
	return nil
}

// until waits until the node has become idle, or awake.
func (h idlers) until(t *testing.T, idle bool) {
	t.Helper()
	for {
		select {
		case is := <-h.changed:
			if is == idle {
				return
			}
		case <-t.Context().Done():
			t.Fatalf("the node did not become idle=%t", idle)
		}
	}
}

// resting starts a node that is idle soon, and then looks at its database seldom. It is idle
// when this returns.
func resting(t *testing.T, database string, every time.Duration, change ...func(*app.Options)) (*live.Node, idlers) {
	t.Helper()
	h := newIdlers()
	o := app.Options{
		Database: database, Logger: slog.New(h), AdminKeyFile: "off",
		Idle: app.Idle{Every: every, After: 300 * time.Millisecond, Linger: 300 * time.Millisecond},
	}
	for _, c := range change {
		c(&o)
	}
	n := live.Start(t, o)
	h.until(t, true)
	return n, h
}

// asked connects to a database as its superuser, to ask what is not a node's to know.
type asked struct {
	*testing.T
	*pgx.Conn
}

func ask(t *testing.T, url string) asked {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), superuser(url))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return asked{t, conn}
}

func (a asked) text(sql string) (text string) {
	a.Helper()
	if err := a.QueryRow(a.Context(), sql).Scan(&text); err != nil {
		a.Fatalf("%s: %v", sql, err)
	}
	return text
}

// by waits until a question is answered with yes.
func (a asked) by(what string) {
	a.Helper()
	if err := a.QueryRow(a.Context(), "select true").Scan(new(bool)); err != nil {
		a.Fatal(err)
	}
	for range 600 {
		if a.text("select ("+what+")::text from pg_sleep(0.05)") == "true" {
			return
		}
	}
	a.Fatalf("half a minute later it is not so that %s", what)
}

// quiet is the last statement that the sessions of nodes have run in this database.
const quiet = `select count(*) || ' sessions, last used ' || coalesce(max(state_change)::text, 'never') from pg_stat_activity
	where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'`

// An idle node runs no transaction until it looks again.
func TestIdleNodeRunsNoTransaction(t *testing.T) {
	t.Parallel()
	_, url := pgtest.Migrated(t)
	resting(t, url, time.Hour)
	a := ask(t, url)
	before, after := "", a.text(quiet)
	for range 10 { // what was running as it fell asleep ends
		if before = after; a.text("select pg_sleep(3)::text") == "" {
			if after = a.text(quiet); after == before {
				return
			}
		}
	}
	t.Errorf("an idle node has used its sessions in each of ten periods of three seconds: %s, then %s", before, after)
}

// Events that the ledger could not take are due until they are delivered.
func TestLateEventsWakeIdleNode(t *testing.T) {
	t.Parallel()
	_, url := pgtest.Migrated(t)
	_, h := resting(t, url, 2*time.Second)
	execute(t, superuser(url), "insert into recoup.event_late (event_id, code, correlation_id, service, ts) values (gen_random_uuid(), 'TIMEOUT', gen_random_uuid(), 'late', now())")
	h.until(t, false)
	ask(t, url).by("select not exists (select from recoup.event_late) and exists (select from recoup.error_event where service = 'late')")
}

// What plain SQL writes wakes an idle node, which looks once an hour.
func TestPlainSQLWakesIdleNode(t *testing.T) {
	t.Parallel()
	_, url := pgtest.Migrated(t)
	resting(t, url, time.Hour)
	execute(t, url, "insert into outreach.dol_errors (outreach_id, code) values ('e1', 'NETWORK_TIMEOUT')")
	ask(t, url).by("select policy_version is not null from recoup.error where entity_id = 'e1'")
}

// A request at another node wakes an idle node, and so does a policy that plain SQL has put
// in force, which then holds there.
func TestOtherNodesWakeIdleNode(t *testing.T) {
	t.Parallel()
	_, url := pgtest.Migrated(t)
	n, h := resting(t, url, time.Hour, func(o *app.Options) { o.AdminKeyFile = "" })
	other := live.Start(t, app.Options{Database: url, AdminKeyFile: "off"})
	_, err := other.As(client.Options{Key: n.Key}).Codes.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	h.until(t, false)
	other.Stop()
	h.until(t, true)
	execute(t, superuser(url), `insert into recoup.policy_version (number, version, hash, added_at, added_by, reason, text)
		select number + 1, '2031-changed', decode(md5('1') || md5('2'), 'hex'), now(), 'ada', 'test',
		  regexp_replace(text, '(?m)^version: .*$', 'version: 2031-changed') from recoup.policy_version order by number desc limit 1`)
	h.until(t, false)
}

// What is due wakes an idle node at its time: here an escalation, and the end of a TTL.
func TestDeadlinesWakeIdleNode(t *testing.T) {
	t.Parallel()
	_, url := pgtest.Migrated(t)
	text := strings.NewReplacer("lasts: 30d", "lasts: 8s", "after: 48h, review_within: 8h", "after: 4s, review_within: 1h", "expiry_notice: 24h", "expiry_notice: 1s").Replace(string(policy.DefaultFile()))
	file := filepath.Join(t.TempDir(), "brief.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	n, h := resting(t, url, time.Hour, func(o *app.Options) { o.Policy, o.AdminKeyFile = file, "" })
	out, err := n.Client().Report(t.Context(), recoup.Report{Table: dolErrors, EntityID: "e1", Code: "DUPLICATE_COMPANY"})
	if err != nil {
		t.Fatal(err)
	}
	h.until(t, true)
	a := ask(t, url)
	id := out.Error.ID.String()
	a.by("select exists (select from recoup.transition where error_id = '" + id + "' and input = 'escalate')")
	a.by("select exists (select from recoup.error_archive where error_id = '" + id + "')")
}

// A serverless database that suspends ends the sessions of a node. An idle node does not
// wake it for that: it connects with its next look, listens again, and logs nothing.
func TestSuspendedDatabaseIsLeftAlone(t *testing.T) {
	t.Parallel()
	_, url := pgtest.Migrated(t)
	_, h := resting(t, url, 15*time.Second)
	a := ask(t, url)
	a.text("select pg_sleep(1)::text")
	for len(h.warned) > 0 {
		<-h.warned
	}
	a.text(`select count(pg_terminate_backend(pid))::text from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'`)
	a.text("select pg_sleep(2)::text")
	if got := a.text(quiet); !strings.HasPrefix(got, "0 sessions") {
		t.Errorf("two seconds after its sessions have ended: %s", got)
	}
	a.by("select count(*) = 1 from pg_stat_activity where datname = current_database() and query = 'listen recoup'")
	execute(t, url, "insert into outreach.dol_errors (outreach_id, code) values ('e1', 'NETWORK_TIMEOUT')")
	a.by("select policy_version is not null from recoup.error where entity_id = 'e1'")
	for len(h.warned) > 0 {
		t.Errorf("logged: %s", <-h.warned)
	}
}
