package endtoend

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/server/internal/bus/bustest"
	"github.com/recoup-dev/recoup/server/internal/test/faultproxy"
	"github.com/recoup-dev/recoup/server/internal/test/live"
	measured "github.com/recoup-dev/recoup/server/test/load"
	"github.com/recoup-dev/recoup/server/test/program"
)

// benchResult is what these tests read of a result.
type benchResult struct {
	Run         recoup.ID        `json:"run"`
	Tag         string           `json:"tag"`
	Interrupted bool             `json:"interrupted"`
	Prepared    int              `json:"prepared"`
	Load        measured.Figures `json:"load"`
	Cleanup     *struct{ Resolved, Archived, Refused int }
}

// of are the figures of an operation.
func (r *benchResult) of(t *testing.T, kind string) measured.Kind {
	t.Helper()
	for _, k := range r.Load.Kinds {
		if k.Kind == kind {
			return k
		}
	}
	t.Fatalf("the result has no %s: %+v", kind, r.Load.Kinds)
	return measured.Kind{}
}

// bench is recoup-bench against a site, or what stands before it.
type bench struct {
	*testing.T
	*exec.Cmd
	out     bytes.Buffer
	file    string
	seconds *secondHand
}

func newBench(s *site, address string, flags ...string) *bench {
	s.Helper()
	b := &bench{T: s.T, file: filepath.Join(s.TempDir(), "result.json"), seconds: newSecondHand()}
	b.Cmd = exec.Command(program.Bench(s.T), append([]string{"--server", "http://" + address, "--out", b.file}, flags...)...)
	b.Env = append(os.Environ(), "RECOUP_KEY="+s.key(), "RECOUP_SERVER=http://127.0.0.1:9")
	b.Stdout, b.Stderr = &b.out, b.seconds
	return b
}

// result waits for the end of the benchmark, and reads its file.
func (b *bench) result(status int) (r benchResult) {
	b.Helper()
	_ = b.Wait()
	b.seconds.end()
	if got := b.ProcessState.ExitCode(); got != status {
		b.Fatalf("the benchmark ends with %d: %s%s", got, &b.out, b.seconds)
	}
	data, err := os.ReadFile(b.file)
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	if err != nil {
		b.Fatal(err)
	}
	a := r.Load.All
	if r.Load.Planned != a.Sent+a.Skipped+r.Load.Unsent || a.Sent != a.Done+a.Failed+a.Dropped {
		b.Errorf("the figures do not add up: %+v", r.Load)
	}
	return r
}

// secondHand reads the lines that a benchmark prints as it goes: 3s: 150 sent, …
type secondHand struct {
	mu      sync.Mutex
	text    string
	seen    int
	changed chan struct{}
	over    bool
}

var progress = regexp.MustCompile(`(?m)^(\d+)s: \d+ sent, .*\n`)

func newSecondHand() *secondHand { return &secondHand{changed: make(chan struct{})} }

func (h *secondHand) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.text += string(p)
	for _, m := range progress.FindAllStringSubmatch(h.text, -1) {
		h.seen, _ = strconv.Atoi(m[1])
	}
	close(h.changed)
	h.changed = make(chan struct{})
	return len(p), nil
}

func (h *secondHand) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.over = true
	close(h.changed)
}

func (h *secondHand) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text
}

// await returns once the benchmark has gone on for so many seconds by its own clock.
func (h *secondHand) await(t *testing.T, seconds int) {
	t.Helper()
	for {
		h.mu.Lock()
		seen, changed := h.seen, h.changed
		h.mu.Unlock()
		if seen >= seconds {
			return
		}
		select {
		case <-changed:
		case <-t.Context().Done():
			t.Fatalf("the benchmark says only %s", h)
		}
	}
}

