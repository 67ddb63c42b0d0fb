package endtoend

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/retry"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/test/live"
)

// reply is what a node has answered.
type reply struct {
	status int
	again  string // Retry-After
	code   string // of an error
	body   string
}

// ask sends a request to the node that runs at the site.
func (s *site) ask(method, path, body string) reply {
	s.Helper()
	return s.prefer("", method, path, body)
}

// prefer is ask with a preference of the caller.
func (s *site) prefer(way, method, path, body string) reply {
	s.Helper()
	request, err := http.NewRequestWithContext(s.Context(), method, "http://"+*s.address.Load()+path, strings.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+s.key())
	request.Header.Set("Content-Type", "application/json")
	if way != "" {
		request.Header.Set("Prefer", way)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		s.Fatalf("%s %s: %v", method, path, err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		s.Fatalf("%s %s: %v", method, path, err)
	}
	var said struct {
		Code string `json:"error_code"`
	}
	_ = json.Unmarshal(text, &said) // what is no error has none
	return reply{response.StatusCode, response.Header.Get("Retry-After"), said.Code, string(text)}
}

// report reports a failure of an entity.
func (s *site) report(entity string) reply {
	return s.ask(http.MethodPost, "/v1/errors", fmt.Sprintf(`{"table": %q, "entity_id": %q, "code": "NETWORK_TIMEOUT"}`, workTable, entity))
}

// fails wants an answer that says who is at fault, and when to come back.
func (s *site) fails(what string, got reply, status int, codes ...string) {
	s.Helper()
	known := false
	for _, code := range codes {
		known = known || got.code == code
	}
	if got.status != status || !known || got.again == "" {
		s.Errorf("%s is answered with %d, Retry-After %q: %s", what, got.status, got.again, got.body)
	}
}

// until asks again and again until the answer is as wanted.
func (s *site) until(what string, ask func() reply, wanted func(reply) bool) {
	s.Helper()
	for try := 0; ; try++ {
		got := ask()
		if wanted(got) {
			return
		}
		if try == patience || retry.Sleep(s.Context(), 5*time.Millisecond) != nil {
			log := s.log.String()
			s.Fatalf("%s: still %d %s; the node said at last\n%s", what, got.status, got.body, log[max(0, len(log)-4000):])
		}
	}
}

func (s *site) ready() reply { return s.ask(http.MethodGet, "/readyz", "") }

func serves(r reply) bool { return r.status == http.StatusOK }

// heals wants a node that serves again by itself, and an event there that was
// answered 202 meanwhile.
func (s *site) heals(event string) {
	s.Helper()
	s.until("not ready although all is well again", s.ready, serves)
	s.until("reports fail although all is well again", func() reply { return s.report("AFTER") }, func(r reply) bool { return r.status < 300 })
	s.until("an event that was answered 202 is not there", func() reply {
		return s.ask(http.MethodGet, "/v1/events?service=waits", "")
	}, func(r reply) bool { return strings.Contains(r.body, event) })
}

// accepts has an event accepted that cannot be written yet.
func (s *site) accepts(event string) {
	s.Helper()
	if got := s.ask(http.MethodPost, "/v1/events", `{"events": [{"event_id": "`+event+`", "code": "NETWORK_TIMEOUT", "service": "waits"}]}`); got.status != http.StatusAccepted {
		s.Fatalf("the event is answered with %d: %s", got.status, got.body)
	}
}

// syncEvent sends an event and asks for the answer once it is durable.
func (s *site) syncEvent(event string) reply {
	s.Helper()
	return s.prefer("respond-sync", http.MethodPost, "/v1/events", `{"events": [{"event_id": "`+event+`", "code": "NETWORK_TIMEOUT", "service": "waits"}]}`)
}

// eventID returns the id of an event of now.
func eventID(l *load) string { return l.ids.New(l.now()).String() }

// A grant that is taken from the role of a node is the node's trouble: it is not
// ready, and neither a report nor an event is refused for good.
func TestLostGrant(t *testing.T) {
	t.Parallel()
	owner, nodes := pgtest.Migrated(t)
	s := newSite(t, database{Kind: "postgres", Owner: owner, Nodes: nodes})
	s.start()
	event := eventID(newLoad(t, nil))
	ownerSQL(t, owner, "revoke insert on recoup.error, recoup.error_event from recoup_app; revoke execute on function recoup.ensure_event_partitions from recoup_app")
	ownerSQL(t, owner, eachMonth("revoke insert on recoup.%I from recoup_app")) // which ensure_event_partitions would grant again
	s.fails("a report", s.report("E-1"), http.StatusServiceUnavailable, "TEMPORARY_UNAVAILABLE")
	s.fails("/readyz", s.ready(), http.StatusServiceUnavailable, "TEMPORARY_UNAVAILABLE")
	s.accepts(event)
	s.fails("a synchronous event", s.syncEvent(event), http.StatusServiceUnavailable, "TEMPORARY_UNAVAILABLE")
	if log := s.log.String(); !strings.Contains(log, "ledger cannot write") || !strings.Contains(log, "permission denied for function ensure_event_partitions") {
		t.Errorf("the log does not say why events cannot be written:\n%s", log)
	}
	s.until("the log does not say what is lost", s.ready, func(reply) bool { return strings.Contains(s.log.String(), "has lost: insert on relation") })
	ownerSQL(t, owner, "grant insert on recoup.error, recoup.error_event to recoup_app; grant execute on function recoup.ensure_event_partitions to recoup_app")
	s.heals(event)
}

// A session that the server ends in the middle of a transaction is 503.
func TestDatabaseDiesInATransaction(t *testing.T) {
	t.Parallel()
	owner, nodes := pgtest.Migrated(t)
	s := newSite(t, database{Kind: "postgres", Owner: owner, Nodes: nodes})
	s.start()
	ownerSQL(t, owner, `
		create function recoup.die() returns trigger language plpgsql as
			$$begin if new.entity_id like 'DIES%' then perform pg_terminate_backend(pg_backend_pid()); end if; return new; end$$;
		grant execute on function recoup.die() to recoup_app;
		create trigger die before insert on recoup.error for each row execute function recoup.die()`)
	s.fails("a report", s.report("DIES"), http.StatusServiceUnavailable, "OUTCOME_UNKNOWN", "DATABASE_CONNECTION_ERROR")
	if got := s.report("LIVES"); got.status >= 300 {
		t.Errorf("the next report is answered with %d: %s", got.status, got.body)
	}
}

// A disk that is full is 507, and nothing is lost by it.
func TestFullDisk(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s := newSite(t, d)
		s.start()
		event := eventID(newLoad(t, nil))
		fill, free := s.disk(d)
		fill()
		s.fails("a report", s.report("E-1"), http.StatusInsufficientStorage, "STORAGE_FULL")
		s.fails("/readyz", s.ready(), http.StatusInsufficientStorage, "STORAGE_FULL")
		s.accepts(event)
		s.fails("a synchronous event", s.syncEvent(event), http.StatusInsufficientStorage, "STORAGE_FULL")
		free()
		s.heals(event)
	})
}

