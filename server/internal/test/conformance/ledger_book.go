package conformance

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// What the book says is found by looking at every event.

func (b *Bookkeeper) listed(f store.EventFilter) (list []store.Event) {
	for _, e := range b.book {
		if (f.Correlation.IsZero() || e.CorrelationID == f.Correlation) && (f.Service == "" || e.Service == f.Service) &&
			(f.Code == "" || e.Code == f.Code) && (f.From.IsZero() || !e.TS.Before(f.From)) && (f.To.IsZero() || e.TS.Before(f.To)) {
			list = append(list, e)
		}
	}
	slices.SortFunc(list, func(x, y store.Event) int { return cmp.Or(y.TS.Compare(x.TS), bytes.Compare(y.ID[:], x.ID[:])) })
	return list
}

func (b *Bookkeeper) in(span store.Span) []store.Event {
	return b.listed(store.EventFilter{From: span.From, To: span.To})
}

func (b *Bookkeeper) topCodes(span store.Span) (list []recoup.CodeCount) {
	counts := map[recoup.Code]int64{}
	for _, e := range b.in(span) {
		counts[e.Code]++
	}
	for code, n := range counts {
		list = append(list, recoup.CodeCount{Code: code, Count: n})
	}
	slices.SortFunc(list, func(x, y recoup.CodeCount) int {
		return cmp.Or(cmp.Compare(y.Count, x.Count), strings.Compare(string(x.Code), string(y.Code)))
	})
	return list
}

func (b *Bookkeeper) daily(f store.DailyFilter, span store.Span) (list []store.DailyCount) {
	type key struct {
		day     time.Time
		service string
		code    recoup.Code
	}
	counts := map[key]store.DailyCount{}
	for _, e := range b.in(span) {
		if f.Service != "" && e.Service != f.Service || f.Code != "" && e.Code != f.Code {
			continue
		}
		k := key{e.TS.Truncate(24 * time.Hour), e.Service, e.Code}
		c := counts[k]
		c.Day, c.Service, c.Code = k.day, k.service, k.code
		c.Count++
		if retryable(e) {
			c.Retryable++
		}
		if e.TS.After(c.LastSeen) {
			c.LastSeen = e.TS
		}
		counts[k] = c
	}
	for _, c := range counts {
		list = append(list, c)
	}
	slices.SortFunc(list, func(x, y store.DailyCount) int {
		return cmp.Or(x.Day.Compare(y.Day), strings.Compare(x.Service, y.Service), strings.Compare(string(x.Code), string(y.Code)))
	})
	return list
}

func (b *Bookkeeper) rates(span store.Span) (list []recoup.ServiceRate) {
	for _, c := range b.daily(store.DailyFilter{}, span) {
		i := slices.IndexFunc(list, func(r recoup.ServiceRate) bool { return r.Service == c.Service })
		if i < 0 {
			i, list = len(list), append(list, recoup.ServiceRate{Service: c.Service})
		}
		list[i].Retryable += c.Retryable
		list[i].Total += c.Count
	}
	slices.SortFunc(list, func(x, y recoup.ServiceRate) int {
		return cmp.Or(cmp.Compare(y.Retryable*x.Total, x.Retryable*y.Total), strings.Compare(x.Service, y.Service))
	})
	return list
}

// retryable is what the event says, else what the registry says.
func retryable(e store.Event) bool {
	if yes, said := e.Details["retryable"].(bool); said {
		return yes
	}
	def, _ := fault.Default().Lookup(e.Code)
	return def.Retryable(false)
}
