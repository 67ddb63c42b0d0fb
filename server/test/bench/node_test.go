package bench

import (
	"crypto/rand"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/test/conformance"
)

const (
	dol       = "outreach.dol_errors"
	workBatch = 500
)

// node reports, claims and acknowledges in batches, with the real state machine
// and a clock that is moved by hand.
type node struct {
	*testing.B
	store  conformance.Store
	policy *policy.Policy
	ids    *recoup.IDSource
	now    time.Time
	serial int
}

func newNode(b *testing.B, s conformance.Store) *node {
	return &node{B: b, store: s, policy: policy.Default(), ids: recoup.NewIDSource(rand.Reader), now: conformance.Epoch()}
}

func (n *node) decide(in lifecycle.Input) store.Decide {
	now := n.now
	return func(current *recoup.Error, _ int, _ time.Time) (recoup.Error, lifecycle.Effects, error) {
		return lifecycle.Step(n.policy, current, in, now)
	}
}

// reports makes reports of entities that nobody has reported yet.
func (n *node) reports(count int) []store.Report {
	list := make([]store.Report, count)
	for i := range list {
		n.serial++
		n.now = n.now.Add(time.Microsecond) // no two happen at the same time
		in := lifecycle.Report{
			ID: n.ids.New(n.now), Table: dol, EntityID: fmt.Sprintf("CO-20240828-%06d", n.serial),
			Failure: conformance.Failure("NETWORK_TIMEOUT"), Message: "connect: connection timed out",
		}
		list[i] = store.Report{Table: dol, Entity: in.EntityID, Code: in.Failure.Code, Decide: n.decide(in)}
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
		Like: "claim", Token: n.ids.New(n.now), Worker: "worker-1",
		Decide: func(current *recoup.Error, _ time.Time) (recoup.Error, lifecycle.Effects, error) {
			return lifecycle.Step(n.policy, current, lifecycle.Claim{Token: n.ids.New(n.now), Worker: "worker-1"}, n.now)
		}})
}

// acknowledge says that what was claimed succeeded.
func (n *node) acknowledge(leased []recoup.Error) error {
	return n.answer(leased, "succeed", func(token recoup.ID) lifecycle.Input { return lifecycle.Succeed{Token: token} })
}

// fail says that what was claimed failed once more.
func (n *node) fail(leased []recoup.Error) error {
	return n.answer(leased, "fail", func(token recoup.ID) lifecycle.Input {
		return lifecycle.Fail{Token: token, Failure: conformance.Failure("NETWORK_TIMEOUT")}
	})
}

func (n *node) answer(leased []recoup.Error, like string, in func(recoup.ID) lifecycle.Input) error {
	steps := make([]store.Step, len(leased))
	for i := range leased {
		token := leased[i].LeaseToken
		steps[i] = store.Step{ID: leased[i].ID, Decide: n.decide(in(token)), EventOf: eventOf(in(token)), Result: &store.Result{Token: token, Like: like, Brief: true}}
	}
	return n.apply(steps)
}

// eventOf is what the ledger stores of an attempt that failed, as the engine has it.
func eventOf(in lifecycle.Input) store.EventOf {
	return func(_ *recoup.Error, out *store.Outcome) *store.Event {
		id := out.Error.ID
		if fail, ok := in.(lifecycle.Fail); ok {
			copy(id[:8], fail.Token[:8]) // errors that were claimed together have one token
		}
		return &store.Event{Event: recoup.Event{ID: id, Code: out.Effects.Event, CorrelationID: out.Error.ID, Service: out.Error.Table, TS: out.Error.UpdatedAt}}
	}
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
func (n *node) drain(workers int) { n.work(workers, n.acknowledge) }

// work claims and answers until nothing is due.
func (n *node) work(workers int, answer func([]recoup.Error) error) {
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for {
				leased, err := n.claim()
				if err == nil && len(leased) > 0 {
					err = answer(leased)
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
