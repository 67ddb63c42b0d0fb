package api

import (
	"cmp"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

type seriesIn struct{ wire.SeriesFilter }

func (in *seriesIn) filter() recoup.ErrorFilter {
	return recoup.ErrorFilter{Table: in.Table, Hub: in.Hub, Code: in.Code}
}

func (a *API) checkSeries(_ *httpapi.Call, in *seriesIn) error {
	_, err := a.filterOf(in.filter())
	return err
}

// series counts what happened in each of the last hours, of the tables that the caller may
// see.
func (a *API) series(c *httpapi.Call, in *seriesIn) (wire.Series, error) {
	f, err := a.filterOf(in.filter())
	if err != nil {
		return wire.Series{}, err
	}
	if in.Hub != "" {
		in.Hub, _ = a.hub(in.Hub) // the filter has it
	}
	n, end := cmp.Or(in.Hours, recoup.TrendHours), store.Hour(c.Now).Add(time.Hour)
	s := seriesOf{a, c, f, wire.Series{Hours: make([]wire.HourCount, n), Counted: []string{}, Thresholds: []wire.Threshold{}}, store.Span{From: end.Add(time.Duration(-n) * time.Hour), To: end}}
	for i := range s.out.Hours {
		s.out.Hours[i].Hour = s.span.From.Add(time.Duration(i) * time.Hour)
	}
	if in.Table == "" && in.Hub == "" && len(c.Caller.Hubs) == 0 {
		if err := s.events(); err != nil {
			return s.out, err
		}
	}
	if in.Code != "" {
		return s.out, s.ofCode()
	}
	s.out.Thresholds = a.thresholds(c, in)
	return s.out, s.activity()
}

// seriesOf is a series in the making.
type seriesOf struct {
	*API
	*httpapi.Call
	filter store.Filter
	out    wire.Series
	span   store.Span
}

// hour is where an hour is counted.
func (s *seriesOf) hour(at time.Time) *wire.HourCount {
	return &s.out.Hours[int(at.Sub(s.span.From)/time.Hour)]
}

// events counts what is in the ledger.
func (s *seriesOf) events() error {
	list, err := s.Store.EventHours(s.Request.Context(), s.filter.Code, s.span)
	for _, n := range list {
		s.hour(n.Hour).Events = n.N
	}
	s.out.Counted = append(s.out.Counted, "events")
	return err
}

// ofCode counts the reports of a code, from the groups of its errors.
func (s *seriesOf) ofCode() error {
	list, whole, err := s.Engine.CodeHours(s.Request.Context(), s.Caller, s.filter, s.span.From)
	for _, n := range list {
		if n.Hour.Before(s.span.To) {
			s.hour(n.Hour).Reported += n.N
		}
	}
	s.out.Counted, s.out.Partial = append(s.out.Counted, "reported"), !whole
	return err
}

// activity counts what happened to errors, and how many were parked at the end of each hour:
// as many as now, without what was parked since and with what has left the park queue.
func (s *seriesOf) activity() error {
	s.out.Counted = append(s.out.Counted, "reported", "retried", "succeeded", "resolved", "parked", "cleared", "reviewed", "in_park", "escalated", "expired", "archived")
	tables, some, err := s.Engine.TablesOf(s.Caller, s.filter)
	if err != nil || !some {
		return err
	}
	counts, err := s.Engine.Counts(s.Request.Context(), s.Caller)
	if err != nil {
		return err
	}
	list, err := s.Store.ActivityHours(s.Request.Context(), tables, s.span)
	left := make([]int64, len(s.out.Hours))
	for _, n := range list {
		h := s.hour(n.Minute)
		h.Reported, h.Retried, h.Succeeded, h.Parked = n.Reported, n.Attempts, n.Succeeded, n.Parked
		h.Escalated, h.Expired, h.Archived = n.Escalated, n.Expired, n.Archived
		h.Resolved, h.Cleared, h.Reviewed = n.Resolved, n.Cleared, n.Reviewed
		left[int(n.Minute.Sub(s.span.From)/time.Hour)] = n.LeftPark
	}
	parked := int64(0)
	for _, n := range counts {
		if (n.State == recoup.Parked || n.State == recoup.Escalated) && (len(tables) == 0 || slices.Contains(tables, n.Table)) {
			parked += n.N
		}
	}
	for i := len(s.out.Hours) - 1; i >= 0; i-- {
		h := &s.out.Hours[i]
		h.InPark = max(parked, 0)
		parked += left[i] - h.Parked
	}
	return err
}

// thresholds are the rules that compare a figure of the hours, of what was asked: everything,
// or one hub.
func (a *API) thresholds(c *httpapi.Call, in *seriesIn) []wire.Threshold {
	list := []wire.Threshold{}
	hub := in.Hub
	if hub == "" && len(c.Caller.Hubs) == 1 {
		hub = c.Caller.Hubs[0]
	}
	p := a.Engine.Policies.Current()
	for i := range p.Alerts {
		r := &p.Alerts[i]
		everything := hub == "" && len(c.Caller.Hubs) == 0 && r.Per == policy.PerPlatform
		one := hub != "" && r.Per == policy.PerHub && (r.Hub == "" || r.Hub == hub)
		if r.Metric == "parked_errors" && in.Table == "" && (everything || one) {
			list = append(list, wire.Threshold{Rule: r.Name, Figure: "in_park", Compare: string(r.Compare), Value: r.Value, Severity: string(r.Severity)})
		}
	}
	return list
}
