package bench

import (
	"crypto/rand"
	"fmt"
	"sync"
	"testing"
	"time"

	"recoup"
	"recoup/internal/lifecycle"
	"recoup/internal/policy"
	"recoup/internal/store"
	"recoup/internal/store/storetest"
)

const (
	dol       = "outreach.dol_errors"
	workBatch = 500
)

// node reports, claims and acknowledges in batches, with the real state machine
// and a clock that is moved by hand.
type node struct {
	*testing.B
	store  storetest.Store
	policy *policy.Policy
	ids    *recoup.IDSource
	now    time.Time
	serial int
}

func newNode(b *testing.B, s storetest.Store) *node {
	return &node{B: b, store: s, policy: policy.Default(), ids: recoup.NewIDSource(rand.Reader), now: storetest.Epoch()}
}

func (n *node) decide(in lifecycle.Input) store.Decide { return n.decideAt(in, n.now) }

func (n *node) decideAt(in lifecycle.Input, now time.Time) store.Decide {
	return func(current *recoup.Error, _ int, _ time.Time) (recoup.Error, lifecycle.Effects, error) {
		return lifecycle.Step(n.policy, current, in, now)
	}
}

// reports makes reports of entities that nobody has reported yet, each at a time of
// its own, of which the first is the latest.
func (n *node) reports(count int) []store.Report {
	list := make([]store.Report, count)
	for i := range list {
		n.serial++
		in := lifecycle.Report{
			ID: n.ids.New(n.now), Table: dol, EntityID: fmt.Sprintf("CO-20240828-%06d", n.serial),
			Failure: storetest.Failure("NETWORK_TIMEOUT"), Message: "connect: connection timed out",
		}
		list[i] = store.Report{Table: dol, Entity: in.EntityID, Code: in.Failure.Code,
			Decide: n.decideAt(in, n.now.Add(-time.Duration(i)*time.Millisecond))}
	}
	return list
}

func (n *node) report(count int) []recoup.Error {
	n.Helper()
	outcomes, err := n.store.Report(n.Context(), n.now, n.reports(count))
	must(n, err)
	list := make([]recoup.Error, count)
	for i, out := range outcomes {
		must(n, out.Err)
		list[i] = out.Error
	}
	return list
}

// load reports batch after batch, and lets the time pass until all are due.
func (n *node) load(batches int) {
	n.Helper()
	for range batches {
		n.report(workBatch)
	}
	n.now = n.now.Add(time.Minute)
}

func (n *node) claim() ([]recoup.Error, error) {
	return n.store.ClaimDue(n.Context(), store.Claim{Tables: []string{dol}, Limit: workBatch, Now: n.now,
		Decide: func(current *recoup.Error, _ time.Time) (recoup.Error, lifecycle.Effects, error) {
			return lifecycle.Step(n.policy, current, lifecycle.Claim{Token: n.ids.New(n.now), Worker: "worker-1"}, n.now)
		}})
}

// acknowledge says that what was claimed succeeded.
func (n *node) acknowledge(leased []recoup.Error) error {
	steps := make([]store.Step, len(leased))
	for i := range leased {
		steps[i] = store.Step{ID: leased[i].ID, Decide: n.decide(lifecycle.Succeed{Token: leased[i].LeaseToken})}
	}
	return n.apply(steps)
}

func (n *node) apply(steps []store.Step) error {
	outcomes, err := n.store.ApplySteps(n.Context(), n.now, steps)
	for _, out := range outcomes {
		if err == nil && out.Err != nil {
			return out.Err
		}
	}
	return err
}

// drain claims and acknowledges until nothing is due.
func (n *node) drain(workers int) {
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for {
				leased, err := n.claim()
				if err == nil && len(leased) > 0 {
					err = n.acknowledge(leased)
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
