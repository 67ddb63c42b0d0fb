package endtoend

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/retry"
	"github.com/recoup-dev/recoup/stage"
)

// TestCrashes kills workers and servers, at random points of runs through a
// pipeline. In the end every piece of work is done or a dead letter, no finished
// stage has run again, and what was done more than once carried the same key.
// RECOUP_SOAK=1 makes it a hundred rounds.
func TestCrashes(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		rounds := 4
		if soaking() {
			rounds = 100
		}
		seed := uint64(os.Getpid())
		t.Logf("seed %d", seed)
		c := newCrashes(t, d, rand.New(rand.NewPCG(seed, 0)))
		for round := range rounds {
			c.submit(5)
			c.await(1 + c.random.IntN(12))
			if round%2 == 0 {
				c.killWorker()
			} else {
				if err := c.site.signal(syscall.SIGKILL); err == nil {
					t.Fatal("a killed server ended well")
				}
				c.site.start()
			}
		}
		c.settle()
		c.check()
	})
}

// crashes is a server, a worker and the upstream that both of them depend on.
type crashes struct {
	*testing.T
	site     *site
	client   *client.Client
	front    *httptest.Server // passes on to the server that runs now
	upstream *witnessed
	random   *rand.Rand
	worker   *exec.Cmd
	works    []recoup.ID
}

func newCrashes(t *testing.T, d database, random *rand.Rand) *crashes {
	t.Helper()
	c := &crashes{T: t, site: newSite(t, d), random: random, upstream: newWitnessed(t)}
	c.site.start()
	c.front = httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: *c.site.address.Load()})
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	})
	t.Cleanup(c.front.Close)
	var err error
	if c.client, err = client.New(client.Options{Server: c.front.URL, Key: c.site.key()}); err != nil {
		t.Fatal(err)
	}
	c.startWorker()
	t.Cleanup(func() {
		_ = c.worker.Process.Kill()
		_ = c.worker.Wait()
	})
	return c
}

// The environment in which this test's binary is a worker.
const workerServer, workerKey, workerUpstream = "RECOUP_TEST_WORKER_SERVER", "RECOUP_TEST_WORKER_KEY", "RECOUP_TEST_WORKER_UPSTREAM"

func (c *crashes) startWorker() {
	c.Helper()
	c.worker = exec.Command(os.Args[0], "-test.run", "^TestWorkerProcess$")
	c.worker.Env = append(os.Environ(), workerServer+"="+c.front.URL, workerKey+"="+c.site.key(), workerUpstream+"="+c.upstream.server.URL)
	if err := c.worker.Start(); err != nil {
		c.Fatal(err)
	}
}

func (c *crashes) killWorker() {
	c.Helper()
	if err := c.worker.Process.Kill(); err != nil {
		c.Fatal(err)
	}
	_ = c.worker.Wait() // it was killed
	c.startWorker()
}

// TestWorkerProcess is a worker, where another test has started it as one.
func TestWorkerProcess(t *testing.T) {
	server := os.Getenv(workerServer)
	if server == "" {
		t.Skip("is the worker process of another test, which starts it")
	}
	own, err := client.New(client.Options{Server: server, Key: os.Getenv(workerKey)})
	if err != nil {
		t.Fatal(err)
	}
	quick := retry.Stage()
	quick.Schedule.Base, quick.Schedule.Cap = time.Millisecond, 10*time.Millisecond
	var stages []stage.Stage
	for _, name := range crashStages {
		stages = append(stages, stage.Stage{Name: name, Policy: &quick, Run: func(ctx context.Context, in stage.Input) ([]byte, error) {
			return nil, ask(ctx, os.Getenv(workerUpstream), upcall{Work: in.WorkID, Stage: name, Key: in.IdempotencyKey})
		}})
	}
	worker := client.StageWorker{
		Client: own, Name: "w", Pipeline: stage.Pipeline{Name: "crashes", Stages: stages}, Concurrency: 4, Lease: time.Second, Poll: time.Second,
	}
	if err := worker.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
}

var crashStages = []string{"fetch", "llm", "notify"}

// upcall is a call of the upstream.
type upcall struct {
	Work  recoup.ID `json:"work"`
	Stage string    `json:"stage"`
	Key   string    `json:"key"`
}

// ask has the upstream do the work of a stage.
func ask(ctx context.Context, upstream string, w upcall) error {
	body, err := json.Marshal(w)
	if err != nil {
		return err
	}
	reader, writer := io.Pipe()
	go func() { _, _ = writer.Write(body); _ = writer.Close() }()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, upstream, reader)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	switch response.StatusCode {
	case http.StatusOK:
		return nil
	case http.StatusUnprocessableEntity:
		return fault.New(fault.CodeValidationError, "It cannot be done.")
	}
	return fault.New(fault.CodeNetworkTimeout, "It did not answer.")
}

