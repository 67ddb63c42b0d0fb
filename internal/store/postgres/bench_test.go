package postgres_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"testing"
	"time"

	"recoup"
	"recoup/internal/lifecycle"
	"recoup/internal/policy"
	"recoup/internal/store"
	"recoup/internal/store/postgres"
	"recoup/internal/store/postgres/pgtest"
	"recoup/internal/store/storetest"
)

const benchBatch = 500

// bench is a node that reports, claims and acknowledges in batches.
type bench struct {
	*testing.B
	store  *postgres.Store
	policy *policy.Policy
	ids    *recoup.IDSource
	now    time.Time
	serial int
}

func newBench(b *testing.B) *bench {
	_, app := pgtest.Migrated(b)
	n := &bench{B: b, store: open(b, app), policy: policy.Default(), ids: recoup.NewIDSource(rand.Reader), now: storetest.Epoch()}
	n.must(n.store.SyncTables(b.Context(), n.policy))
	n.must(n.store.EnsurePartitions(b.Context(), n.now))
	return n
}

func (n *bench) must(err error) {
	n.Helper()
	if err != nil {
		n.Fatal(err)
	}
}

// reports makes reports of entities that nobody has reported yet.
func (n *bench) reports(count int) []store.Report {
	list := make([]store.Report, count)
	for i := range list {
		n.serial++
		in := lifecycle.Report{
			ID: n.ids.New(n.now), Table: dol, EntityID: fmt.Sprintf("CO-20240828-%06d", n.serial),
			Failure: storetest.Failure("NETWORK_TIMEOUT"), Message: "connect: connection timed out",
		}
		list[i] = store.Report{Table: dol, Entity: in.EntityID, Code: in.Failure.Code, Decide: n.decide(in)}
	}
	return list
}

func (n *bench) decide(in lifecycle.Input) store.Decide {
	now := n.now
	return func(current *recoup.Error, _ int) (recoup.Error, lifecycle.Effects, error) {
		return lifecycle.Step(n.policy, current, in, now)
	}
}

func (n *bench) load(count int) {
	for range count / benchBatch {
		_, err := n.store.Report(n.Context(), n.now, n.reports(benchBatch))
		n.must(err)
	}
}

func (n *bench) claim(ctx context.Context) ([]recoup.Error, error) {
	return n.store.ClaimDue(ctx, store.Claim{Tables: []string{dol}, Limit: benchBatch, Now: n.now,
		Decide: func(current *recoup.Error) (recoup.Error, lifecycle.Effects, error) {
			return lifecycle.Step(n.policy, current, lifecycle.Claim{Token: n.ids.New(n.now), Worker: "worker-1"}, n.now)
		}})
}

func (n *bench) acknowledge(ctx context.Context, leased []recoup.Error) error {
	steps := make([]store.Step, len(leased))
	for i := range leased {
		steps[i] = store.Step{ID: leased[i].ID, Decide: n.decide(lifecycle.Succeed{Token: leased[i].LeaseToken})}
	}
	outcomes, err := n.store.ApplySteps(ctx, n.now, steps)
	for _, out := range outcomes {
		if err == nil && out.Err != nil {
			return out.Err
		}
	}
	return err
}

// drain claims and acknowledges until nothing is due.
func (n *bench) drain(workers int) {
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for {
				leased, err := n.claim(n.Context())
				if err == nil && len(leased) > 0 {
					err = n.acknowledge(n.Context(), leased)
				}
				if err != nil {
					n.Error(err)
				}
				if err != nil || len(leased) == 0 {
					return
				}
			}
		})
	}
	wg.Wait()
}

// Claims and results of 500, with history, guards, counts and the gate's log.
func BenchmarkClaimAndAcknowledge(b *testing.B) {
	const backlog = 40 * benchBatch
	for _, workers := range []int{1, 2, 4} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			n, total := newBench(b), 0
			for b.Loop() {
				b.StopTimer()
				n.load(backlog)
				n.now = n.now.Add(time.Minute)
				b.StartTimer()
				n.drain(workers)
				total += backlog
			}
			b.ReportMetric(float64(total)/b.Elapsed().Seconds(), "errors/s")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// First reports of 500 entities at a time, which close their gates.
func BenchmarkReport(b *testing.B) {
	for _, size := range []int{1, benchBatch} {
		b.Run(fmt.Sprintf("batch=%d", size), func(b *testing.B) {
			n, total := newBench(b), 0
			for b.Loop() {
				_, err := n.store.Report(b.Context(), n.now, n.reports(size))
				n.must(err)
				total += size
			}
			b.ReportMetric(float64(total)/b.Elapsed().Seconds(), "errors/s")
		})
	}
}

// The gate: promotions of entities that nothing blocks.
func BenchmarkPromote(b *testing.B) {
	n := newBench(b)
	n.load(10 * benchBatch)
	for i := 0; b.Loop(); i++ {
		_, _, err := n.store.Promote(b.Context(), store.Promotion{
			ID: n.ids.New(n.now), Entity: fmt.Sprintf("free-%d", i), Phase: "enrichment", By: "ada", At: n.now,
		})
		n.must(err)
	}
}
