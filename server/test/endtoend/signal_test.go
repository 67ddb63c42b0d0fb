package endtoend

import (
	"bufio"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver

	"github.com/recoup-dev/recoup"
)

// TestSignalsUnderLoad ends a node again and again while clients work, in order
// and by force. However it ends, what was acknowledged is there, and nothing is
// there twice; if it is asked to end, it leaves no request without an answer.
func TestSignalsUnderLoad(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s := newSite(t, d)
		s.start()
		var asked atomic.Bool // to end: from then on until the next one runs
		l := newLoad(t, s.client(func(err error) {
			if asked.Load() {
				t.Errorf("a request got no answer: %v", err)
			}
		}))
		l.run()
		rounds := 4
		switch {
		case soaking():
			rounds = 100
		case testing.Short():
			rounds = 2
		}
		for round := range rounds {
			l.await(20 + rand.IntN(100))
			if round%2 == 0 {
				asked.Store(true)
				if err := s.signal(syscall.SIGTERM); err != nil {
					t.Errorf("asked to end, it ended with %v\n%s", err, s.log)
				}
				asked.Store(false)
			} else if err := s.signal(syscall.SIGKILL); err == nil {
				t.Error("killed, it ended without an error")
			}
			s.start()
		}
		l.await(50)
		l.finish()
		l.verify(s, d)
	})
}

// verify compares what was acknowledged with what is there.
func (l *load) verify(s *site, d database) {
	found := map[string][]recoup.Error{}
	states := map[recoup.ID]recoup.State{}
	// What is resolved goes to the archive by itself: listed last, it is missed by
	// neither list, and what both have seen is one.
	for _, list := range []iter.Seq2[recoup.Error, error]{l.Errors.All(l.Context(), recoup.ErrorFilter{}), l.Errors.AllArchived(l.Context(), workTable)} {
		for e, err := range list {
			if err != nil {
				l.Fatal(err)
			}
			if _, seen := states[e.ID]; !seen {
				found[e.EntityID] = append(found[e.EntityID], e)
			}
			states[e.ID] = e.State
		}
	}
	for entity, id := range l.reported {
		if errs := found[entity]; len(errs) != 1 || errs[0].ID != id {
			l.Errorf("%s was acknowledged as %s, and there are %d errors of it: %v", entity, id, len(errs), errs)
		}
	}
	for id := range l.resolved {
		if states[id] != recoup.Resolved && states[id] != recoup.Archived {
			l.Errorf("the success of %s was acknowledged, and it is %s", id, states[id])
		}
	}
	l.verifyEvents(found)
	if err := s.signal(syscall.SIGTERM); err != nil {
		l.T.Error(err)
	}
	l.verifyRows(d, len(found))
	l.Logf("%d errors, %d resolved, %d events, %d promotions", len(l.reported), len(l.resolved), len(l.events), len(l.promoted))
}

// verifyEvents wants one event of each report, and of each event that was sent.
func (l *load) verifyEvents(found map[string][]recoup.Error) {
	events := map[recoup.ID]int{}
	for e, err := range l.Events.All(l.Context(), recoup.EventFilter{}) {
		if err != nil {
			l.Fatal(err)
		}
		events[e.ID]++
	}
	for id := range l.events {
		if events[id] != 1 {
			l.Errorf("the event %s was acknowledged, and is there %d times", id, events[id])
		}
	}
	for entity, errs := range found {
		if _, acknowledged := l.reported[entity]; acknowledged && events[errs[0].ID] != 1 {
			l.Errorf("%s has %d events", entity, events[errs[0].ID])
		}
	}
}

// verifyRows looks into the database for what no list of the API would show.
func (l *load) verifyRows(d database, errs int) {
	driver, source, schema := "sqlite", strings.Replace(d.Owner, "sqlite:", "file:", 1), ""
	if d.Kind == "postgres" {
		driver, source, schema = "pgx", d.Owner, "recoup."
	}
	db, err := sql.Open(driver, source)
	if err != nil {
		l.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	promotions := column(l.T, db, "select entity_id from "+schema+"promotion")
	if len(promotions) != len(l.promoted) {
		l.Errorf("%d promotions were acknowledged, %d are recorded", len(l.promoted), len(promotions))
	}
	for _, entity := range promotions {
		if _, ok := l.promoted[entity]; !ok {
			l.Errorf("%s was promoted, and nobody knows", entity)
		}
	}
	inputs := map[string]int{}
	for _, input := range column(l.T, db, "select input from "+schema+"error_history") {
		inputs[input]++
	}
	if inputs["report"] != errs || inputs["succeed"] != len(l.resolved) {
		l.Errorf("the history of %d errors, %d of them resolved, is %v", errs, len(l.resolved), inputs)
	}
	// Where the answer to a claim was lost, its leases run out, and that is a failure;
	// the history has it from the sweep, or from the claim that came before it.
	events := column(l.T, db, "select count(*) from "+schema+"error_event")
	if want := strconv.Itoa(len(l.events) + errs + inputs["lapse"] + inputs["claim"]); events[0] != want {
		l.Errorf("there are %s events instead of %s: %v", events[0], want, inputs)
	}
}

// TestRequestThatHasBegun sends half of a request, asks the node to end, and sends
// the other half once it takes no more.
func TestRequestThatHasBegun(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s := newSite(t, d)
		s.start()
		conn, err := net.Dial("tcp", *s.address.Load())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		const body = `{"table": "outreach.dol_errors", "entity_id": "E-1", "code": "NETWORK_TIMEOUT"}`
		fmt.Fprintf(conn, "POST /v1/errors HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n"+
			"Content-Length: %d\r\nExpect: 100-continue\r\n\r\n", s.key(), len(body))
		answer := bufio.NewReader(conn)
		if line, err := answer.ReadString('\n'); err != nil || !strings.Contains(line, "100 Continue") {
			t.Fatalf("%q, %v", line, err)
		}
		fmt.Fprint(conn, body[:20])
		if err := s.node.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		for { // until it takes no more
			other, err := net.Dial("tcp", *s.address.Load())
			if errors.Is(err, syscall.ECONNREFUSED) {
				break
			}
			if err == nil {
				_ = other.Close()
			}
		}
		fmt.Fprint(conn, body[20:])
		_, _ = answer.ReadString('\n') // the end of the first answer
		response, err := http.ReadResponse(answer, nil)
		if err != nil {
			t.Fatal(err)
		}
		said, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != http.StatusCreated {
			t.Errorf("%s %s, %v", response.Status, said, err)
		}
		if err := s.wait(); err != nil {
			t.Errorf("it ended with %v", err)
		}
	})
}
