package sqlite_test

import (
	"crypto/rand"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"recoup"
	"recoup/internal/lifecycle"
	"recoup/internal/policy"
	"recoup/internal/store"
	"recoup/internal/store/sqlite"
	"recoup/internal/store/storetest"
)

const dol = "outreach.dol_errors"

// bench reports and steps with the real state machine, and keeps no book.
type bench struct {
	testing.TB
	store  *sqlite.Store
	policy *policy.Policy
	ids    *recoup.IDSource
	n      atomic.Int64
}

func newBench(b testing.TB) *bench {
	x := &bench{TB: b, store: open(b).Store, policy: policy.Default(), ids: recoup.NewIDSource(rand.Reader)}
	if err := x.store.SyncTables(b.Context(), x.policy); err != nil {
		b.Fatal(err)
	}
	return x
}

func (x *bench) step(in lifecycle.Input) store.Decide {
	now := storetest.Epoch()
	if _, first := in.(lifecycle.Report); !first {
		now = now.Add(1e10)
	}
	return func(current *recoup.Error, _ int) (recoup.Error, lifecycle.Effects, error) {
		return lifecycle.Step(x.policy, current, in, now)
	}
}

// reports returns n reports of entities that have none yet.
func (x *bench) reports(n int) []store.Report {
	list := make([]store.Report, n)
	for i := range list {
		entity := fmt.Sprintf("CO-%09d", x.n.Add(1))
		in := lifecycle.Report{
			ID: x.ids.New(storetest.Epoch()), Table: dol, EntityID: entity, Severity: recoup.Medium,
			Failure: storetest.Failure("NETWORK_TIMEOUT"), Message: "no answer within ten seconds",
		}
		list[i] = store.Report{Table: dol, Entity: entity, Code: "NETWORK_TIMEOUT", Decide: x.step(in)}
	}
	return list
}

func (x *bench) report(n int) {
	outcomes, err := x.store.Report(x.Context(), storetest.Epoch(), x.reports(n))
	if err == nil && outcomes[0].Err != nil {
		err = outcomes[0].Err
	}
	if err != nil {
		x.Error(err)
	}
}

// work claims up to n errors and says that they succeeded.
func (x *bench) work(n int) int {
	now := storetest.Epoch().Add(1e10)
	claimed, err := x.store.ClaimDue(x.Context(), store.Claim{Tables: []string{dol}, Limit: n, Now: now,
		Decide: func(current *recoup.Error) (recoup.Error, lifecycle.Effects, error) {
			return lifecycle.Step(x.policy, current, lifecycle.Claim{Token: x.ids.New(now), Worker: "w"}, now)
		}})
	if err != nil {
		x.Fatal(err)
	}
	steps := make([]store.Step, len(claimed))
	for i, e := range claimed {
		steps[i] = store.Step{ID: e.ID, Decide: x.step(lifecycle.Succeed{Token: e.LeaseToken})}
	}
	if _, err := x.store.ApplySteps(x.Context(), now, steps); err != nil {
		x.Fatal(err)
	}
	return len(claimed)
}

// BenchmarkReport is reports one by one, by this many callers at once.
func BenchmarkReport(b *testing.B) {
	for _, callers := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			x := newBench(b)
			var wg sync.WaitGroup
			work := make(chan struct{})
			for range callers {
				wg.Go(func() {
					for range work {
						x.report(1)
					}
				})
			}
			b.ResetTimer()
			for b.Loop() {
				work <- struct{}{}
			}
			close(work)
			wg.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "reports/s")
		})
	}
}

func BenchmarkReportBatch(b *testing.B) {
	x := newBench(b)
	for b.Loop() {
		x.report(100)
	}
	b.ReportMetric(100*float64(b.N)/b.Elapsed().Seconds(), "reports/s")
}

// BenchmarkWork is a claim of 500 and their acknowledgement.
func BenchmarkWork(b *testing.B) {
	x := newBench(b)
	total := 0
	for b.Loop() {
		b.StopTimer()
		x.report(500)
		b.StartTimer()
		total += x.work(500)
	}
	b.ReportMetric(float64(total)/b.Elapsed().Seconds(), "errors/s")
}

// BenchmarkCommit is a verb that writes nothing but one small row.
func BenchmarkCommit(b *testing.B) {
	x := newBench(b)
	for b.Loop() {
		p := store.Promotion{ID: x.ids.New(storetest.Epoch()), Entity: "e", Phase: "p", By: "ada", At: storetest.Epoch()}
		if _, _, err := x.store.Promote(b.Context(), p); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commits/s")
}

// BenchmarkBlocking is the question that the promotion gate answers.
func BenchmarkBlocking(b *testing.B) {
	x := newBench(b)
	for range 50 {
		x.report(1000)
	}
	for b.Loop() {
		if _, err := x.store.Blocking(b.Context(), "CO-000025000", 1); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkErrors is a page of a hub's list.
func BenchmarkErrors(b *testing.B) {
	x := newBench(b)
	for range 50 {
		x.report(1000)
	}
	tables := []string{dol, "outreach.company_target_errors", "people.people_errors"}
	for b.Loop() {
		list, _, err := x.store.Errors(b.Context(), store.Filter{Tables: tables}, store.Page{})
		if err != nil || len(list) != 100 {
			b.Fatal(len(list), err)
		}
	}
}