// disk returns how to fill the disk under a database, and how to make room again.
// A file's limit is as good as a full disk; that of another user's server cannot
// be set, so there a trigger says what the server would.
func (s *site) disk(d database) (fill, free func()) {
	if d.Kind == "sqlite" {
		return func() { limitFiles(s.T, s.node.Process.Pid, 4096) }, func() { limitFiles(s.T, s.node.Process.Pid, unlimited) }
	}
	return func() {
			ownerSQL(s.T, d.Owner, `
			create function recoup.full() returns trigger language plpgsql as
				$$begin raise exception 'could not extend file: No space left on device' using errcode = '53100'; end$$;
			grant execute on function recoup.full() to recoup_app;
			create trigger a_full before insert on recoup.error for each statement execute function recoup.full();
			create trigger a_full before insert on recoup.error_event for each statement execute function recoup.full();
			create trigger a_full before insert on recoup.event_drop for each statement execute function recoup.full()`)
			ownerSQL(s.T, d.Owner, eachMonth("create trigger a_full before insert on recoup.%I for each statement execute function recoup.full()"))
		}, func() {
			ownerSQL(s.T, d.Owner, "drop function recoup.full() cascade")
		}
}

// eachMonth is SQL that runs a statement for each month of the ledger, to which nodes write directly.
func eachMonth(statement string) string {
	return "do $$ declare name text; begin for name in select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = 'recoup.error_event'::regclass loop execute format('" + statement + "', name); end loop; end $$"
}

// A file that is taken from a running node is missed at once, and one that is put
// in its place is not taken for it.
func TestDatabaseFileGone(t *testing.T) {
	t.Parallel()
	s := newSite(t, live.SQLite(t))
	path := strings.TrimPrefix(s.database, "sqlite:")
	s.start()
	move := func(from, to string) {
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.report("BEFORE"); got.status >= 300 {
		t.Fatal(got.body)
	}
	for _, row := range []struct {
		take, give func()
		said       string
	}{
		{func() { move(path, path+".old") }, func() { move(path+".old", path) }, "was removed or renamed"},
		{func() { move(path+"-wal", path+".log") }, func() { move(path+".log", path+"-wal") }, "-wal was removed or renamed"},
		{func() { move(path, path+".old"); copyFile(t, path+".old", path) }, func() { move(path+".old", path) }, "was replaced by another file"},
	} {
		row.take()
		s.fails("a report", s.report("E-1"), http.StatusServiceUnavailable, string(fault.CodeTemporaryUnavailable))
		s.fails("/readyz", s.ready(), http.StatusServiceUnavailable, string(fault.CodeTemporaryUnavailable))
		s.until("the log does not say it", s.ready, func(reply) bool { return strings.Contains(s.log.String(), row.said) })
		row.give()
		s.until("not ready with its file", s.ready, serves)
	}
	if got := s.report("AFTER"); got.status >= 300 {
		t.Errorf("with its file back: %s", got.body)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	content, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, content, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