// What a benchmark says that it has done is what the server has, and nothing of it is
// left open.
func TestBenchCountsWhatTheServerHas(t *testing.T) {
	onEither(t, func(t *testing.T, d database) {
		s := newSite(t, d)
		s.start()
		b := newBench(s, *s.address.Load(), "--table", workTable, "--rate", "60", "--duration", "3s", "--batch", "3")
		if err := b.Start(); err != nil {
			t.Fatal(err)
		}
		r := b.result(0)
		reports, letters, events, acks := r.of(t, "report"), r.of(t, "dead-letter"), r.of(t, "events"), r.of(t, "ack")
		if r.Load.All.Sent == 0 || r.of(t, "gate").Done == 0 || r.of(t, "claim").Items == 0 || acks.Items == 0 {
			t.Errorf("something was not done: %+v", r.Load.Kinds)
		}
		c := s.client(nil)
		if got := countErrors(t, c, r.Tag); got.open != 0 || got.all != reports.Done+r.Prepared || got.resolved != got.all {
			t.Errorf("of %d reports and %d beforehand the server has %+v", reports.Done, r.Prepared, got)
		}
		if got := r.Cleanup.Resolved + acks.Items; got != reports.Done+r.Prepared || r.Cleanup.Refused != 0 {
			t.Errorf("%d acknowledged and %d resolved, of %d reports and %d beforehand", acks.Items, r.Cleanup.Resolved, reports.Done, r.Prepared)
		}
		groups, err := c.DeadLetterGroups.List(t.Context(), client.DeadLetterGroupFilter{Pipeline: "bench"}, client.Page{})
		if err != nil || len(groups.Groups) != 1 || groups.Groups[0].Total != int64(letters.Done) || groups.Groups[0].Open != 0 || r.Cleanup.Archived != letters.Done {
			t.Errorf("%d dead letters, of which %d archived; the server has %+v, %v", letters.Done, r.Cleanup.Archived, groups.Groups, err)
		}
		n := 0
		for _, err := range c.Events.All(t.Context(), recoup.EventFilter{CorrelationID: r.Run}) {
			if n++; err != nil {
				t.Fatal(err)
			}
		}
		if want := events.Items + reports.Done + r.Prepared; n != want || events.Items != 3*events.Done {
			t.Errorf("the ledger has %d events: expected %d, of which %d sent as such", n, want, events.Items)
		}
	})
}

type errorCounts struct{ all, open, resolved int }

// countErrors counts the errors of a run, archived or not. One that is archived meanwhile
// is in both lists.
func countErrors(t *testing.T, c *client.Client, tag string) (n errorCounts) {
	t.Helper()
	seen := map[recoup.ID]bool{}
	for _, list := range []iter.Seq2[recoup.Error, error]{c.Errors.All(t.Context(), recoup.ErrorFilter{Table: workTable}), c.Errors.AllArchived(t.Context(), workTable)} {
		for e, err := range list {
			if err != nil {
				t.Fatal(err)
			}
			if seen[e.ID] || !strings.HasPrefix(e.EntityID, "bench-"+tag+"-") {
				continue
			}
			seen[e.ID] = true
			n.all++
			if e.State.Open() {
				n.open++
			}
			if e.Disposition == recoup.DispositionResolved {
				n.resolved++
			}
		}
	}
	return n
}

// A server that does not answer for half of a run shows in the percentiles, although no
// more operations than there are clients were under way then: measured from when they were
// sent, all others look quick.
func TestBenchSeesAStall(t *testing.T) {
	t.Parallel()
	s := newSite(t, live.SQLite(t))
	s.start()
	proxy := faultproxy.New(t, "tcp", *s.address.Load())
	b := newBench(s, proxy.Addr(), "--mix", "gate=1", "--rate", "40", "--duration", "8s", "--clients", "2", "--timeout", "1m")
	if err := b.Start(); err != nil {
		t.Fatal(err)
	}
	b.seconds.await(t, 1)
	proxy.Stall(faultproxy.Both)
	if err := proxy.AwaitHeld(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.seconds.await(t, 5)
	proxy.Heal()
	r := b.result(0)
	// The stall took three seconds at least. An eighth of all operations was due in its first
	// second, and waited for two more.
	all := r.Load.All
	if all.Latency.P90 < 2000 || all.Service.P90 >= all.Latency.P90 || r.Load.Queue.Waited < 80 {
		t.Errorf("from when it was due %+v, from when it was sent %+v; %d waited for a client", all.Latency, all.Service, r.Load.Queue.Waited)
	}
	if all.Done != 320 || r.Load.Unsent != 0 {
		t.Errorf("of 320 operations %d are done, %d were not sent", all.Done, r.Load.Unsent)
	}
}

// An interrupt ends a benchmark with what it has, and it cleans up.
func TestBenchInterrupted(t *testing.T) {
	t.Parallel()
	s := newSite(t, live.SQLite(t))
	s.start()
	b := newBench(s, *s.address.Load(), "--table", workTable, "--mix", "report=1", "--rate", "50", "--duration", "10s")
	if err := b.Start(); err != nil {
		t.Fatal(err)
	}
	b.seconds.await(t, 1)
	if err := b.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	r := b.result(0)
	if !r.Interrupted || r.Load.All.Done == 0 || r.Load.Planned >= 500 || !strings.Contains(b.out.String(), "Interrupted after") {
		t.Errorf("%+v\n%s", r, &b.out)
	}
	if got := countErrors(t, s.client(nil), r.Tag); got.open != 0 || got.all != r.Load.All.Done {
		t.Errorf("of %d reports the server has %+v", r.Load.All.Done, got)
	}
}

// A second interrupt ends a benchmark at once, whose server does not answer.
func TestBenchInterruptedTwice(t *testing.T) {
	t.Parallel()
	s := newSite(t, live.SQLite(t))
	s.start()
	proxy := faultproxy.New(t, "tcp", *s.address.Load())
	b := newBench(s, proxy.Addr(), "--mix", "gate=1", "--rate", "40", "--duration", "20s", "--timeout", "1h")
	if err := b.Start(); err != nil {
		t.Fatal(err)
	}
	b.seconds.await(t, 1)
	proxy.Stall(faultproxy.Both)
	if err := proxy.AwaitHeld(t.Context()); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- b.Wait() }()
	interrupt := func() {
		if err := b.Process.Signal(syscall.SIGINT); err != nil {
			t.Error(err)
		}
	}
	interrupt()
	bustest.Eventually(t, "what it waits for", func() bool { return strings.Contains(b.seconds.String(), "waiting up to 1h") })
	interrupt()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		_ = b.Process.Kill()
		t.Errorf("interrupted twice, it goes on: %s", b.seconds)
	}
}

