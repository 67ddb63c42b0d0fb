package client

import (
	"context"
	"net/url"
	"time"

	"github.com/recoup-dev/recoup"
)

// TopCodes returns the codes with the most events of the last hours, most first.
// Zero hours are 24, a zero limit is 20.
func (c *Client) TopCodes(ctx context.Context, hours, limit int, options ...CallOption) (TopCodes, error) {
	return get[TopCodes](ctx, c, "/v1/stats/top-codes", query{}.number("hours", hours).number("limit", limit).values(), options)
}

// Days selects counts by day. A zero From is seven days before To, a zero To is
// now; empty fields do not restrict.
type Days struct {
	From    time.Time `query:"from" doc:"a time of the first day; default: 7 days ago"`
	To      time.Time `query:"to" doc:"a time of the last day; default: today"`
	Service string    `query:"service" doc:"only this service"`
	Code    string    `query:"code" doc:"only this code, or an alias of it"`
}

func (d Days) query() url.Values {
	return query{}.time("from", d.From).time("to", d.To).text("service", d.Service).text("code", d.Code).values()
}

// RetryableRates returns the share of retryable failures, by service.
func (c *Client) RetryableRates(ctx context.Context, d Days, options ...CallOption) ([]recoup.ServiceRate, error) {
	answer, err := get[RetryableRates](ctx, c, "/v1/stats/retryable-rate", d.query(), options)
	return answer.Services, err
}

// Daily returns counts by day, service and code.
func (c *Client) Daily(ctx context.Context, d Days, options ...CallOption) ([]DailyCount, error) {
	answer, err := get[Daily](ctx, c, "/v1/stats/daily", d.query(), options)
	return answer.Days, err
}

// Drops returns how many events were left out of the ledger, by day and reason.
func (c *Client) Drops(ctx context.Context, d Days, options ...CallOption) ([]Drop, error) {
	answer, err := get[Drops](ctx, c, "/v1/stats/drops", d.query(), options)
	return answer.Drops, err
}
