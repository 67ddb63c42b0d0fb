package sqlite

import (
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqlops"
)

// Deadlines of what is parked are read from indexes that have all that is asked for, in
// order; only the few buckets are sorted.
func TestForecastPlans(t *testing.T) {
	t.Parallel()
	s := newTestStore(t)
	for kind, index := range map[store.ParkDeadline]string{store.ParkReview: "error_review_idx", store.ParkExpiry: "error_park_expiry_idx"} {
		text := asked(func(v sqlops.Ops) {
			_, _ = v.ParkDeadlines(t.Context(), kind, []time.Time{time.Unix(1, 0), time.Unix(2, 0)})
		})
		plan := strings.Join(planOf(t, s, text), "\n")
		if !strings.Contains(plan, "USING COVERING INDEX "+index) || strings.Contains(plan, "FOR ORDER BY") {
			t.Errorf("%s: %s", kind, plan)
		}
	}
	day := store.Span{From: time.Unix(0, 0), To: time.Unix(86400, 0)}
	plan := strings.Join(planOf(t, s, asked(func(v sqlops.Ops) { _, _ = v.StagedActivity(t.Context(), day) })), "\n")
	if !strings.Contains(plan, "SEARCH staged_minute USING PRIMARY KEY (minute>? AND minute<?)") {
		t.Errorf("work: %s", plan)
	}
}
