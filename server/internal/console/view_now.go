package console

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/admin"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// stat is a figure that leads to the list behind it.
type stat struct {
	Title, Value, Why, Href string
	Hot                     bool // it needs a person
	Unknown                 bool // the key may not see it
}

// nowPage is how things stand.
type nowPage struct {
	Headline, Rest string
	Stats          []stat
	Alerts         []wire.Alert
	Groups         []groupRow
	Series         hourChart
	Forecasts      []forecastRow
	Acts           []wire.AuditEntry
	MayAudit       bool
}

// nowParts are what the page is made of; each asks for itself, and all at once.
func nowParts() []func(context.Context, *Request, *nowPage) (stat, error) {
	return []func(context.Context, *Request, *nowPage) (stat, error){overdue, firing, waiting, unclaimed, letters, running, lateJobs, undelivered}
}

func viewNow(v *Request) (any, error) {
	p := &nowPage{MayAudit: v.who.May("operator", "admin")}
	parts := nowParts()
	p.Stats = make([]stat, len(parts))
	failed := make([]error, len(parts)+3)
	var all sync.WaitGroup
	for i, part := range parts {
		all.Go(func() { p.Stats[i], failed[i] = v.seen(part(v.ctx(), v, p)) })
	}
	all.Go(func() {
		page, err := v.client.ErrorGroups.List(v.ctx(), recoup.ErrorGroupFilter{}, client.Page{Limit: 6})
		for i := range page.Groups {
			p.Groups = append(p.Groups, groupRow{page.Groups[i], hours(page.Groups[i].Trend)})
		}
		failed[len(parts)] = v.optional(err)
	})
	all.Go(func() {
		page, err := admin.New(v.client).Audit.List(v.ctx(), wire.AuditFilter{}, client.Page{Limit: 6})
		p.Acts, failed[len(parts)+1] = page.Entries, v.optional(err)
	})
	all.Go(func() {
		series, err := admin.New(v.client).System.Series(v.ctx(), wire.SeriesFilter{Hours: recoup.TrendHours})
		p.Series, failed[len(parts)+2] = newHourChart(series), v.optional(err)
	})
	all.Wait()
	if err := errors.Join(failed...); err != nil {
		return nil, err
	}
	p.Headline, p.Rest = headline(p.Stats)
	if v.limited != nil {
		p.Headline, p.Rest = "Some figures are missing", "Reload the page to read them."
	}
	return p, nil
}

// seen marks a figure that could not be read without failing the page.
func (v *Request) seen(s stat, err error) (stat, error) {
	switch {
	case err == nil:
	case permitted(err) == nil:
		s.Value, s.Why, s.Unknown = "?", "your key may not see it", true
	case v.optional(err) == nil:
		s.Value, s.Why, s.Unknown = "?", "not read: rate limit reached", true
	default:
		return s, err
	}
	return s, nil
}

