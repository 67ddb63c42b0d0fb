package client

import (
	"context"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/internal/query"
)

// TopCodes returns the codes with the most events of the last hours, most first.
// Zero hours are 24, a zero limit is 20.
func (s EventService) TopCodes(ctx context.Context, hours, limit int, options ...CallOption) (recoup.TopCodes, error) {
	return get[recoup.TopCodes](ctx, s.c, "/v1/stats/top-codes", query.Values{}.Number("hours", hours).Number("limit", limit).URL(), options)
}

// RetryableRates returns the share of retryable failures, by service.
func (s EventService) RetryableRates(ctx context.Context, d recoup.DayFilter, options ...CallOption) ([]recoup.ServiceRate, error) {
	answer, err := get[recoup.RetryableRates](ctx, s.c, "/v1/stats/retryable-rate", dayQuery(d).URL(), options)
	return answer.Services, err
}

// DailyCounts returns counts by day, service and code.
func (s EventService) DailyCounts(ctx context.Context, d recoup.DayFilter, options ...CallOption) ([]recoup.DailyCount, error) {
	answer, err := get[recoup.DailyCounts](ctx, s.c, "/v1/stats/daily", dayQuery(d).URL(), options)
	return answer.Days, err
}

// Drops returns how many events were left out of the ledger, by day and reason.
func (s EventService) Drops(ctx context.Context, d recoup.DayFilter, options ...CallOption) ([]recoup.DropCount, error) {
	answer, err := get[recoup.DropCounts](ctx, s.c, "/v1/stats/drops", dayQuery(d).URL(), options)
	return answer.Drops, err
}
