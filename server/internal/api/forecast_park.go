package api

import (
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/forecast"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// A forecast of park queues is made of what people did in the last week, a quarter of a
// day at a time: they work by day, and not every day.
const (
	parkInterval  = 6 * time.Hour
	parkIntervals = 28
)

// parkEdges are the limits of the stretches in which deadlines are counted, from now on:
// the further away, the longer.
func parkEdges(now time.Time) []time.Time {
	edges := []time.Time{now}
	for _, hours := range []int{1, 2, 4, 8, 12, 18, 24, 36, 48, 72, 96, 120, 144, 168, 240, 336, 504, 720, 1440, 2160} {
		edges = append(edges, now.Add(time.Duration(hours)*time.Hour))
	}
	return edges
}

// parkPace is what happened in the park queue of a table.
type parkPace struct{ cleared, reviewed *forecast.Pace }

// parkForecasts says of each park queue that the caller may see what becomes of it.
func (a *API) parkForecasts(c *httpapi.Call, counts []recoup.StateCount, out *wire.Forecast) error {
	ctx, edges := c.Context(), parkEdges(c.Now)
	reviews, err := a.Store.ParkDeadlines(ctx, store.ParkReview, edges)
	if err != nil {
		return err
	}
	expiries, err := a.Store.ParkDeadlines(ctx, store.ParkExpiry, edges)
	if err != nil {
		return err
	}
	paces, err := a.parkPaces(c)
	if err != nil {
		return err
	}
	out.Partial = deadlines(reviews) >= store.MaxDeadlines || deadlines(expiries) >= store.MaxDeadlines
	out.Park = []wire.ParkForecast{}
	for i, n := range counts { // by table
		if i > 0 && counts[i-1].Table == n.Table {
			continue
		}
		if waiting := inState(counts, n.Table, recoup.Parked, recoup.Escalated); waiting > 0 {
			out.Park = append(out.Park, parkForecast(c.Now, edges, n.Table, waiting, paces[n.Table], reviews, expiries))
		}
	}
	return nil
}

func deadlines(list []store.DeadlineCount) (n int64) {
	for i := range list {
		n += list[i].N
	}
	return n
}

// parkPaces are what happened in park queues, interval by interval. The present hour is
// not over, and no part of it.
func (a *API) parkPaces(c *httpapi.Call) (map[string]parkPace, error) {
	from := store.Hour(c.Now).Add(-parkIntervals * parkInterval)
	list, err := a.Store.HourlyActivity(c.Context(), store.Span{From: from, To: store.Hour(c.Now)})
	if err != nil {
		return nil, err
	}
	paces := map[string]parkPace{}
	for i := range list {
		n := &list[i]
		p, known := paces[n.Table]
		if !known {
			p = parkPace{newPace(parkInterval, parkIntervals), newPace(parkInterval, parkIntervals)}
			paces[n.Table] = p
		}
		at := int(n.Minute.Sub(from) / parkInterval)
		p.cleared.New[at] += n.Parked
		p.cleared.Done[at] += n.Cleared
		p.reviewed.New[at] += n.Parked
		p.reviewed.Done[at] += n.Reviewed
	}
	return paces, nil
}

func parkForecast(now time.Time, edges []time.Time, table string, waiting int64, pace parkPace, reviews, expiries []store.DeadlineCount) wire.ParkForecast {
	if pace.cleared == nil {
		pace = parkPace{&forecast.Pace{}, &forecast.Pace{}}
	}
	const day = 24 * 60
	o, reviewed := forecast.Queue(waiting, pace.cleared.Known()), forecast.Queue(0, pace.reviewed.Known())
	f := wire.ParkForecast{
		Table: table, Verdict: string(o.Verdict), Waiting: waiting,
		NewPerDay: o.NewPerMinute * day, ClearedPerDay: o.DonePerMinute * day, ReviewedPerDay: reviewed.DonePerMinute * day,
		EmptyFrom: after(now, o.Earliest), EmptyBy: after(now, o.Latest),
	}
	if i := slices.IndexFunc(reviews, func(d store.DeadlineCount) bool { return d.Table == table && d.Bucket == 0 }); i >= 0 {
		f.Overdue, f.OverdueSince = reviews[i].N, reviews[i].First
	}
	f.Reviews = deadlineForecast(now, forecast.Missing(stretches(now, edges, table, reviews), f.Overdue, *pace.reviewed))
	f.Expiries = deadlineForecast(now, forecast.Missing(stretches(now, edges, table, expiries), 0, *pace.cleared))
	return f
}

// far is behind every deadline.
const far = 100 * 365 * 24 * time.Hour

// stretches are the deadlines of a table as a forecast takes them.
func stretches(now time.Time, edges []time.Time, table string, list []store.DeadlineCount) (out []forecast.Deadlines) {
	for i := range list {
		d := &list[i]
		if d.Table != table {
			continue
		}
		s := forecast.Deadlines{From: d.First.Sub(now), To: far, N: d.N}
		if d.Bucket < len(edges) {
			s.To = edges[d.Bucket].Sub(now)
		}
		out = append(out, s)
	}
	return out
}

func deadlineForecast(now time.Time, m forecast.Missed) wire.DeadlineForecast {
	return wire.DeadlineForecast{Verdict: string(m.Verdict), Of: m.Of, Fewest: m.Fewest, Most: m.Most, First: after(now, m.First)}
}
