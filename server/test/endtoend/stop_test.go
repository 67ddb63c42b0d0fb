package endtoend

import (
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/retry"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/test/faultproxy"
	"github.com/recoup-dev/recoup/server/internal/test/live"
)

// TestStopWithoutDatabase stops a node whose database does not answer, or has gone, when
// the node signs off. Everything acknowledged is stored: the exit status is 0.
func TestStopWithoutDatabase(t *testing.T) {
	t.Parallel()
	for name, harm := range map[string]func(*faultproxy.Proxy){
		"stalled":      func(p *faultproxy.Proxy) { p.Stall(faultproxy.Both) },
		"mute":         func(p *faultproxy.Proxy) { p.Stall(faultproxy.Answers) },
		"away":         (*faultproxy.Proxy).Cut,
		"disconnected": (*faultproxy.Proxy).Drop,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, proxy := stoppable(t)
			if got := s.report("E-1"); got.status != http.StatusCreated {
				t.Fatalf("%d %s", got.status, got.body)
			}
			harm(proxy)
			s.ends(0)
		})
	}
}

// TestStopWithLockedFile stops a node on SQLite while another process holds the lock for
// writing: the node cannot sign off, and the exit status is 0.
func TestStopWithLockedFile(t *testing.T) {
	t.Parallel()
	d := live.SQLite(t)
	s := newSite(t, d)
	s.flags = []string{"--grace", "1s"}
	s.start()
	s.report("E-1")
	db, err := sql.Open("sqlite", "file:"+strings.TrimPrefix(d.Owner, "sqlite:")+"?_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	locker, err := db.Conn(t.Context())
	if err == nil {
		_, err = locker.ExecContext(t.Context(), "begin immediate")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = locker.Close() }()
	s.ends(0)
}

// TestStopLosesAcceptedEvents stops a node that has accepted events and cannot write them.
// The exit status is 1, and the message says how many events are lost.
func TestStopLosesAcceptedEvents(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		address, hinder := d.Nodes, func(s *site) { limitFiles(t, s.node.Process.Pid, 4096) }
		if d.Kind == "postgres" {
			through, proxy := faultproxy.Postgres(t, d.Nodes)
			address, hinder = through, func(*site) { proxy.Cut() }
		}
		s := newSite(t, database{Kind: d.Kind, Owner: d.Owner, Nodes: address})
		s.flags = []string{"--grace", "1s"}
		s.start()
		s.report("E-1") // with the key, which the node remembers
		event := eventID(newLoad(t, nil))
		hinder(s)
		s.accepts(event)
		s.ends(1)
		if !strings.Contains(s.log.String(), "closed with 1 event") {
			t.Errorf("the message does not say what is lost:\n%s", tail(s.log.String()))
		}
	})
}

// TestStopWritesAcceptedEvents stops a node while its database stalls. The database answers
// again within the grace: the accepted event is stored, and the exit status is 0.
func TestStopWritesAcceptedEvents(t *testing.T) {
	t.Parallel()
	s, proxy := stoppable(t)
	s.flags = nil // the grace is the default
	s.report("E-1")
	event := eventID(newLoad(t, nil))
	proxy.Stall(faultproxy.Both)
	s.accepts(event)
	s.send(syscall.SIGTERM)
	s.logs("stopping")
	proxy.Heal()
	if err := s.wait(); err != nil {
		t.Fatalf("ended with %v\n%s", err, tail(s.log.String()))
	}
	s.start()
	if got := s.ask(http.MethodGet, "/v1/events?service=waits", ""); !strings.Contains(got.body, event) {
		t.Errorf("the event is not stored: %d %s", got.status, got.body)
	}
}

// TestStopWithOpenRequests stops a node that has a long poll, a stream, and a request whose
// body never ends. The first two get their end, the last is cut off after the grace.
func TestStopWithOpenRequests(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s := newSite(t, d)
		s.flags = []string{"--grace", "1s"}
		s.start()
		const claim = `{"worker": "w", "wait_seconds": 60}`
		poll := s.begin("/v1/retries/claim", len(claim), claim)
		stream := s.listen(t.Context(), s.key()) // its connection is accepted after that of the poll
		s.begin("/v1/errors", 1000, "{")
		s.ends(0)
		if got, _ := io.ReadAll(poll); !strings.HasPrefix(string(got), "HTTP/1.1 200 OK") {
			t.Errorf("the long poll is answered with %q", got)
		}
		<-stream.ended
		if !strings.Contains(s.log.String(), "requests were cut off") {
			t.Errorf("the log does not say that a request was cut off:\n%s", tail(s.log.String()))
		}
	})
}

