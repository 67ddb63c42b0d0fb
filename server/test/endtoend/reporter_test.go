package endtoend

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/retry"
)

// reporters report failures to nodes of one database, whatever happens to those.
type reporters struct {
	*testing.T
	sites []*site
	now   func() time.Time

	over  chan struct{}
	done  sync.WaitGroup
	acked chan string

	mu      sync.Mutex
	all     []string      // entities of reports that were acknowledged
	silence time.Duration // the longest for which nobody was answered
	last    time.Time
	retried atomic.Int64
}

// newReporters starts nodes for them.
func newReporters(t *testing.T, d database, nodes int, flags ...string) *reporters {
	t.Helper()
	r := &reporters{T: t, now: time.Now, over: make(chan struct{}), acked: make(chan string, 1<<16)}
	for range nodes {
		s := newSite(t, d)
		s.flags = flags
		s.start()
		r.sites = append(r.sites, s)
	}
	return r
}

// run starts reporters, each of which goes from node to node until it is answered.
func (r *reporters) run(n int) {
	key := r.sites[0].key()
	for i := range n {
		r.done.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-r.over:
					return
				default:
					r.report(key, fmt.Sprintf("F-%d-%d", i, n))
				}
			}
		})
	}
}

// report reports until it is acknowledged, always under the same key.
func (r *reporters) report(key, entity string) {
	for try := 0; ; try++ {
		c, err := client.New(client.Options{Server: "http://" + *r.sites[try%len(r.sites)].address.Load(), Key: key, Timeout: 5 * time.Second})
		if err == nil {
			_, err = c.Report(r.Context(), recoup.Report{Table: workTable, EntityID: entity, Code: string(fault.CodeValidationError)},
				client.IdempotencyKey(entity), client.NoRetry())
			c.Close()
		}
		if err == nil {
			r.acknowledged(entity, r.now())
			return
		}
		r.retried.Add(1)
		if try > 10*patience || retry.Sleep(r.Context(), 50*time.Millisecond) != nil {
			r.Errorf("%s: %v", entity, err)
			return
		}
	}
}

func (r *reporters) acknowledged(entity string, now time.Time) {
	r.mu.Lock()
	if !r.last.IsZero() {
		r.silence = max(r.silence, now.Sub(r.last))
	}
	r.last, r.all = now, append(r.all, entity)
	r.mu.Unlock()
	r.acked <- entity
}

// await waits for so many acknowledgements.
func (r *reporters) await(n int) {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), 3*time.Minute)
	defer cancel()
	for range n {
		select {
		case <-r.acked:
		case <-ctx.Done():
			r.Fatalf("nobody is answered any more\n%s", r.sites[0].log)
		}
	}
}

func (r *reporters) finish() {
	close(r.over)
	r.done.Wait()
}

// verify finds every acknowledged report once where the nodes write now, and a leader at
// work there.
func (r *reporters) verify(owner string) {
	r.Helper()
	conn, err := pgx.Connect(r.Context(), owner)
	if err != nil {
		r.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(r.Context())) }()
	var found, extra int
	err = conn.QueryRow(r.Context(), `select count(*), count(*) - count(distinct entity_id) from recoup.error where entity_id = any ($1)`, r.all).Scan(&found, &extra)
	if err != nil || found != len(r.all) || extra != 0 {
		r.Errorf("%d were acknowledged, %d are there, %d of them twice: %v", len(r.all), found, extra, err)
	}
	leads := "select count(*) from recoup.leader where name = 'clockwork' and ends_at > recoup.clock()"
	for n := 0; n == 0; {
		if err := conn.QueryRow(r.Context(), leads).Scan(&n); err != nil {
			r.Fatal(err)
		}
		if n == 0 && retry.Sleep(r.Context(), 100*time.Millisecond) != nil {
			r.Fatal("nobody leads")
		}
	}
	r.Logf("%d reports, %d calls repeated, nobody was answered for %v", len(r.all), r.retried.Load(), r.silence.Round(time.Millisecond))
}
