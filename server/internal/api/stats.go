package api

import (
	"cmp"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
	"github.com/recoup-dev/recoup/server/internal/store"
)

type topIn struct {
	Hours int `query:"hours" minimum:"1" maximum:"2160" doc:"default 24"`
	Limit int `query:"limit" minimum:"1" maximum:"1000" doc:"default 20"`
}

func (a *API) topCodes(c *httpapi.Call, in *topIn) (recoup.TopCodes, error) {
	hours, limit := cmp.Or(in.Hours, 24), cmp.Or(in.Limit, 20)
	span := store.Span{From: c.Now.Add(-time.Duration(hours) * time.Hour), To: c.Now}
	codes, err := a.Store.TopCodes(c.Context(), span, limit)
	return recoup.TopCodes{From: span.From, To: span.To, Codes: httpapi.Listed(codes)}, err
}

type daysIn struct{ recoup.DayFilter }

// span returns the first and the last day that are asked for.
func (in daysIn) span(now time.Time) (from, to time.Time, err error) {
	from, to = in.From, in.To
	if to.IsZero() {
		to = now
	}
	if from.IsZero() {
		from = to.AddDate(0, 0, -7)
	}
	if from.After(to) || to.Sub(from) > 2*366*24*time.Hour {
		return from, to, fault.BadField("from", "range", "from must be before to, by two years at most")
	}
	return from, to, nil
}

func (a *API) retryableRate(c *httpapi.Call, in *daysIn) (recoup.RetryableRates, error) {
	from, to, err := in.span(c.Now)
	if err != nil {
		return recoup.RetryableRates{}, err
	}
	found, err := a.Store.RetryableRates(c.Context(), from, to)
	out := recoup.RetryableRates{Services: []recoup.ServiceRate{}}
	for _, r := range found {
		if in.Service == "" || in.Service == r.Service {
			r.Percent = r.Share()
			out.Services = append(out.Services, r)
		}
	}
	return out, err
}

func (a *API) daily(c *httpapi.Call, in *daysIn) (recoup.DailyCounts, error) {
	from, to, err := in.span(c.Now)
	if err != nil {
		return recoup.DailyCounts{}, err
	}
	filter, err := a.dailyFilter(in)
	if err != nil {
		return recoup.DailyCounts{}, err
	}
	return a.dailyCounts(c, filter, from, to)
}

func (a *API) dailyFilter(in *daysIn) (store.DailyFilter, error) {
	filter := store.DailyFilter{Service: in.Service}
	if in.Code != "" {
		def, _, err := a.Registrar.Codes().Fold(in.Code)
		if err != nil {
			return filter, fault.BadField("code", "pattern", "%s", err.Error())
		}
		filter.Code = def.Code // days count what nobody registered together
	}
	return filter, nil
}

func (a *API) dailyCounts(c *httpapi.Call, filter store.DailyFilter, from, to time.Time) (recoup.DailyCounts, error) {
	days, err := a.Store.Daily(c.Context(), filter, from, to)
	return recoup.DailyCounts{Days: httpapi.Each(days, dailyCount)}, err
}

func dailyCount(n store.DailyCount) recoup.DailyCount {
	return recoup.DailyCount{Day: date(n.Day), Service: n.Service, Code: n.Code, Count: n.Count, Retryable: n.Retryable, LastSeen: n.LastSeen}
}

// date writes a day as spec 003 has it.
func date(day time.Time) string { return day.UTC().Format(time.DateOnly) }

func (a *API) drops(c *httpapi.Call, in *daysIn) (recoup.DropCounts, error) {
	from, to, err := in.span(c.Now)
	if err != nil {
		return recoup.DropCounts{}, err
	}
	drops, err := a.Store.Drops(c.Context(), from, to)
	return recoup.DropCounts{Drops: httpapi.Each(drops, func(n store.Drop) recoup.DropCount {
		return recoup.DropCount{Day: date(n.Day), Reason: n.Reason, N: n.N}
	})}, err
}
