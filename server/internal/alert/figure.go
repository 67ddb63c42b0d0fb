package alert

import (
	"context"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// Ledger is where figures come from.
type Ledger = store.FigureReader

// Figures are what a store counts, at one moment, as far back as the rules of a
// policy look.
type Figures struct {
	Now    time.Time
	policy *policy.Policy
	codes  *fault.Registry

	levels    []store.Level
	queues    []store.QueueLevel
	activity  map[time.Duration][]store.Activity // by window
	processed map[time.Duration][]store.Processed
	recent    map[time.Duration][]store.RecentCount
}

// today is the window of what is counted since midnight, UTC.
const today = time.Duration(0)

// loader reads each figure once.
type loader struct {
	context.Context
	*Figures
	ledger Ledger
	err    error
}

// Load reads what the metrics of a policy are made of: those that its rules look
// at, over the windows of the rules, and every metric over its own window.
func Load(ctx context.Context, from Ledger, p *policy.Policy, codes *fault.Registry, now time.Time) (*Figures, error) {
	l := loader{Context: ctx, ledger: from, Figures: &Figures{
		Now: now.UTC(), policy: p, codes: codes, activity: map[time.Duration][]store.Activity{},
		processed: map[time.Duration][]store.Processed{}, recent: map[time.Duration][]store.RecentCount{},
	}}
	if l.levels, l.err = from.Levels(ctx, now); l.err != nil {
		return nil, l.err
	}
	if l.queues, l.err = from.QueueLevels(ctx, now, p.ClaimedTables()); l.err != nil {
		return nil, l.err
	}
	l.need(RetrySuccess, Window(p, RetrySuccess))
	l.need(RequestDuration, Window(p, RequestDuration))
	l.need(FailedDuration, Window(p, FailedDuration))
	for _, m := range p.Metrics {
		l.need(m.Name, Window(p, m.Name))
	}
	for i := range p.Alerts {
		l.need(p.Alerts[i].Metric, p.Alerts[i].Window)
	}
	return l.Figures, l.err
}

// Window is the time over which a metric is measured where no rule asks: that of the
// first rule that looks at it, else a day. Of what holds at the moment it is zero.
// Durations go with the failures of requests.
func Window(p *policy.Policy, metric string) time.Duration {
	if metric == RequestDuration || metric == FailedDuration {
		metric = "request_error_rate"
	}
	if kind := kindOf(p, metric); kind != "" && !kind.Windowed() {
		return 0
	}
	i := slices.IndexFunc(p.Alerts, func(a policy.Alert) bool { return a.Metric == metric })
	if i < 0 {
		return 24 * time.Hour
	}
	return p.Alerts[i].Window
}

// need reads what a metric is made of over a window.
func (l *loader) need(metric string, window time.Duration) {
	until := l.Now.Add(time.Microsecond) // what happens at this very moment counts
	span := store.Span{From: until.Add(-window), To: until}
	switch source(metric) {
	case fromTables:
		once(l, l.activity, window, func() ([]store.Activity, error) { return l.ledger.Activity(l, span) })
		if metric == "error_rate" {
			l.work(window, span)
		}
	case fromToday:
		once(l, l.activity, today, func() ([]store.Activity, error) {
			return l.ledger.Activity(l, store.Span{From: store.Day(l.Now), To: until})
		})
	case fromRequests:
		l.work(window, span)
	case fromEvents:
		once(l, l.recent, window, func() ([]store.RecentCount, error) {
			return l.ledger.RecentEvents(l, span, slices.Concat(l.group(fault.GroupDatabase), l.group(fault.GroupExternalService)))
		})
	}
}

func (l *loader) work(window time.Duration, span store.Span) {
	once(l, l.processed, window, func() ([]store.Processed, error) {
		return l.ledger.Processed(l, span, store.ProcessedFilter{})
	})
}

// once reads what has not been read yet, unless something has failed.
func once[T any](l *loader, into map[time.Duration][]T, window time.Duration, read func() ([]T, error)) {
	if _, known := into[window]; known || l.err != nil {
		return
	}
	into[window], l.err = read()
}

// group lists the codes of a group of the registry.
func (f *Figures) group(name string) []recoup.Code {
	var list []recoup.Code
	for _, def := range f.codes.All() {
		if def.Group == name {
			list = append(list, def.Code)
		}
	}
	return list
}
