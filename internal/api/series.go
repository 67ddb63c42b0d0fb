package api

import (
	"cmp"
	"time"

	"recoup"
	"recoup/client"
	"recoup/internal/store"
)

type seriesIn struct{ client.SeriesFilter }

func (a *API) checkSeries(_ *call, in *seriesIn) error {
	_, err := a.filterOf(client.Filter{Table: in.Table, Hub: in.Hub})
	return err
}

// series counts what happened in each of the last hours, of the tables that the caller may
// see.
func (a *API) series(c *call, in *seriesIn) (client.Series, error) {
	f, err := a.filterOf(client.Filter{Table: in.Table, Hub: in.Hub})
	if err != nil {
		return client.Series{}, err
	}
	n, end := cmp.Or(in.Hours, recoup.TrendHours), store.Hour(c.now).Add(time.Hour)
	out := client.Series{Hours: make([]client.HourCount, n)}
	for i := range out.Hours {
		out.Hours[i].Hour = end.Add(time.Duration(i-n) * time.Hour)
	}
	tables, some, err := a.Engine.TablesOf(c.caller, f)
	if err != nil || !some {
		return out, err
	}
	list, err := a.Store.ActivityHours(c.r.Context(), tables, store.Span{From: out.Hours[0].Hour, To: end})
	for _, n := range list {
		h := &out.Hours[int(n.Minute.Sub(out.Hours[0].Hour)/time.Hour)]
		h.Reported, h.Retried, h.Succeeded, h.Parked = n.Reported, n.Attempts, n.Succeeded, n.Parked
		h.Escalated, h.Expired, h.Archived = n.Escalated, n.Expired, n.Archived
	}
	return out, err
}
