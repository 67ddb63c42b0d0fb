package api

import (
	"context"
	"time"

	"recoup"
	"recoup/client"
	"recoup/internal/forecast"
	"recoup/internal/store"
)

// A forecast is made of what happened in the last hour, ten minutes at a time.
const (
	forecastInterval  = 10 * time.Minute
	forecastIntervals = 6
)

// forecast says of the queues that the caller may see when they are empty.
func (a *API) forecast(c *call, _ *struct{}) (client.Forecast, error) {
	ctx, p := c.r.Context(), a.Engine.Policies.Current()
	levels, err := a.Store.QueueLevels(ctx, c.now, p.ClaimedTables())
	if err != nil {
		return client.Forecast{}, err
	}
	counts, err := a.Engine.Counts(ctx, c.caller)
	if err != nil {
		return client.Forecast{}, err
	}
	paces, err := a.paces(ctx, c.now)
	if err != nil {
		return client.Forecast{}, err
	}
	waiting := map[string]int64{}
	for _, n := range counts {
		if n.State == recoup.RetryPending {
			waiting[n.Table] = n.N
		}
	}
	out := client.Forecast{At: c.now, Minutes: int((forecastIntervals * forecastInterval).Minutes()), Queues: []client.QueueForecast{}}
	for i := range levels {
		q := &levels[i]
		switch {
		case q.Table != "" && a.mayTouch(c, q.Table):
			out.Queues = append(out.Queues, queueForecast(c.now, q, waiting[q.Table], paces[q.Table]))
		case q.Table == "" && c.caller.Of(p.PipelineHub(q.Lane.Pipeline).ID): // of lanes no rates are kept
			out.Queues = append(out.Queues, queueForecast(c.now, q, q.N, nil))
		}
	}
	return out, nil
}

// paces are what happened in the queues of tables, interval by interval.
func (a *API) paces(ctx context.Context, now time.Time) (map[string]*forecast.Pace, error) {
	paces, end := map[string]*forecast.Pace{}, store.Minute(now)
	for i := range forecastIntervals {
		from := end.Add(time.Duration(i-forecastIntervals) * forecastInterval)
		list, err := a.Store.Activity(ctx, store.Span{From: from, To: from.Add(forecastInterval)})
		if err != nil {
			return nil, err
		}
		for k := range list {
			p := paces[list[k].Table]
			if p == nil {
				p = &forecast.Pace{Every: forecastInterval, New: make([]int64, forecastIntervals), Done: make([]int64, forecastIntervals)}
				paces[list[k].Table] = p
			}
			p.New[i], p.Done[i] = list[k].Reported, left(&list[k])
		}
	}
	return paces, nil
}

// left is how many errors left the queue: they succeeded, were parked, or gave way to a
// repeat, which is counted as reported too. Both of the former are archived in the end, the
// resolved ones a moment later.
func left(a *store.Activity) int64 { return max(a.Succeeded, a.Archived-a.Expired) + a.Parked }

func queueForecast(now time.Time, q *store.QueueLevel, waiting int64, pace *forecast.Pace) client.QueueForecast {
	if pace == nil {
		pace = &forecast.Pace{}
	}
	o := forecast.Queue(waiting, *pace)
	f := client.QueueForecast{
		Table: q.Table, Pipeline: q.Lane.Pipeline, Stage: q.Lane.Stage, Verdict: string(o.Verdict),
		Due: q.N, Waiting: o.Waiting, NewPerMinute: o.NewPerMinute, DonePerMinute: o.DonePerMinute,
	}
	if o.Earliest > 0 {
		f.EmptyFrom = now.Add(o.Earliest)
	}
	if o.Latest > 0 {
		f.EmptyBy = now.Add(o.Latest)
	}
	return f
}
