package endtoend

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/test/faultproxy"
)

// TestStallsStealNoLease lets workers claim, extend, finish and abandon on two nodes
// of one database, with leases of a second. One node is five minutes ahead, and
// behind a network that stalls for longer than a lease. What the database saw by
// itself then shows that no lease was handed out over one that was alive, that no
// attempt was counted against a worker whose lease was, and that no error's history
// goes back. RECOUP_SEED repeats a run; RECOUP_SOAK=1 makes it sixty stalls for
// each of eight seeds.
func TestStallsStealNoLease(t *testing.T) {
	t.Parallel()
	first, seeds, stalls := seed(), 1, 5
	if soaking() {
		seeds, stalls = 8, 60
	}
	for i := range seeds {
		t.Run(fmt.Sprint("seed ", first+uint64(i)), func(t *testing.T) {
			t.Parallel()
			s := newStalls(t, rand.New(rand.NewPCG(first+uint64(i), 11)))
			s.run()
			for range stalls {
				s.await(4 + s.random.IntN(8))
				s.stall()
			}
			s.await(10)
			s.finish()
			s.verify()
		})
	}
}

// seed is the one of this run.
func seed() uint64 {
	given, err := strconv.ParseUint(os.Getenv("RECOUP_SEED"), 10, 64)
	if err != nil {
		return uint64(os.Getpid())
	}
	return given
}

// stalls are two nodes, one of them behind a proxy, and workers of both.
type stalls struct {
	*testing.T
	owner  string
	db     *sql.DB
	proxy  *faultproxy.Proxy
	sites  [2]*site
	random *rand.Rand // of the test's own goroutine
	shift  time.Duration

	over  chan struct{}
	done  sync.WaitGroup
	acked chan struct{}
	lost  atomic.Int64 // leases that a worker was refused
}

// seenLeases notes every change of a lease as the database sees it, by its clock.
const seenLeases = `
	create table public.seen (error_id uuid, token uuid, leased_at timestamptz, ends_at timestamptz, was uuid, was_until timestamptz, at timestamptz);
	create function public.see() returns trigger language plpgsql security definer set search_path = pg_catalog as $$
	begin
		insert into public.seen values (new.error_id, new.lease_token, new.leased_at, new.lease_ends_at, old.lease_token, old.lease_ends_at, recoup.clock());
		return null;
	end $$;
	create trigger see after update on recoup.due for each row
		when ((old.lease_token, old.lease_ends_at) is distinct from (new.lease_token, new.lease_ends_at)) execute function public.see()`

func newStalls(t *testing.T, random *rand.Rand) *stalls {
	t.Helper()
	owner, direct := pgtest.Migrated(t)
	pgtest.HoldToClock(t, owner)
	through, proxy := faultproxy.Postgres(t, direct)
	s := &stalls{T: t, owner: owner, proxy: proxy, random: random, over: make(chan struct{}), acked: make(chan struct{}, 1<<16)}
	var err error
	if s.db, err = sql.Open("pgx", owner); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.db.Close() })
	if _, err := s.db.ExecContext(t.Context(), seenLeases); err != nil {
		t.Fatal(err)
	}
	pgtest.ShiftClock(t, owner, 5*time.Minute) // by which the first node sets its clock
	s.sites[0] = newSite(t, database{Kind: "postgres", Owner: owner, Nodes: through})
	s.sites[0].start()
	s.sites[0].key()
	pgtest.ShiftClock(t, owner, 0)
	s.sites[1] = newSite(t, database{Kind: "postgres", Owner: owner, Nodes: direct})
	s.sites[1].start()
	return s
}

// run starts two workers of each node.
func (s *stalls) run() {
	for i := range 4 {
		at := s.sites[i%2]
		c, err := client.New(client.Options{Server: "http://" + *at.address.Load(), Key: s.sites[0].key()})
		if err != nil {
			s.Fatal(err)
		}
		random := rand.New(rand.NewPCG(s.random.Uint64(), 0))
		s.done.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-s.over:
					return
				default:
					s.work(c, random, fmt.Sprintf("S-%d-%d", i, n))
				}
			}
		})
	}
}