// A server that dies under a benchmark is seen as failures, with a status that says so, and
// what could not be cleaned up is removed later, by the command that it has printed.
func TestBenchOfADyingServer(t *testing.T) {
	t.Parallel()
	s := newSite(t, live.SQLite(t))
	s.start()
	b := newBench(s, *s.address.Load(), "--table", workTable, "--mix", "report=1", "--rate", "50", "--duration", "4s")
	if err := b.Start(); err != nil {
		t.Fatal(err)
	}
	b.seconds.await(t, 1)
	_ = s.signal(syscall.SIGKILL)
	r := b.result(1)
	all := r.Load.All
	if all.Done == 0 || all.Failed == 0 || len(all.Errors) == 0 || !strings.Contains(b.out.String(), "report: ") {
		t.Errorf("%+v\n%s", all, &b.out)
	}
	if said := b.seconds.String(); !strings.Contains(said, "recoup-bench clean --server http://"+*s.address.Load()+" --run "+r.Tag) {
		t.Errorf("it does not say how to clean up: %s", said)
	}
	s.start()
	cmd := exec.Command(program.Bench(t), "clean", "--server", "http://"+*s.address.Load(), "--run", r.Tag)
	cmd.Env = append(os.Environ(), "RECOUP_KEY="+s.key())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if got := countErrors(t, s.client(nil), r.Tag); got.open != 0 || got.all < all.Done || got.all > all.Done+all.Failed {
		t.Errorf("of %d reports, and %d without an answer, the server has %+v", all.Done, all.Failed, got)
	}
}

// Answers with 429 are counted apart from failures, and cost no latency; with --retry-after
// they are sent again.
func TestBenchIsLimited(t *testing.T) {
	t.Parallel()
	s := newSite(t, live.SQLite(t))
	s.flags = []string{"--rate-per-key", "20"}
	s.start()
	for _, again := range []bool{false, true} {
		b := newBench(s, *s.address.Load(), "--mix", "gate=1", "--rate", "60", "--duration", "2s", fmt.Sprintf("--retry-after=%v", again))
		if err := b.Start(); err != nil {
			t.Fatal(err)
		}
		all := b.result(0).Load.All
		if all.Limited == 0 || all.Failed != 0 || (again && all.Done <= 60) || (!again && (all.Dropped != all.Limited || all.Done+all.Dropped != 120)) {
			t.Errorf("again=%v: %+v", again, all)
		}
		if !strings.Contains(b.out.String(), "429: the server limited the rate ") {
			t.Errorf("it does not say so: %s", &b.out)
		}
	}
}

// Only a server on this machine is written to, unless another is permitted by name.
func TestBenchStaysHere(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it is closed with the test
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	connected := make(chan struct{})
	go func() {
		if _, err := listener.Accept(); err == nil {
			close(connected)
		}
	}()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	for _, flags := range []string{"", "--server http://0.0.0.0:" + port, "--server http://localhost.example:" + port, "--server http://127.0.0.1.example:" + port, "--server http://0.0.0.0:" + port + " --allow-host 127.0.0.1"} {
		cmd := exec.Command(program.Bench(t), append([]string{"--mix", "gate=1"}, strings.Fields(flags)...)...)
		cmd.Env = append(os.Environ(), "RECOUP_SERVER=http://127.0.0.1:"+port)
		out, _ := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != 2 {
			t.Errorf("recoup-bench %s ends with %d: %s", flags, cmd.ProcessState.ExitCode(), out)
		}
	}
	select {
	case <-connected:
		t.Error("somebody has connected")
	default:
	}
}
