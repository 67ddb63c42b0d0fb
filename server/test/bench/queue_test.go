package bench

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/deadletter"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// BenchmarkQueue claims and finishes staged work in batches of 500, each piece with
// a lease, beside River working jobs that do nothing, on the same server. Target:
// 4 times River, by clock and by CPU.
func BenchmarkQueue(b *testing.B) {
	s, owner := openPostgres(b)
	q, rival, c := newQueue(b, s), newRiver(b, owner.Config()), contest{B: b}
	for b.Loop() {
		for range workRounds {
			q.load(backlog)
			rival.load()
			c.round(backlog, just(func() { q.drain(4) }), rival.drain)
		}
	}
	c.report("items", "river")
}

// queue is a service that takes work and gives it out.
type queue struct {
	*testing.B
	*deadletter.Service
}

// worker is whoever submits, claims and answers.
var worker = engine.Caller{Name: "worker-1"}

func newQueue(b *testing.B, s interface {
	deadletter.Store
	deadletter.KeyStore
}) *queue {
	b.Helper()
	now := time.Now()
	keys, err := deadletter.NewKeyring(b.Context(), s, rand.Reader, now)
	must(b, err)
	service, err := deadletter.New(deadletter.Options{
		Store: apart{s}, Policies: engine.NewPolicies(policy.Default()), Codes: fault.Default, Keys: keys,
		Now: func() time.Time { return now }, Random: func() float64 { return 0 }, IDs: recoup.NewIDSource(rand.Reader),
	})
	must(b, err)
	return &queue{b, service}
}

// apart is a store in which no two pieces of a batch are due at the same time: one time
// for all of them would flatter.
type apart struct{ deadletter.Store }

func (a apart) StepStaged(ctx context.Context, now time.Time, steps []store.StagedStep) ([]store.StagedOutcome, error) {
	for i := range steps {
		decide := steps[i].Decide
		steps[i].Decide = func(l store.StagedWork, now time.Time) (store.StagedWork, store.StagedEffects, error) {
			next, effects, err := decide(l, now)
			if l.Queued.WorkID.IsZero() && !next.Queued.WorkID.IsZero() {
				next.Queued.DueAt = next.Queued.DueAt.Add(time.Duration(i) * time.Microsecond)
			}
			return next, effects, err
		}
	}
	return a.Store.StepStaged(ctx, now, steps)
}

// load submits work in batches.
func (q *queue) load(items int) {
	q.Helper()
	for first := 0; first < items; first += workBatch {
		q.submit(first, workBatch)
	}
}

// submit submits one batch.
func (q *queue) submit(first, items int) {
	q.Helper()
	batch := make([]recoup.NewWorkItem, items)
	for i := range batch {
		batch[i] = recoup.NewWorkItem{
			Pipeline: "criticizer", Stage: "fetch", PayloadRef: fmt.Sprint("s3://items/", first+i),
		}
	}
	done, err := q.Submit(q.Context(), worker, batch, nil)
	must(q, err)
	q.check(done)
}

func (q *queue) check(done []deadletter.Done) {
	q.Helper()
	for i := range done {
		must(q, done[i].Err)
	}
}

// drain claims and finishes until there is nothing left.
func (q *queue) drain(workers int) {
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for {
				claimed, err := q.Claim(q.Context(), worker, recoup.WorkClaim{
					Lanes: []recoup.Lane{{Pipeline: "criticizer", Stage: "fetch"}}, Worker: "worker-1", Limit: workBatch,
				})
				if err != nil || len(claimed) == 0 {
					if err != nil {
						q.Error(err)
					}
					return
				}
				results := make([]recoup.WorkResult, len(claimed))
				for i := range claimed {
					results[i] = recoup.WorkResult{WorkID: claimed[i].WorkID, LeaseToken: claimed[i].LeaseToken, Outcome: deadletter.Succeeded}
				}
				done, err := q.Results(q.Context(), worker, results, nil)
				if err != nil {
					q.Error(err)
					return
				}
				q.check(done)
			}
		})
	}
	wg.Wait()
}
