package bus_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/bus"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/postgres"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

const stream = "RECOUP_EVENTS 2026-02-02T09:00:00Z"

// note notes sequences of the stream as written, each by itself.
func note(t *testing.T, s *postgres.Store, sequences ...int64) {
	t.Helper()
	for _, n := range sequences {
		if _, err := s.WriteEventBatches(t.Context(), stream, []store.EventBatch{{Sequence: n}}); err != nil {
			t.Fatal(err)
		}
	}
}

func fold(t *testing.T, s *postgres.Store, before time.Time, limit int) int {
	t.Helper()
	n, err := bus.Fold(t.Context(), s.SQL(), before, limit)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// rows is how many rows a table has.
func rows(t *testing.T, s *postgres.Store, table string) int64 {
	t.Helper()
	type count struct{ n int64 }
	list, err := sqldb.Rows(t.Context(), s.SQL(), sqldb.NewQuery("count rows", "select count(*) from "+table), sqldb.Fields(func(c *count) []any { return []any{&c.n} })...)
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	return list[0].n
}

// Ids of batches are forgotten once they are old, so many at a time.
func TestFoldForgetsBatches(t *testing.T) {
	t.Parallel()
	s := pgtest.Open(t)
	at := time.Date(2026, 2, 2, 9, 0, 0, 0, time.UTC)
	ids := recoup.NewIDSource(zeros{})
	for i := range 5 {
		batch := store.EventBatch{ID: ids.New(at.Add(time.Duration(i) * time.Hour))}
		if _, err := s.WriteEventBatches(t.Context(), stream, []store.EventBatch{batch}); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []int{2, 1, 0} { // those of the first three hours
		if n := fold(t, s, at.Add(3*time.Hour), 2); n != want {
			t.Errorf("forgot %d, want %d", n, want)
		}
	}
	if n := rows(t, s, "recoup.bus_batch"); n != 2 {
		t.Errorf("%d ids are left", n)
	}
}

// zeros is a source of randomness without any.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// A gap is seen until it is filled, or too old for what was in it to come back.
func TestGaps(t *testing.T) {
	t.Parallel()
	s := pgtest.Open(t)
	gaps := func(before time.Time) (list []string) {
		t.Helper()
		found, err := bus.Gaps(t.Context(), s.SQL(), before, 10)
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range found {
			if g.Stream != stream || g.Since.IsZero() {
				t.Errorf("the gap is %+v", g)
			}
			list = append(list, fmt.Sprintf("%d-%d", g.First, g.Last))
		}
		return list
	}
	clock := time.Now // as the database's
	past, future := clock().Add(-time.Hour), clock().Add(time.Hour)
	for i, row := range []struct {
		write []int64
		want  []string
	}{
		{[]int64{3, 1, 2}, nil},
		{[]int64{7, 9, 8, 8}, []string{"4-6"}},
		{[]int64{12}, []string{"4-6", "10-11"}},
		{[]int64{5}, []string{"10-11", "4-4", "6-6"}},
		{[]int64{4, 6, 10, 11}, nil},
	} {
		note(t, s, row.write...)
		if got := gaps(future); len(got) != len(row.want) {
			t.Errorf("%d: the gaps are %v, want %v", i, got, row.want)
		}
		fold(t, s, past, 10)
		if got := gaps(future); len(got) != len(row.want) {
			t.Errorf("%d: folded, the gaps are %v, want %v", i, got, row.want)
		}
		if got := gaps(past); got != nil {
			t.Errorf("%d: %v is old already", i, got)
		}
	}
	if n := rows(t, s, "recoup.bus_range"); n != 1 {
		t.Errorf("%d ranges are left", n)
	}
	note(t, s, 20)
	fold(t, s, future, 10)
	if got := gaps(future.Add(time.Hour)); got != nil {
		t.Errorf("%v is not forgotten", got)
	}
}