// witnessed is an upstream that remembers every call. It fails every seventh, and
// never does the last stage of every fifth piece of work.
type witnessed struct {
	server *httptest.Server
	mu     sync.Mutex
	calls  []upcall
	done   []upcall
	came   *sync.Cond
}

func newWitnessed(t *testing.T) *witnessed {
	u := &witnessed{}
	u.came = sync.NewCond(&u.mu)
	u.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var call upcall
		if err := json.NewDecoder(r.Body).Decode(&call); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		w.WriteHeader(u.take(call))
	}))
	t.Cleanup(u.server.Close)
	return u
}

func (u *witnessed) take(call upcall) (status int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.calls = append(u.calls, call)
	u.came.Broadcast()
	switch {
	case call.Stage == "notify" && call.Work[15]%5 == 0:
		return http.StatusUnprocessableEntity
	case len(u.calls)%7 == 0:
		return http.StatusServiceUnavailable
	}
	u.done = append(u.done, call)
	return http.StatusOK
}

// submit puts work into the queue.
func (c *crashes) submit(n int) {
	c.Helper()
	batch := make([]recoup.NewWorkItem, n)
	for i := range batch {
		k := len(c.works) + 1
		batch[i] = recoup.NewWorkItem{WorkID: recoup.ID{0xcc, byte(k >> 8), byte(k), 15: byte(k%5 + 1)}, Pipeline: "crashes", Stage: "fetch", Payload: []byte("in")}
		c.works = append(c.works, batch[i].WorkID)
	}
	items, err := c.client.Work.Submit(c.Context(), batch)
	if err != nil {
		c.Fatal(err)
	}
	for _, item := range items {
		if _, err := item.Get(); err != nil {
			c.Fatal(err)
		}
	}
}

// await waits until the upstream was called n times more.
func (c *crashes) await(n int) {
	u := c.upstream
	u.mu.Lock()
	defer u.mu.Unlock()
	for want := len(u.calls) + n; len(u.calls) < want && !c.idle(); {
		u.came.Wait()
	}
}

// idle reports whether nothing more is to be expected of the work so far; the lock
// is held.
func (c *crashes) idle() bool {
	told := map[recoup.ID]bool{}
	for _, call := range c.upstream.calls {
		if call.Stage == "notify" {
			told[call.Work] = true
		}
	}
	return len(told) == len(c.works)
}

// settle waits until the queue is empty.
func (c *crashes) settle() {
	c.Helper()
	left := slices.Clone(c.works)
	for len(left) > 0 {
		left = slices.DeleteFunc(left, func(work recoup.ID) bool {
			_, err := c.client.Work.Progress(c.Context(), work, recoup.ID{})
			return err == nil // what is in the queue is for its worker only
		})
		if err := retry.Sleep(c.Context(), 100*time.Millisecond); err != nil {
			c.Fatal(err)
		}
	}
}

// check looks at what was done.
func (c *crashes) check() {
	c.Helper()
	dead := map[recoup.ID]recoup.DeadLetter{}
	for d, err := range c.client.DeadLetters.All(c.Context(), recoup.DeadLetterFilter{Pipeline: "crashes"}) {
		if err != nil {
			c.Fatal(err)
		}
		dead[d.WorkID] = d
	}
	u := c.upstream
	u.mu.Lock()
	defer u.mu.Unlock()
	at := map[recoup.ID]int{} // the latest stage that was called
	for i, call := range u.calls {
		n := slices.Index(crashStages, call.Stage)
		if n < at[call.Work] {
			c.Errorf("call %d: %s of %s runs although it was finished", i, call.Stage, call.Work)
		}
		at[call.Work] = n
		if want := call.Work.String() + "/" + call.Stage; call.Key != want {
			c.Errorf("call %d carries the key %s, want %s", i, call.Key, want)
		}
	}
	done := map[string]bool{}
	for _, call := range u.done {
		done[fmt.Sprint(call.Work, call.Stage)] = true
	}
	lost := 0
	for _, work := range c.works {
		d, failed := dead[work]
		reached := len(crashStages)
		if failed {
			reached = slices.Index(crashStages, d.Stage)
			if d.Class == fault.CodeWorkerLost {
				lost++
				reached = 0 // it is not known how far it came
			}
		}
		for _, name := range crashStages[:reached] {
			if !done[fmt.Sprint(work, name)] {
				c.Errorf("%s of %s was finished, and its effect is not there", name, work)
			}
		}
		if bad := work[15]%5 == 0; bad && !failed {
			c.Errorf("%s cannot have been done", work)
		}
	}
	c.Logf("%d pieces of work, %d dead, %d of them over lost workers, %d calls", len(c.works), len(dead), lost, len(u.calls))
}