// work makes an error due, claims what is due, and says how it went: well, badly,
// after a while, or nothing at all.
func (s *stalls) work(c *client.Client, random *rand.Rand, entity string) {
	defer func() { s.acked <- struct{}{} }()
	ctx := s.Context()
	made, err := c.Report(ctx, recoup.Report{Table: workTable, EntityID: entity, Code: string(fault.CodeNetworkTimeout)})
	if err == nil {
		_, err = c.Errors.Park(ctx, made.Error.ID, recoup.Act{Reason: "look"})
	}
	if err == nil {
		_, err = c.Errors.Unpark(ctx, made.Error.ID, recoup.Act{Reason: "try again"})
	}
	var refused *fault.Error
	if err != nil && !(errors.As(err, &refused) && refused.Code == fault.CodeInvalidTransition) { // another has claimed it before
		s.Errorf("%s: %v", entity, err)
	}
	claimed, err := c.Retries.Claim(ctx, recoup.RetryClaim{Tables: []string{workTable}, Worker: entity, Limit: 3, LeaseSeconds: 1}, client.NoRetry())
	if err != nil {
		s.Errorf("%s: %v", entity, err)
	}
	for _, e := range claimed {
		r := recoup.RetryResult{ErrorID: e.ID, LeaseToken: e.LeaseToken}
		extended := recoup.RetryResult{ErrorID: e.ID, LeaseToken: e.LeaseToken, LeaseSeconds: 1}
		for range random.IntN(3) {
			s.submit(e, c.Retries.Extend, extended)
		}
		switch random.IntN(4) {
		case 0: // it is lost
		case 1:
			r.Code = string(fault.CodeNetworkTimeout)
			s.submit(e, c.Retries.Fail, r)
		default:
			s.submit(e, c.Retries.Succeed, r)
		}
	}
}

// submit sends a result to the node. A lease that the node calls lost has ended.
func (s *stalls) submit(e recoup.Error, call func(context.Context, recoup.RetryResult, ...client.CallOption) (recoup.ActResult, error), r recoup.RetryResult) {
	_, err := call(s.Context(), r, client.NoRetry())
	var refused *fault.Error
	switch {
	case err == nil:
	case errors.As(err, &refused) && refused.Code == fault.CodeLeaseLost:
		s.lost.Add(1)
		if n := s.number("select count(*) from recoup.due where error_id = $1 and lease_token = $2 and lease_ends_at > recoup.clock()", e.ID.String(), e.LeaseToken.String()); n > 0 {
			s.Errorf("the lease of %v is alive, and its worker hears %v", e.ID, err)
		}
	case errors.As(err, &refused) && refused.Code == fault.CodeDatabaseBusy: // a stalled transaction holds the row for longer than anybody waits
	default:
		s.Errorf("%v: %v", e.ID, err)
	}
}

// stall holds back what goes to or comes from the database, for longer than a lease
// by its clock.
func (s *stalls) stall() {
	s.Helper()
	s.proxy.Stall([]faultproxy.Way{faultproxy.Requests, faultproxy.Answers, faultproxy.Both}[s.random.IntN(3)])
	if err := s.proxy.AwaitHeld(s.Context()); err != nil {
		s.Fatal(err)
	}
	s.shift += time.Second + time.Duration(s.random.IntN(2000))*time.Millisecond
	pgtest.ShiftClock(s.T, s.owner, s.shift)
	s.await(s.random.IntN(4)) // the other node goes on
	s.proxy.Heal()
}

// await returns after so many more rounds of work.
func (s *stalls) await(n int) {
	for range n {
		<-s.acked
	}
}

func (s *stalls) finish() {
	close(s.over)
	s.done.Wait()
}

func (s *stalls) number(query string, args ...any) (n int) {
	s.Helper()
	if err := s.db.QueryRowContext(s.Context(), query, args...).Scan(&n); err != nil {
		s.Fatalf("%s: %v", query, err)
	}
	return n
}

func (s *stalls) verify() {
	s.Helper()
	const lapses = `recoup.error_history h join (select error_id, token, max(ends_at) as until from public.seen group by 1, 2) l on (l.error_id, l.token) = (h.error_id, h.attempt) where h.input in ('lapse', 'claim')`
	for what, query := range map[string]string{
		"leases were handed out over one that was alive": `select count(*) from public.seen where token <> was and least(at, leased_at) < was_until`,
		"leases begin in the future":                     `select count(*) from public.seen where leased_at > at`,
		"attempts were counted against a live lease":     `select count(*) from ` + lapses + ` and h.at < l.until`,
		"rows of history go back": `select count(*) from (select at, lag(at) over (partition by error_id order by seq) as before
			from recoup.error_history) x where at < before`,
	} {
		if n := s.number(query); n != 0 {
			s.Errorf("%d %s", n, what)
		}
	}
	leases, lapsed := s.number("select count(distinct (error_id, token)) from public.seen"), s.number("select count(*) from "+lapses)
	again := s.number("select count(*) from public.seen where token <> was")
	extended := s.number("select count(*) from public.seen where token = was")
	if leases == 0 || lapsed == 0 || again == 0 || extended == 0 {
		s.Errorf("nothing is shown by %d leases, %d extensions, %d lapses and %d leases after one", leases, extended, lapsed, again)
	}
	s.Logf("%d leases, %d extensions, %d lapses, %d leases after one, %d workers were notified", leases, extended, lapsed, again, s.lost.Load())
}
