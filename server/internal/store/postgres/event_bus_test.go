package postgres_test

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/bus"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/test/conformance"
)

const stream = "RECOUP_EVENTS 2026-02-02T09:00:00Z"

// batches cuts sample events into batches with the sequences that are given.
func batches(t *testing.T, size int, sequences ...int64) (list []store.EventBatch) {
	t.Helper()
	events := conformance.SampleEvents(size*len(sequences), conformance.Epoch(), time.Millisecond)
	for i, n := range sequences {
		list = append(list, store.EventBatch{ID: recoup.ID{1, byte(i)}, Sequence: n, Events: events[i*size : (i+1)*size]})
	}
	return list
}

// A batch is written once, however often and whichever way it comes, and its sequence is
// noted each time.
func TestEventBatchesOnce(t *testing.T) {
	t.Parallel()
	_, url := pgtest.Migrated(t)
	s, app := open(t, url), at(t, url)
	must(t, s.SyncCodes(t.Context(), conformance.Epoch(), fault.Default().All()))
	all := batches(t, 3, 1, 2, 3)
	direct := all[1]
	direct.Sequence = 0
	for _, row := range []struct {
		list  []store.EventBatch
		added int
	}{
		{[]store.EventBatch{direct}, 3},
		{all, 6},
		{all, 0},
		{[]store.EventBatch{{Sequence: 4}}, 0}, // which nobody could read
		{[]store.EventBatch{{ID: all[0].ID, Events: conformance.SampleEvents(2, conformance.Epoch(), time.Second)}}, 0}, // the id alone decides
	} {
		if added, err := s.WriteEventBatches(t.Context(), stream, row.list); added != row.added || err != nil {
			t.Errorf("added %d, %v; want %d", added, err, row.added)
		}
	}
	if n := ask[int](app, "select count(*) from recoup.error_event"); n != 9 {
		t.Errorf("%d events are stored", n)
	}
	_, err := bus.Fold(t.Context(), s.SQL(), conformance.Epoch(), 10)
	must(t, err)
	if got := ask[string](app, "select string_agg(format('%s-%s', first_seq, last_seq), ' ') from recoup.bus_range"); got != "1-4" {
		t.Errorf("the ranges are %s", got)
	}
}

// Nothing is noted of what is refused: neither its id nor its sequence.
func TestEventBatchesRefused(t *testing.T) {
	t.Parallel()
	_, url := pgtest.Migrated(t)
	s, app := open(t, url), at(t, url)
	must(t, s.SyncCodes(t.Context(), conformance.Epoch(), fault.Default().All()))
	bad := batches(t, 2, 1, 2)
	bad[1].Events[0].Code = "NOBODY_HAS_REGISTERED_IT"
	if _, err := s.WriteEventBatches(t.Context(), stream, bad); !errors.Is(err, store.ErrRefused) {
		t.Fatalf("got %v", err)
	}
	if n := ask[int](app, "select (select count(*) from recoup.error_event) + (select count(*) from recoup.bus_batch) + (select count(*) from recoup.bus_range)"); n != 0 {
		t.Errorf("%d rows are left", n)
	}
}

// Two nodes that are given the same messages write them once, whatever their order.
func TestEventBatchesTogether(t *testing.T) {
	t.Parallel()
	_, url := pgtest.Migrated(t)
	s, app := open(t, url), at(t, url)
	must(t, s.SyncCodes(t.Context(), conformance.Epoch(), fault.Default().All()))
	all := batches(t, 5, 1, 2, 3, 4, 5, 6)
	var writers sync.WaitGroup
	added := make([]int, 8)
	for i := range added {
		mine := slices.Clone(all[i%3 : 3+i%4])
		if i%2 == 1 {
			slices.Reverse(mine)
		}
		writers.Go(func() {
			n, err := s.WriteEventBatches(t.Context(), stream, mine)
			if added[i] = n; err != nil {
				t.Error(err)
			}
		})
	}
	writers.Wait()
	sum := 0
	for _, n := range added {
		sum += n
	}
	if n := ask[int](app, "select count(*) from recoup.error_event"); n != sum || n != 30 {
		t.Errorf("%d events are stored, and %d were added", n, sum)
	}
}
