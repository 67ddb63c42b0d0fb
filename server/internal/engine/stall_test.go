package engine_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store/postgres"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/test/faultproxy"
	"github.com/recoup-dev/recoup/server/internal/test/node"
)

// rounds are two nodes on one database, one of them behind a network that stalls.
// Their clocks jump; the database's is moved by its owner.
type rounds struct {
	*testing.T
	owner  string
	db     *postgres.Store // without the network between
	proxy  *faultproxy.Proxy
	nodes  [2]*engine.Engine
	jumps  [2]time.Duration
	shift  time.Duration
	leases map[recoup.ID][]recoup.Error // by error, in the order in which they were handed out
}

func newRounds(t *testing.T) *rounds {
	t.Helper()
	owner, direct := pgtest.Migrated(t)
	stalling, proxy := faultproxy.Postgres(t, direct)
	r := &rounds{T: t, owner: owner, proxy: proxy, leases: map[recoup.ID][]recoup.Error{}}
	p := policy.Default()
	for i, url := range []string{stalling, direct} {
		r.db = pgtest.OpenURL(t, url)
		now, err := r.db.Time(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(r.db.SyncTables(t.Context(), p), r.db.SyncCodes(t.Context(), now, fault.Default().All())); err != nil {
			t.Fatal(err)
		}
		r.nodes[i], err = engine.New(engine.Options{
			Store: r.db, Ledger: &node.Ledger{Codes: fault.Default()}, Policies: engine.NewPolicies(p), Codes: fault.Default,
			Now: func() time.Time { return now.Add(r.shift + r.jumps[i]) }, IDs: recoup.NewIDSource(rand.Reader),
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func (r *rounds) report(entity string) {
	r.Helper()
	out, err := r.nodes[1].Report(r.Context(), ada, []recoup.Report{{Table: people, EntityID: entity, Code: "NETWORK_TIMEOUT"}})
	if err != nil || out[0].Err != nil || out[0].Error.State != recoup.RetryPending {
		r.Fatalf("%+v, %v", out, err)
	}
}

// claim claims on a node. What it got is held against what was handed out before,
// by whichever node: no two leases of one error are alive at a time.
func (r *rounds) claim(node int) {
	r.Helper()
	begun := r.time()
	got, err := r.nodes[node].Claim(r.Context(), ada, recoup.RetryClaim{Tables: []string{people}, Worker: fmt.Sprint("w", node), Limit: 10, LeaseSeconds: 60})
	if err != nil {
		r.Fatal(err)
	}
	for _, e := range got {
		if now := r.time(); e.LeasedAt.Before(begun) || e.LeasedAt.After(now) {
			r.Errorf("%v was leased at %v: between %v and %v by the database's clock", e.ID, e.LeasedAt, begun, now)
		}
		before := r.leases[e.ID]
		if n := len(before); n > 0 && e.LeasedAt.Before(before[n-1].LeaseEndsAt) {
			r.Errorf("%v was leased until %v, and again at %v by %s", e.ID, before[n-1].LeaseEndsAt, e.LeasedAt, e.LeaseWorker)
		}
		r.leases[e.ID] = append(before, e)
	}
}

// stalled claims on the node behind the network, which does not hear of it until
// the database's clock has gone on.
func (r *rounds) stalled(gone time.Duration) {
	r.Helper()
	r.proxy.Stall(faultproxy.Answers)
	done := make(chan struct{})
	go func() { defer close(done); r.claim(0) }()
	if err := r.proxy.AwaitHeld(r.Context()); err != nil {
		r.Fatal(err)
	}
	r.pass(gone)
	r.proxy.Heal()
	<-done
}

// time is what the database's clock says.
func (r *rounds) time() time.Time {
	r.Helper()
	now, err := r.db.Time(r.Context())
	if err != nil {
		r.Fatal(err)
	}
	return now
}

func (r *rounds) pass(d time.Duration) {
	r.Helper()
	r.shift += d
	pgtest.ShiftClock(r.T, r.owner, r.shift)
}

// Leases are exclusive by the database's clock, whatever the clocks of the nodes
// say and however long answers take. RECOUP_SOAK=1 plays it for 20 seeds.
func TestLeasesAreExclusiveByTheDatabasesClock(t *testing.T) {
	t.Parallel()
	seeds := 1
	if os.Getenv("RECOUP_SOAK") != "" {
		seeds = 20
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			r := newRounds(t)
			chance := mathrand.New(mathrand.NewPCG(uint64(seed), 11))
			for i := range 5 {
				r.report(fmt.Sprint("e", i))
			}
			r.pass(time.Minute) // they are due
			for range 30 {
				r.jumps[chance.IntN(2)] = time.Duration(chance.IntN(1200)-600) * time.Second
				switch chance.IntN(4) {
				case 0:
					r.stalled(time.Duration(chance.IntN(40)) * time.Second)
				case 1:
					r.pass(time.Duration(chance.IntN(20)) * time.Second)
				default:
					r.claim(chance.IntN(2))
				}
			}
			if len(r.leases) != 5 {
				t.Errorf("%d of 5 errors were claimed", len(r.leases))
			}
		})
	}
}

// A claim by a node whose clock is five minutes ahead takes nothing that is alive,
// and an error does not expire by such a clock.
func TestAJumpStealsNoLease(t *testing.T) {
	t.Parallel()
	r := newRounds(t)
	r.report("e1")
	r.pass(time.Minute)
	r.claim(1)
	r.jumps[0] = 5 * time.Minute
	r.claim(0)
	if len(r.leases) != 1 {
		t.Fatalf("leased are %v", r.leases)
	}
	for _, list := range r.leases {
		if len(list) != 1 {
			t.Errorf("it was leased %d times", len(list))
		}
	}
	r.jumps[0] = 400 * 24 * time.Hour
	if n, err := r.nodes[0].Sweep(t.Context(), "expiry", 10); n != 0 || err != nil {
		t.Errorf("%d expired by the clock of a node, %v", n, err)
	}
}
