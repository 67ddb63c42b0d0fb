package postgres

import (
	"context"
	"time"

	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqlops"
)

// PlannedForecasts returns what forecasts ask of tables that grow.
func PlannedForecasts(now time.Time) []Planned {
	edges := []time.Time{now, now.Add(time.Hour), now.Add(24 * time.Hour)}
	return []Planned{
		planned("reviews", func(v sqlops.Ops) { _, _ = v.ParkDeadlines(context.Background(), store.ParkReview, edges) }),
		planned("expiries", func(v sqlops.Ops) { _, _ = v.ParkDeadlines(context.Background(), store.ParkExpiry, edges) }),
		planned("work", func(v sqlops.Ops) {
			_, _ = v.StagedActivity(context.Background(), store.Span{From: now.Add(-time.Hour), To: now})
		}),
	}
}
