package endtoend

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/retry"
)

const workTable = "outreach.dol_errors"

// load is clients that work, each write under a key of its own until it is
// acknowledged, and what was.
type load struct {
	*testing.T
	*client.Client
	ids *recoup.IDSource
	now func() time.Time

	stop  chan struct{} // closed: nothing new is begun
	done  sync.WaitGroup
	acked chan struct{} // one for each acknowledgement

	mu       sync.Mutex
	reported map[string]recoup.ID // by entity
	promoted map[string]recoup.ID
	events   map[recoup.ID]bool
	resolved map[recoup.ID]bool
}

func newLoad(t *testing.T, c *client.Client) *load {
	return &load{
		T: t, Client: c, ids: recoup.NewIDSource(rand.Reader), now: time.Now, stop: make(chan struct{}), acked: make(chan struct{}, 1<<20),
		reported: map[string]recoup.ID{}, promoted: map[string]recoup.ID{}, events: map[recoup.ID]bool{}, resolved: map[recoup.ID]bool{},
	}
}

// run starts clients, each with a kind of work.
func (l *load) run() {
	for i, work := range []func(name string){l.report, l.reportMany, l.emit, l.promote, l.retry, l.report, l.retry} {
		l.done.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-l.stop:
					return
				default:
					work(fmt.Sprintf("%d-%d", i, n))
				}
			}
		})
	}
	l.done.Go(l.poll)
}

// finish lets the clients finish what they have begun.
func (l *load) finish() {
	close(l.stop)
	l.done.Wait()
}

// await returns after so many more acknowledgements.
func (l *load) await(n int) {
	for range n {
		<-l.acked
	}
}

// patience is how often something is tried that always fails: for longer than any
// node takes to start.
const patience = 5000

// insist calls until the server has done it, always under the same key, and then
// notes it.
func insist[T any](l *load, key string, call func(context.Context, ...client.CallOption) (T, error), note func(T)) {
	for attempt := 0; ; attempt++ {
		answer, err := call(l.Context(), client.IdempotencyKey(key), client.NoRetry())
		if err == nil {
			l.mu.Lock()
			note(answer)
			l.mu.Unlock()
			l.acked <- struct{}{}
			return
		}
		if v := fault.Classify(err); !v.Retryable(recoup.ConditionIdempotencyKey) {
			l.Errorf("%s: %v", key, err)
			l.acked <- struct{}{} // nobody waits for it for ever
			return
		}
		if attempt == patience {
			l.Errorf("%s: tried %d times: %v", key, attempt, err)
		}
		if attempt >= patience || retry.Sleep(l.Context(), 2*time.Millisecond) != nil {
			l.acked <- struct{}{} // nobody waits for it for ever
			return
		}
	}
}

// failing is a failure of an entity of its own.
func (l *load) failing(name string, code recoup.Code) recoup.Report {
	return recoup.Report{Table: workTable, EntityID: "R-" + name, Code: string(code), CorrelationID: l.ids.New(l.now())}
}

func (l *load) report(name string) { l.recorded(l.failing(name, fault.CodeNetworkTimeout)) }

func (l *load) recorded(r recoup.Report) (id recoup.ID) {
	insist(l, "report "+r.EntityID, func(ctx context.Context, o ...client.CallOption) (recoup.Reported, error) {
		return l.Report(ctx, r, o...)
	}, func(made recoup.Reported) {
		id = made.Error.ID
		l.reported[r.EntityID] = id
	})
	return id
}

func (l *load) reportMany(name string) {
	batch := make([]recoup.Report, 5)
	for i := range batch {
		batch[i] = l.failing(fmt.Sprintf("%s-%d", name, i), fault.CodeNetworkTimeout)
	}
	insist(l, "batch "+name, func(ctx context.Context, o ...client.CallOption) ([]client.Item[recoup.Reported], error) {
		return l.ReportBatch(ctx, batch, o...)
	}, func(items []client.Item[recoup.Reported]) {
		for i, item := range items {
			made, err := item.Get()
			if err != nil {
				l.Errorf("batch %s: %v", name, err)
			}
			l.reported[batch[i].EntityID] = made.Error.ID
		}
	})
}

// emit sends events, of which it knows that they are durable.
func (l *load) emit(name string) {
	events := make([]recoup.Event, 20)
	for i := range events {
		now := l.now()
		events[i] = recoup.Event{ID: l.ids.New(now), TS: now, Code: fault.CodeNetworkTimeout, Service: "load"}
	}
	insist(l, "events "+name, func(ctx context.Context, o ...client.CallOption) (recoup.EventsAccepted, error) {
		return l.SendEvents(ctx, events, o...)
	}, func(a recoup.EventsAccepted) {
		if a.Accepted != len(events) || !a.Durable {
			l.Errorf("events %s: %+v", name, a)
		}
		for _, e := range events {
			l.events[e.ID] = true
		}
	})
}

func (l *load) promote(name string) {
	p := recoup.Promotion{EntityID: "P-" + name, Phase: "outreach"}
	insist(l, "promotion "+name, func(ctx context.Context, o ...client.CallOption) (recoup.Promoted, error) {
		return l.Promote(ctx, p, o...)
	}, func(done recoup.Promoted) { l.promoted[p.EntityID] = done.ID })
}

// retry makes an error due, claims what is due, and says that it worked. A claim
// has no key: if its answer is lost, so are its leases, until they run out.
func (l *load) retry(name string) {
	id := l.recorded(l.failing(name, fault.CodeValidationError)) // parked at once
	insist(l, "unpark "+name, func(ctx context.Context, o ...client.CallOption) (recoup.ActResult, error) {
		return l.Errors.Unpark(ctx, id, recoup.Act{Reason: "try again"}, o...)
	}, func(recoup.ActResult) {})
	claimed, err := l.Retries.Claim(l.Context(), recoup.RetryClaim{Tables: []string{workTable}, Worker: "load", Limit: 5}, client.NoRetry())
	if err != nil {
		return
	}
	for _, e := range claimed {
		insist(l, "success "+e.ID.String(), func(ctx context.Context, o ...client.CallOption) (recoup.ActResult, error) {
			return l.Retries.Succeed(ctx, recoup.RetryResult{ErrorID: e.ID, LeaseToken: e.LeaseToken}, o...)
		}, func(recoup.ActResult) { l.resolved[e.ID] = true })
	}
}

// poll waits for work that never comes, so that there is always a request that
// has begun and is not answered.
func (l *load) poll() {
	ctx, cancel := context.WithCancel(l.Context())
	defer cancel()
	go func() {
		<-l.stop
		cancel()
	}()
	for ctx.Err() == nil {
		_, err := l.Retries.Claim(ctx, recoup.RetryClaim{Tables: []string{"people.people_errors"}, Worker: "poll", WaitSeconds: 60}, client.NoRetry())
		if err != nil {
			_ = retry.Sleep(ctx, 2*time.Millisecond)
		}
	}
}
