package postgres_test

import (
	"slices"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/test/conformance"
)

// What was appended is folded in batches, and no answer changes by it.
func TestFoldInBatches(t *testing.T) {
	t.Parallel()
	_, url := pgtest.Migrated(t)
	s, app := open(t, url), at(t, url)
	must(t, s.SyncCodes(t.Context(), conformance.Epoch(), fault.Default().All()))
	for range 2 {
		_, err := s.InsertEvents(t.Context(), conformance.SampleEvents(5, conformance.Epoch(), time.Hour))
		must(t, err)
	}
	day := store.Span{From: conformance.Epoch(), To: conformance.Epoch().Add(24 * time.Hour)}
	before, err := s.TopCodes(t.Context(), day, 10)
	must(t, err)
	for _, want := range []int{4, 4, 2, 0} {
		if got := ask[int](app, "select recoup.fold_rollups(4)"); got != want {
			t.Errorf("folded %d, want %d", got, want)
		}
		if after, err := s.TopCodes(t.Context(), day, 10); err != nil || !slices.Equal(after, before) {
			t.Errorf("%v became %v, %v", before, after, err)
		}
	}
	if got := ask[int](app, "select sum(count)::int from recoup.error_aggregate_daily"); got != 10 {
		t.Errorf("%d are counted, want 10", got)
	}
}
