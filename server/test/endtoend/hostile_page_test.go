package endtoend

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/server/internal/test/live"
)

// hammer sends a request over and over on several connections, until it is stopped or has sent
// so many. It calls hot once there were as many answers as connections, and returns how many had
// which status.
func (s *siege) hammer(ctx context.Context, connections, requests int, text func(i int) string, hot func()) *[6]atomic.Int64 {
	var answers [6]atomic.Int64 // by the first digit of the status
	var sent, answered atomic.Int64
	var all sync.WaitGroup
	for range connections {
		all.Go(func() {
			conn, err := net.Dial("tcp", *s.address.Load())
			if err != nil {
				return
			}
			defer func() { _ = conn.Close() }()
			defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
			in := bufio.NewReader(conn)
			for ctx.Err() == nil {
				i := int(sent.Add(1))
				if i > requests {
					return
				}
				if _, err := io.WriteString(conn, text(i)); err != nil {
					return
				}
				answer, err := http.ReadResponse(in, nil)
				if err != nil {
					return
				}
				_, _ = io.Copy(io.Discard, answer.Body)
				answers[answer.StatusCode/100%6].Add(1)
				if answered.Add(1) == int64(connections) {
					hot()
				}
			}
		})
	}
	all.Wait()
	return &answers
}

// during returns the answers to a hammer that is hot for as long as a function runs.
func (s *siege) during(connections, requests int, text func(i int) string, do func()) *[6]atomic.Int64 {
	ctx, stop := context.WithCancel(s.Context())
	done, hot := make(chan *[6]atomic.Int64, 1), make(chan struct{})
	go func() { done <- s.hammer(ctx, connections, requests, text, func() { close(hot) }) }()
	<-hot
	do()
	stop()
	return <-done
}

// gate has the neighbour ask the gate, which must answer each time.
func (s *siege) gate(calls int) (took figures) {
	s.Helper()
	for i := range calls {
		status, text, d := s.call(s.neighbour, "GET", fmt.Sprintf("/v1/promotion/N-%d", i), "")
		if status != http.StatusOK {
			s.Errorf("the gate answers %d %s", status, text)
		}
		took = append(took, d)
	}
	return took
}

func plainGet(path string, headers ...string) string {
	return "GET " + path + " HTTP/1.1\r\nHost: recoup\r\n" + strings.Join(append(headers, "\r\n"), "\r\n")
}

// TestHostilePages hammers what needs no key on 32 connections, while a neighbour asks the gate.
// Pages are rendered once, requests without a key never have more than their slots, and no call
// with a key is refused. The figures are printed and not asserted.
func TestHostilePages(t *testing.T) {
	t.Parallel()
	for name, database := range map[string]func(testing.TB) live.Database{"sqlite": live.SQLite, "postgres": live.Postgres} {
		t.Run(name, func(t *testing.T) {
			s := besiege(t, database(t))
			s.gate(1) // the key is known
			before := s.gate(some(2000, 200))
			for what, text := range map[string]func(int) string{
				"/docs": func(int) string { return plainGet("/docs") },
				"/docs of any host": func(i int) string {
					return strings.Replace(plainGet("/docs"), "recoup", fmt.Sprintf("h%d.example", i), 1)
				},
				"/docs?q=":        func(i int) string { return plainGet(fmt.Sprint("/docs?q=", i)) },
				"/errors/TIMEOUT": func(int) string { return plainGet("/errors/TIMEOUT") },
				"/openapi.json":   func(int) string { return plainGet("/openapi.json") },
				"sign-in page":    func(int) string { return plainGet("/console/sign-in") },
				"made-up cookies": func(i int) string { return plainGet("/console/errors", fmt.Sprint("Cookie: recoup_session=", i)) },
				"made-up keys":    func(i int) string { return plainGet("/v1/errors", fmt.Sprintf("Authorization: Bearer rdb_%032d", i)) },
			} {
				var now figures
				answers := s.during(32, some(100_000, 10_000), text, func() {
					now = s.gate(some(2000, 200))
					for _, path := range []string{"/healthz", "/readyz"} {
						if status, said, _ := s.call("", "GET", path, ""); status != http.StatusOK {
							t.Errorf("beside %s, %s answers %d %s", what, path, status, said)
						}
					}
				})
				s.beside("32 connections on "+what, before, now)
				t.Logf("%-28s %d answered, %d redirected, %d refused, %d overloaded", "", answers[2].Load(), answers[3].Load(), answers[4].Load(), answers[5].Load())
			}
			if most, slots := s.gauge("recoup_http_anonymous_in_flight_max"), s.gauge("recoup_http_anonymous_slots"); most > slots || slots == 0 {
				t.Errorf("%d requests without a key were served at once, and may have %d slots", most, slots)
			}
		})
	}
}

// TestPagesAreRenderedOnce proves that pages without a key come from memory: whoever asks for
// them, and however often.
func TestPagesAreRenderedOnce(t *testing.T) {
	t.Parallel()
	s := besiege(t, live.SQLite(t), "--rate-without-key", "100000")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, path := range []string{"/docs", "/docs/errors", "/errors", "/errors/TIMEOUT", "/openapi.json"} {
		before := s.gauge("recoup_http_pages_rendered_total")
		answers := s.hammer(ctx, 32, 320, func(int) string { return plainGet(path) }, func() {})
		if answers[2].Load() == 0 || answers[5].Load() > 0 {
			t.Errorf("%s is answered %d times, and is overloaded %d times", path, answers[2].Load(), answers[5].Load())
		}
		if n := s.gauge("recoup_http_pages_rendered_total") - before; n != 1 {
			t.Errorf("%s was rendered %d times", path, n)
		}
	}
}