// optional drops the error of a part that a page can be shown without: one that the key may
// not see, or that its rate limit or an overloaded server has refused, which the page then
// says.
func (v *Request) optional(err error) error {
	refused, ok := errors.AsType[*fault.Error](err)
	if !ok || refused.Code != fault.CodeRateLimitExceeded && refused.Code != fault.CodeServiceOverloaded {
		return permitted(err)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.limited = refused
	return nil
}

// permitted drops the error of a key that may not see something.
func permitted(err error) error {
	if refused, ok := errors.AsType[*fault.Error](err); ok && refused.Code == fault.CodeInsufficientPermissions {
		return nil
	}
	return err
}

// headline is how things stand in a sentence.
func headline(stats []stat) (first, rest string) {
	n := 0
	for _, s := range stats {
		if s.Hot {
			n++
		}
	}
	words := []string{"Nothing needs you", "One thing needs you", "Two things need you", "Three things need you", "Four things need you", "Five things need you"}
	switch {
	case n == 0:
		return words[0], "The platform looks after itself."
	case n == 1:
		return words[1], "It is marked in red. The rest looks after itself."
	case n < len(words):
		return words[n], "They are marked in red. The rest looks after itself."
	}
	return fmt.Sprintf("%d things need you", n), "They are marked in red. The rest looks after itself."
}

// overdue counts review deadlines that have passed, and shows what becomes of the others.
func overdue(ctx context.Context, v *Request, p *nowPage) (stat, error) {
	s := stat{Title: "Reviews overdue", Href: "park", Why: "nobody has missed a deadline"}
	f, err := admin.New(v.client).System.Forecast(ctx)
	p.Forecasts = forecastRows(&f)
	var n int64
	var oldest *wire.ParkForecast
	for i := range f.Park {
		q := &f.Park[i]
		if n += q.Overdue; q.Overdue > 0 && (oldest == nil || q.OverdueSince.Before(oldest.OverdueSince)) {
			oldest = q
		}
	}
	s.Value, s.Hot = count(n), n > 0
	if oldest != nil {
		s.Why = fmt.Sprintf("oldest by %s, in %s", span(v.now.Sub(oldest.OverdueSince)), oldest.Table)
	}
	if f.Partial {
		s.Value += "+"
	}
	return s, err
}

func firing(ctx context.Context, v *Request, p *nowPage) (stat, error) {
	s := stat{Title: "Alerts firing", Value: "0", Why: "no rule holds", Href: "alerts"}
	page, err := admin.New(v.client).Alerts.List(ctx, wire.AlertFilter{State: wire.AlertFiring}, client.Page{Limit: 100})
	p.Alerts = page.Alerts
	loud := 0
	for i := range page.Alerts {
		if a := &page.Alerts[i]; !a.Silenced {
			loud++
			s.Why = fmt.Sprintf("%s %s, since %s", a.Rule, a.Scope, span(v.now.Sub(a.FiredAt)))
		}
	}
	s.Value, s.Hot = count(int64(loud)), loud > 0
	return s, err
}

func waiting(ctx context.Context, v *Request, _ *nowPage) (stat, error) {
	s := stat{Title: "Parked for a person", Href: "park", Why: "the park queue is empty"}
	counts, err := v.client.Errors.Counts(ctx)
	var parked, escalated int64
	for _, c := range counts {
		switch c.State {
		case recoup.Parked:
			parked += c.N
		case recoup.Escalated:
			escalated += c.N
		}
	}
	s.Value = count(parked + escalated)
	if parked+escalated > 0 {
		s.Why = fmt.Sprintf("%s of them escalated", count(escalated))
	}
	return s, err
}

func unclaimed(ctx context.Context, v *Request, _ *nowPage) (stat, error) {
	s := stat{Title: "Due and unclaimed", Href: "errors?state=RETRY_PENDING", Why: "workers keep up"}
	queues, err := admin.New(v.client).System.Workers(ctx)
	var n int64
	for i := range queues {
		q := &queues[i]
		n += q.Due
		if q.Unattended {
			s.Hot, s.Why = true, q.Name()+": no worker for "+span(v.now.Sub(q.DueSince))
		}
	}
	s.Value = count(n)
	return s, err
}

func letters(ctx context.Context, v *Request, _ *nowPage) (stat, error) {
	s := stat{Title: "Dead letters", Href: "dead-letters", Why: "none open"}
	page, err := v.client.DeadLetterGroups.List(ctx, client.DeadLetterGroupFilter{}, client.Page{Limit: 100})
	var n, groups, nobodys int64
	for i := range page.Groups {
		if g := &page.Groups[i]; g.Open > 0 {
			n += g.Open
			groups++
			if g.Owner == "" && g.Note == "" {
				nobodys++
			}
		}
	}
	if s.Value = count(n); page.Next != "" {
		s.Value += "+"
	}
	if n > 0 {
		s.Why, s.Hot = fmt.Sprintf("in %s, %d without an owner", plural(groups, "group"), nobodys), nobodys > 0
	}
	return s, err
}

func running(ctx context.Context, v *Request, _ *nowPage) (stat, error) {
	s := stat{Title: "Operations under way", Href: "operations", Why: "none"}
	replays := func(state recoup.ReplayState, n *int) func() error {
		return func() error {
			page, err := v.client.Replays.List(ctx, string(state), client.Page{Limit: 100})
			*n = len(page.Replays)
			return err
		}
	}
	acts := func(state recoup.OperationState, n *int) func() error { // what collects waits for a person
		return func() error {
			page, err := v.client.Operations.List(ctx, string(state), client.Page{Limit: 100})
			*n = len(page.Operations)
			return err
		}
	}
	var n [5]int
	err := together(replays(recoup.ReplayCollecting, &n[0]), replays(recoup.ReplayRunning, &n[1]), acts(recoup.OperationRunning, &n[2]), replays(recoup.ReplayPaused, &n[3]), acts(recoup.OperationPaused, &n[4]))
	paused := n[3] + n[4]
	under := n[0] + n[1] + n[2] + paused
	if s.Value = count(int64(under)); under > 0 {
		s.Why, s.Hot = count(int64(paused))+" paused", paused > 0
	}
	return s, err
}

func lateJobs(ctx context.Context, v *Request, _ *nowPage) (stat, error) {
	s := stat{Title: "Late jobs", Href: "admin", Why: "all on time"}
	found, err := admin.New(v.client).Jobs.List(ctx)
	n := 0
	for i := range found.Jobs {
		if j := &found.Jobs[i]; j.Late || j.Error != "" {
			n++
			s.Why = j.Name + " is late or fails"
		}
	}
	s.Value, s.Hot = count(int64(n)), n > 0
	if err == nil && found.Leader == "" {
		s.Hot, s.Why = true, "no node leads"
	}
	return s, err
}

func undelivered(ctx context.Context, v *Request, _ *nowPage) (stat, error) {
	s := stat{Title: "Notifications given up", Href: "admin", Why: "all delivered"}
	page, err := admin.New(v.client).Notifications.List(ctx, wire.NoticeFilter{State: "GIVEN_UP"}, client.Page{Limit: 100})
	n := int64(len(page.Notices))
	if s.Value = count(n); n > 0 {
		s.Hot, s.Why = true, "the last for "+page.Notices[0].To
	}
	return s, err
}
