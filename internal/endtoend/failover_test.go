package endtoend

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"recoup"
	"recoup/client"
	"recoup/fault"
	"recoup/internal/store/postgres/pgtest"
	"recoup/retry"
)

// TestFailover takes the primary away from two nodes whose address names it and its
// synchronous standby: by a kill, or by making it read-only as a switchover does, with all
// its sessions alive. The standby is promoted, and the nodes go on there without a
// restart: every report that was acknowledged is there, those that were not were sent again
// under their keys and are there once, and a leader works. How long nobody was
// answered is printed (go test -v), and not judged.
func TestFailover(t *testing.T) {
	t.Parallel()
	for name, take := range map[string]func(t *testing.T, primary *pgtest.Server){
		"killed":    func(_ *testing.T, primary *pgtest.Server) { primary.Kill() },
		"read-only": demote,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFailover(t)
			f.run(3)
			f.await(20)
			take(t, f.primary)
			f.standby.Promote(t)
			f.await(40)
			f.finish()
			f.verify()
		})
	}
}

// demote makes a primary read-only, and returns when the last that was begun before is
// committed.
func demote(t *testing.T, primary *pgtest.Server) {
	t.Helper()
	primary.Admin(t, "alter system set default_transaction_read_only = on", "select pg_reload_conf()", `
		do $$ begin
			loop
				perform pg_sleep(0.3), pg_stat_clear_snapshot();
				exit when not exists (select from pg_stat_activity where backend_xid is not null and pid <> pg_backend_pid());
			end loop;
		end $$`)
	t.Cleanup(func() {
		primary.Admin(t, "set default_transaction_read_only = off", "alter system reset default_transaction_read_only",
			"alter system reset synchronous_standby_names", "select pg_reload_conf()")
	})
}

// failover is two nodes on a primary with a synchronous standby, and reporters.
type failover struct {
	*testing.T
	primary, standby *pgtest.Server
	after            string // the owner's address at the standby
	sites            [2]*site

	over  chan struct{}
	done  sync.WaitGroup
	acked chan string

	mu      sync.Mutex
	all     []string      // entities of reports that were acknowledged
	silence time.Duration // the longest for which nobody was answered
	last    time.Time
	retried atomic.Int64
}

func newFailover(t *testing.T) *failover {
	t.Helper()
	f := &failover{T: t, primary: pgtest.Start(t, pgtest.Options{}), over: make(chan struct{}), acked: make(chan string, 1<<16)}
	owner, nodes := f.primary.Migrated(t)
	pgtest.HoldToClock(t, owner)
	f.standby = f.primary.Standby(t)
	f.primary.Admin(t, "alter system set synchronous_standby_names = '*'", "select pg_reload_conf()")
	f.after = f.primary.Or(t, owner, f.standby) + "&target_session_attrs=read-write"
	for i := range f.sites {
		f.sites[i] = newSite(t, database{Kind: "postgres", Owner: owner, Nodes: f.primary.Or(t, nodes, f.standby)})
		f.sites[i].start()
	}
	return f
}

// run starts reporters, each of which goes from node to node until it is answered.
func (f *failover) run(reporters int) {
	key := f.sites[0].key()
	for i := range reporters {
		f.done.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-f.over:
					return
				default:
					f.report(key, fmt.Sprintf("F-%d-%d", i, n))
				}
			}
		})
	}
}

// report reports until it is acknowledged, always under the same key.
func (f *failover) report(key, entity string) {
	for try := 0; ; try++ {
		c, err := client.New(client.Options{Server: "http://" + *f.sites[try%len(f.sites)].address.Load(), Key: key, Timeout: 5 * time.Second})
		if err == nil {
			_, err = c.Report(f.Context(), recoup.Report{Table: workTable, EntityID: entity, Code: string(fault.CodeValidationError)},
				client.IdempotencyKey(entity), client.NoRetry())
			c.Close()
		}
		if err == nil {
			f.acknowledged(entity, time.Now())
			return
		}
		f.retried.Add(1)
		if try > 10*patience || retry.Sleep(f.Context(), 50*time.Millisecond) != nil {
			f.Errorf("%s: %v", entity, err)
			return
		}
	}
}

func (f *failover) acknowledged(entity string, now time.Time) {
	f.mu.Lock()
	if !f.last.IsZero() {
		f.silence = max(f.silence, now.Sub(f.last))
	}
	f.last, f.all = now, append(f.all, entity)
	f.mu.Unlock()
	f.acked <- entity
}

// await waits for so many acknowledgements.
func (f *failover) await(n int) {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.Context(), 3*time.Minute)
	defer cancel()
	for range n {
		select {
		case <-f.acked:
		case <-ctx.Done():
			f.Fatalf("nobody is answered any more\n%s\n%s", f.sites[0].log, f.sites[1].log)
		}
	}
}

func (f *failover) finish() {
	close(f.over)
	f.done.Wait()
}

// verify finds every acknowledged report once where the nodes write now, and a leader at
// work there.
func (f *failover) verify() {
	f.Helper()
	conn, err := pgx.Connect(f.Context(), f.after)
	if err != nil {
		f.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(f.Context())) }()
	var found, extra int
	err = conn.QueryRow(f.Context(), `select count(*), count(*) - count(distinct entity_id) from recoup.error where entity_id = any ($1)`, f.all).Scan(&found, &extra)
	if err != nil || found != len(f.all) || extra != 0 {
		f.Errorf("%d were acknowledged, %d are there, %d of them twice: %v", len(f.all), found, extra, err)
	}
	leads := "select count(*) from recoup.leader where name = 'clockwork' and ends_at > recoup.clock()"
	for n := 0; n == 0; {
		if err := conn.QueryRow(f.Context(), leads).Scan(&n); err != nil {
			f.Fatal(err)
		}
		if n == 0 && retry.Sleep(f.Context(), 100*time.Millisecond) != nil {
			f.Fatal("nobody leads")
		}
	}
	f.Logf("%d reports, %d calls repeated, nobody was answered for %v", len(f.all), f.retried.Load(), f.silence.Round(time.Millisecond))
}
