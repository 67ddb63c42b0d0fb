package store_test

import (
	"sync"
	"testing"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// leased is an error that a worker holds, and what its success comes to.
func (w *world) leased(entity string, code recoup.Code) (was recoup.Error, out store.Outcome) {
	work := store.NewUnitOfWork(w.now, nil)
	made := work.Report(w.reportAs(w.ids.New(w.now), dol, entity, code, recoup.Medium))
	token := w.ids.New(w.now)
	was = made.Error
	was.Lease = recoup.Lease{LeaseToken: token, LeaseWorker: "w1", LeasedAt: w.now, LeaseEndsAt: w.now.Add(1)}
	next, effects, err := w.step(was.ID, lifecycle.Succeed{Token: token}).Decide(&was, 0, w.now)
	return was, store.Outcome{Error: next, Effects: effects, Err: err}
}

// A known decision is kept once; errors that differ in a column that matters get one
// each; a nil memory, and results without Like, remember nothing.
func TestMemory(t *testing.T) {
	t.Parallel()
	w, m := newWorld(), &store.DecisionCache{}
	for _, row := range []struct {
		entity string
		code   recoup.Code
		want   int
	}{{"a", "NETWORK_TIMEOUT", 1}, {"b", "NETWORK_TIMEOUT", 1}, {"c", "DNS_TIMEOUT", 2}, {"d", "DNS_TIMEOUT", 2}} {
		was, out := w.leased(row.entity, row.code)
		if out.Err != nil {
			t.Fatal(out.Err)
		}
		m.Keep("like", &was, &out)
		if got := len(m.Of("like")); got != row.want {
			t.Errorf("%s of %s: %d are remembered, want %d", row.code, row.entity, got, row.want)
		}
		(*store.DecisionCache)(nil).Keep("like", &was, &out)
		m.Keep(nil, &was, &out)
	}
	if len(m.Of("other"))+len(m.Of(nil))+len((*store.DecisionCache)(nil).Of("like")) != 0 {
		t.Error("something else is remembered")
	}
}

// A cache stays small, whatever is added, by however many goroutines at once.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	w, m := newWorld(), &store.DecisionCache{}
	was, out := w.leased("a", "NETWORK_TIMEOUT")
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			was := was
			for i := range 5000 {
				was.RetryCount = i % 100
				m.Keep(g*1000+i/100, &was, &out)
				if n := len(m.Of(g*1000 + i/100)); n > store.MaxRemembered {
					t.Errorf("%d are remembered", n)
				}
			}
		})
	}
	wg.Wait()
}
