package endtoend

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/server/internal/admin"
	"github.com/recoup-dev/recoup/server/internal/test/live"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// siege is a node of the built program, somebody who means it harm, and a neighbour
// with a key of their own. The figures that it prints are those of make hostile;
// what is asserted does not depend on how fast the machine is.
type siege struct {
	*site
	admin              *client.Client
	hostile, neighbour string
	http               *http.Client
	clock              func() time.Time
}

func besiege(t *testing.T, d database, flags ...string) *siege {
	t.Helper()
	s := &siege{site: newSite(t, d), http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}, Timeout: time.Minute}, clock: time.Now}
	s.flags = append([]string{"--log-level", "warn"}, flags...)
	s.start()
	s.admin = s.client(nil)
	s.hostile, s.neighbour = s.made("worker"), s.made("worker")
	t.Cleanup(s.http.CloseIdleConnections)
	return s
}

// made makes a key.
func (s *siege) made(role string) string {
	s.Helper()
	key, err := admin.New(s.admin).Keys.Create(s.Context(), wire.NewKey{Name: "siege", Role: role, Reason: "test"})
	if err != nil {
		s.Fatal(err)
	}
	return key.Secret
}

// request is the text of a request, so that it can be sent by halves.
func request(key, method, path, body string) string {
	return fmt.Sprintf("%s %s HTTP/1.1\r\nHost: recoup\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", method, path, key, len(body), body)
}

// dial opens a connection that lasts as long as the test.
func (s *siege) dial() net.Conn {
	conn, err := net.Dial("tcp", *s.address.Load())
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = conn.Close() })
	return conn
}

// call sends a request with a key and returns its status, its body and how long it
// took.
func (s *siege) call(key, method, path, body string) (int, string, time.Duration) {
	begun := s.clock()
	r, err := http.NewRequestWithContext(s.Context(), method, "http://"+*s.address.Load()+path, strings.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	response, err := s.http.Do(r)
	if err != nil {
		return 0, err.Error(), s.clock().Sub(begun)
	}
	defer func() { _ = response.Body.Close() }()
	text, _ := io.ReadAll(response.Body)
	return response.StatusCode, string(text), s.clock().Sub(begun)
}

// figures are how long calls took.
type figures []time.Duration

func (f figures) at(part float64) time.Duration {
	slices.Sort(f)
	return f[min(int(part*float64(len(f))), len(f)-1)]
}

func (f figures) String() string {
	return fmt.Sprintf("p50 %s, p99 %s of %d", f.at(.5).Round(10*time.Microsecond), f.at(.99).Round(10*time.Microsecond), len(f))
}

// live has the neighbour report, ask the gate and list, all of which must succeed.
func (s *siege) live(calls int) figures {
	s.Helper()
	var took figures
	for i := range calls {
		for _, c := range [][3]string{
			{"POST", "/v1/errors", fmt.Sprintf(`{"table":%q,"entity_id":"N-%d","code":"VALIDATION_ERROR"}`, workTable, i)},
			{"GET", fmt.Sprintf("/v1/promotion/N-%d", i), ""},
			{"GET", "/v1/errors?limit=5", ""},
		} {
			status, text, d := s.call(s.neighbour, c[0], c[1], c[2])
			if status/100 != 2 {
				s.Errorf("the neighbour's %s %s answers %d %s", c[0], c[1], status, text)
			}
			took = append(took, d)
		}
	}
	return took
}

// beside compares how the neighbour lives with how it lived before.
func (s *siege) beside(what string, before, now figures) {
	s.Logf("%-28s alone %v; beside it %v (%.1f times)", what+":", before, now, float64(now.at(.99))/float64(before.at(.99)))
}

// gauge reads a metric.
func (s *siege) gauge(name string) int {
	s.Helper()
	_, text, _ := s.call(s.key(), "GET", "/metrics", "")
	_, after, found := strings.Cut(text, "\n"+name+" ")
	number, _, _ := strings.Cut(after, "\n")
	n, err := strconv.ParseFloat(number, 64)
	if !found || err != nil {
		s.Fatalf("no metric %s: %v in %.200s", name, err, text)
	}
	return int(n)
}

// memory reads a figure of the node's memory, in MiB.
func (s *siege) memory(name string) int {
	s.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.node.Process.Pid))
	if err != nil {
		s.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), name+":")
	kilobytes, err := strconv.Atoi(strings.Fields(after)[0])
	if err != nil {
		s.Fatal(err)
	}
	return kilobytes >> 10
}

