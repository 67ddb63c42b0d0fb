package api

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/forecast"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// A forecast of queues is made of what happened in the last hour, ten minutes at a time.
const (
	forecastInterval  = 10 * time.Minute
	forecastIntervals = 6
)

// forecast says of the queues that the caller may see when they are empty, and of park
// queues which deadlines are missed.
func (a *API) forecast(c *httpapi.Call, _ *struct{}) (wire.Forecast, error) {
	out := wire.Forecast{At: c.Now, Minutes: int((forecastIntervals * forecastInterval).Minutes()), Days: int((parkIntervals * parkInterval).Hours() / 24)}
	counts, err := a.Engine.Counts(c.Context(), c.Caller)
	if err != nil {
		return out, err
	}
	if out.Queues, err = a.queueForecasts(c, counts); err != nil {
		return out, err
	}
	err = a.parkForecasts(c, counts, &out)
	return out, err
}

func (a *API) queueForecasts(c *httpapi.Call, counts []recoup.StateCount) ([]wire.QueueForecast, error) {
	ctx, p := c.Context(), a.Engine.Policies.Current()
	levels, err := a.Store.QueueLevels(ctx, c.Now, p.ClaimedTables())
	if err != nil {
		return nil, err
	}
	lanes, _, err := a.Store.StagedLevels(ctx, c.Now)
	if err != nil {
		return nil, err
	}
	paces, err := a.paces(ctx, c.Now)
	if err != nil {
		return nil, err
	}
	list := []wire.QueueForecast{}
	for i := range levels {
		if q := &levels[i]; q.Table != "" && a.mayTouch(c, q.Table) {
			list = append(list, queueForecast(c.Now, wire.QueueForecast{Table: q.Table, Due: q.N}, inState(counts, q.Table, recoup.RetryPending), paces[queueKey{table: q.Table}]))
		}
	}
	for _, l := range pipelines(levels, lanes) {
		if c.Caller.Of(p.PipelineHub(l.Pipeline).ID) {
			list = append(list, queueForecast(c.Now, wire.QueueForecast{Pipeline: l.Pipeline, Due: l.Due}, l.Waiting, paces[queueKey{pipeline: l.Pipeline}]))
		}
	}
	return list, nil
}

// inState is how many errors of a table are in some states.
func inState(counts []recoup.StateCount, table string, states ...recoup.State) (n int64) {
	for _, c := range counts {
		if c.Table == table && slices.Contains(states, c.State) {
			n += c.N
		}
	}
	return n
}

// pipelines adds up the lanes of each pipeline, by name: what is due and unclaimed, and
// what there is in all.
func pipelines(levels []store.QueueLevel, lanes []store.LaneLevel) (list []wire.QueueForecast) {
	at := func(name string) *wire.QueueForecast {
		i, known := slices.BinarySearchFunc(list, name, func(q wire.QueueForecast, name string) int { return strings.Compare(q.Pipeline, name) })
		if !known {
			list = slices.Insert(list, i, wire.QueueForecast{Pipeline: name})
		}
		return &list[i]
	}
	for i := range levels {
		if q := &levels[i]; q.Table == "" {
			at(q.Lane.Pipeline).Due += q.N
		}
	}
	for i := range lanes {
		at(lanes[i].Pipeline).Waiting += lanes[i].Sum()
	}
	return list
}

// queueKey names a table or a pipeline.
type queueKey struct{ table, pipeline string }

// paces are what happened in queues, interval by interval.
func (a *API) paces(ctx context.Context, now time.Time) (map[queueKey]*forecast.Pace, error) {
	paces, end := map[queueKey]*forecast.Pace{}, store.Minute(now)
	note := func(key queueKey, i int, came, left int64) {
		p := paces[key]
		if p == nil {
			p = newPace(forecastInterval, forecastIntervals)
			paces[key] = p
		}
		p.New[i], p.Done[i] = came, left
	}
	for i := range forecastIntervals {
		from := end.Add(time.Duration(i-forecastIntervals) * forecastInterval)
		span := store.Span{From: from, To: from.Add(forecastInterval)}
		list, err := a.Store.Activity(ctx, span)
		if err != nil {
			return nil, err
		}
		for k := range list {
			note(queueKey{table: list[k].Table}, i, list[k].Reported, left(&list[k]))
		}
		staged, err := a.Store.StagedActivity(ctx, span)
		if err != nil {
			return nil, err
		}
		for _, s := range staged {
			note(queueKey{pipeline: s.Pipeline}, i, s.Queued, s.Finished)
		}
	}
	return paces, nil
}

func newPace(every time.Duration, n int) *forecast.Pace {
	return &forecast.Pace{Every: every, New: make([]int64, n), Done: make([]int64, n)}
}

// left is how many errors left the queue: they succeeded, were parked, or gave way to a
// repeat, which is counted as reported too. Both of the former are archived in the end, the
// resolved ones a moment later.
func left(a *store.Activity) int64 { return max(a.Succeeded, a.Archived-a.Expired) + a.Parked }

func queueForecast(now time.Time, f wire.QueueForecast, waiting int64, pace *forecast.Pace) wire.QueueForecast {
	if pace == nil {
		pace = &forecast.Pace{}
	}
	o := forecast.Queue(waiting, *pace)
	f.Verdict, f.Waiting, f.NewPerMinute, f.DonePerMinute = string(o.Verdict), o.Waiting, o.NewPerMinute, o.DonePerMinute
	f.EmptyFrom, f.EmptyBy = after(now, o.Earliest), after(now, o.Latest)
	return f
}

// after is a time from now; zero: never.
func after(now time.Time, d time.Duration) time.Time {
	if d <= 0 {
		return time.Time{}
	}
	return now.Add(d)
}
