package client

import (
	"context"
	"sync"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
)

// counter adds up what was processed and reports it to the server once a minute.
type counter struct {
	c     *Client
	began chan struct{}

	mu     sync.Mutex
	counts map[countKey]*count

	sending chan struct{}      // holds one while somebody sends
	parcel  []recoup.Processed // what could not be sent yet
}

type countKey struct {
	minute int64 // since 1970
	table  string
}

type count struct {
	n, failed        int64
	took, failedTook time.Duration
}

// maxCounts bounds what is kept while the server is away, and what one request
// carries.
const maxCounts = 1000

func newCounter(c *Client) *counter {
	return &counter{c: c, began: make(chan struct{}, 1), sending: make(chan struct{}, 1), counts: map[countKey]*count{}}
}

// Count adds one piece of work to the denominator of error rates: of the table, or,
// if table is empty, of the service alone. Counts are sent every minute.
func (m *Emitter) Count(table string, failed bool, took time.Duration) {
	m.counter.add(table, failed, took, m.c.o.Now())
}

func (k *counter) add(table string, failed bool, took time.Duration, now time.Time) {
	key := countKey{now.Unix() / 60, table}
	k.mu.Lock()
	defer k.mu.Unlock()
	at := k.counts[key]
	if at == nil {
		if len(k.counts) >= maxCounts {
			return // the server has been away for hours: a rate of then is worth nothing now
		}
		at = &count{}
		k.counts[key] = at
		signal(k.began)
	}
	at.n++
	at.took += max(took, 0)
	if failed {
		at.failed++
		at.failedTook += max(took, 0)
	}
}

// run sends what was counted, a minute after the first of it.
func (k *counter) run(ctx context.Context) {
	for {
		select {
		case <-k.began:
		case <-ctx.Done():
			return
		}
		timer := time.NewTimer(time.Minute)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		if k.flush(ctx) != nil {
			signal(k.began)
		}
	}
}

// flush sends everything that was counted. What the server did not take is kept;
// what it may have taken is not sent again, because it would count twice.
func (k *counter) flush(ctx context.Context) error {
	select {
	case k.sending <- struct{}{}:
		defer func() { <-k.sending }()
	case <-ctx.Done():
		return k.c.failure(ctx.Err())
	}
	for {
		if len(k.parcel) == 0 {
			k.parcel = k.take()
		}
		if len(k.parcel) == 0 {
			return nil
		}
		err := k.c.CountProcessed(ctx, k.parcel, NoRetry())
		if err == nil || !k.c.o.Registry.Classify(err).Retryable(fault.NotIdempotent()) { // counts that come twice are counted twice
			k.parcel = nil
		}
		if err != nil {
			return err
		}
	}
}

func (k *counter) take() []recoup.Processed {
	k.mu.Lock()
	defer k.mu.Unlock()
	var list []recoup.Processed
	for key, at := range k.counts {
		list = append(list, recoup.Processed{
			Minute: time.Unix(key.minute*60, 0).UTC(), Table: key.table,
			Count: at.n, Failed: at.failed, DurationMS: at.took.Milliseconds(), FailedDurationMS: at.failedTook.Milliseconds(),
		})
	}
	clear(k.counts)
	return list
}