// forgetPeak makes VmHWM begin anew.
func (s *siege) forgetPeak() {
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", s.node.Process.Pid), []byte("5"), 0)
}

// some is how many of something are tried: all with RECOUP_SOAK=1.
func some(all, share int) int {
	if soaking() {
		return all
	}
	return share
}

// await returns once something holds.
func (s *siege) await(what string, holds func() bool) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), time.Minute)
	defer cancel()
	for !holds() {
		if ctx.Err() != nil {
			s.Fatalf("in vain: %s", what)
		}
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Bodies that never end hold no slot.
func TestHostileSlowBodies(t *testing.T) {
	t.Parallel()
	s := besiege(t, live.SQLite(t))
	before := s.live(some(100, 10))
	half := request(s.hostile, "POST", "/v1/errors", strings.Repeat(" ", 1000))
	for range some(400, 300) { // more than there are slots
		if _, err := io.WriteString(s.dial(), half[:len(half)-500]); err != nil {
			t.Fatal(err)
		}
	}
	now := s.live(some(100, 10))
	if n := s.gauge("recoup_http_requests_in_flight"); n > 2 { // the scrape, and one that may be ending
		t.Errorf("%d slots are held by bodies that never end", n)
	}
	s.beside("400 slow bodies", before, now)
}

// Answers that are not read hold no slot, and no more memory than a key's share.
func TestHostileSlowReaders(t *testing.T) {
	t.Parallel()
	s := besiege(t, live.SQLite(t))
	message := strings.Repeat("the upstream did not answer ", 30)
	for i := range 5 {
		var reports []string
		for k := range 100 {
			reports = append(reports, fmt.Sprintf(`{"table":%q,"entity_id":"L-%d-%d","code":"VALIDATION_ERROR","message":%q}`, workTable, i, k, message))
		}
		if status, text, _ := s.call(s.hostile, "POST", "/v1/errors/batch", `{"reports":[`+strings.Join(reports, ",")+`]}`); status != http.StatusOK {
			t.Fatal(status, text)
		}
	}
	before := s.live(some(100, 10))
	resident := s.memory("VmRSS")
	list := request(s.hostile, "GET", "/v1/errors?limit=500", "")
	for range some(400, 20) {
		conn := s.dial()
		_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
		if _, err := io.WriteString(conn, strings.Repeat(list, 12)); err != nil { // more than the kernel takes
			t.Fatal(err)
		}
	}
	s.await("slots are held by answers that are not read", func() bool { return s.gauge("recoup_http_requests_in_flight") <= 2 })
	now := s.live(some(100, 10))
	s.beside("slow readers of 500 rows", before, now)
	t.Logf("%-28s from %d to %d MiB", "memory:", resident, s.memory("VmRSS"))
}

// Long polls of one key take a quarter of the places, and others still wait.
func TestHostileLongPolls(t *testing.T) {
	t.Parallel()
	s := besiege(t, live.SQLite(t))
	before := s.live(some(100, 10))
	poll := request(s.hostile, "POST", "/v1/retries/claim", `{"worker":"w","wait_seconds":60,"tables":["`+workTable+`"]}`)
	const share = 1024 // a quarter of 4096
	all := some(4100, share+30)
	refused := make(chan string, all)
	var opened sync.WaitGroup
	for range 20 {
		opened.Go(func() {
			for range all / 20 {
				conn := s.dial()
				_, _ = io.WriteString(conn, poll)
				go func() {
					line, _ := bufio.NewReader(conn).ReadString('\n')
					refused <- line
				}()
			}
		})
	}
	opened.Wait()
	for range all/20*20 - share {
		if line := <-refused; !strings.Contains(line, "429") {
			t.Fatalf("a poll beyond the share is answered %q", line)
		}
	}
	now := s.live(some(100, 10))
	if status, text, _ := s.call(s.neighbour, "POST", "/v1/retries/claim", `{"worker":"n","wait_seconds":1}`); status != http.StatusOK {
		t.Errorf("the neighbour may not wait: %d %s", status, text)
	}
	s.beside(fmt.Sprint(all, " long polls"), before, now)
}