// TestStopTwice sends a second SIGTERM to a node that waits for a request: the request is
// cut off at once, however long the grace is.
func TestStopTwice(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s := newSite(t, d)
		s.flags = []string{"--grace", "24h"}
		s.start()
		s.begin("/v1/errors", 1000, "{")
		s.send(syscall.SIGTERM)
		s.logs("stopping")
		s.ends(0)
	})
}

// TestStopWhileStarting stops a node whose database does not answer its first question.
func TestStopWhileStarting(t *testing.T) {
	t.Parallel()
	through, proxy := faultproxy.Postgres(t, pgtest.New(t))
	proxy.Stall(faultproxy.Both)
	s := newSite(t, database{Kind: "postgres", Nodes: through})
	s.launch()
	if err := proxy.AwaitHeld(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.ends(0)
	s.logs("Stopped while starting")
}

// TestStopWhileMigrating stops a node in the middle of its first migration. The migration
// is rolled back, and the next node applies it.
func TestStopWhileMigrating(t *testing.T) {
	t.Parallel()
	owner := pgtest.New(t)
	db, err := sql.Open("pgx", owner)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	blocker, err := db.BeginTx(t.Context(), nil)
	if err == nil {
		_, err = blocker.ExecContext(t.Context(), "create schema recoup")
	}
	if err != nil {
		t.Fatal(err)
	}
	s := newSite(t, database{Kind: "postgres", Nodes: owner})
	s.launch()
	s.eventually("the migration waits for the schema", func() bool {
		return column(t, db, "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'")[0] != "0"
	})
	s.ends(0)
	if err := blocker.Rollback(); err != nil {
		t.Fatal(err)
	}
	s.start()
	s.ends(0)
}

// stoppable starts a node with a short grace behind a proxy of its database.
func stoppable(t *testing.T) (*site, *faultproxy.Proxy) {
	t.Helper()
	owner, nodes := pgtest.Migrated(t)
	through, proxy := faultproxy.Postgres(t, nodes)
	s := newSite(t, database{Kind: "postgres", Owner: owner, Nodes: through})
	s.flags = []string{"--grace", "1s"}
	s.start()
	return s, proxy
}

// ends sends SIGTERM and wants an exit status.
func (s *site) ends(status int) {
	s.Helper()
	got := 0
	if exited := (*exec.ExitError)(nil); errors.As(s.signal(syscall.SIGTERM), &exited) {
		got = exited.ExitCode()
	}
	if got != status {
		s.Errorf("the exit status is %d instead of %d\n%s", got, status, tail(s.log.String()))
	}
}

// send sends a signal and does not wait.
func (s *site) send(sig syscall.Signal) {
	s.Helper()
	if err := s.node.Process.Signal(sig); err != nil {
		s.Fatal(err)
	}
}

// logs returns once the node has logged a text.
func (s *site) logs(text string) {
	s.Helper()
	s.eventually(text, func() bool { return strings.Contains(s.log.String(), text) })
}

// eventually returns once something holds.
func (s *site) eventually(what string, holds func() bool) {
	s.Helper()
	for try := 0; !holds(); try++ {
		if try == patience || retry.Sleep(s.Context(), 5*time.Millisecond) != nil {
			s.Fatalf("in vain: %s\n%s", what, tail(s.log.String()))
		}
	}
}

// begin sends the head of a request, and what there is of its body.
func (s *site) begin(path string, length int, body string) net.Conn {
	s.Helper()
	conn, err := net.Dial("tcp", *s.address.Load())
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = conn.Close() })
	fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n"+
		"Content-Length: %d\r\nExpect: 100-continue\r\n\r\n", path, s.key(), length)
	const proceed = "HTTP/1.1 100 Continue\r\n\r\n"
	if _, err := io.ReadFull(conn, make([]byte, len(proceed))); err != nil { // the node waits for the body
		s.Fatal(err)
	}
	fmt.Fprint(conn, body)
	return conn
}
