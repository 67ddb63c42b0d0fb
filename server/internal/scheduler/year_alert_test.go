package scheduler_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/alert"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// watch looks over the shoulder of whoever evaluates the rules. It sees the figures
// that they see, and holds what they decide to what the rules say of it.
type watch struct {
	*shaky
	now      time.Time // of the evaluation
	figures  figures
	seen     map[subject]*holding
	open     map[subject]wire.Alert
	notified map[recoup.ID]*notification
	last     map[subject][]time.Time // when its beginning was notified
	silences []wire.Silence
	fired    int
}

// subject is what has one open alert at most.
type subject struct{ rule, scope string }

// holding is since when a condition holds: as far as anybody has looked, and as far
// as an evaluation was carried out to its end.
type holding struct{ looked, sure time.Time }

// notification is what people know of an alert.
type notification struct {
	times int
	at    time.Time
	over  bool
}

// figures are what the last evaluation has read.
type figures struct {
	levels    []store.Level
	activity  map[store.Span][]store.Activity
	recent    map[store.Span][]store.RecentCount
	processed map[store.Span][]store.Processed
	queues    []store.QueueLevel
}

func newFigures() figures {
	return figures{activity: map[store.Span][]store.Activity{}, recent: map[store.Span][]store.RecentCount{}, processed: map[store.Span][]store.Processed{}}
}

func (f figures) Levels(context.Context, time.Time) ([]store.Level, error) { return f.levels, nil }

func (f figures) QueueLevels(context.Context, time.Time, []string) ([]store.QueueLevel, error) {
	return f.queues, nil
}

func (f figures) Activity(_ context.Context, s store.Span) ([]store.Activity, error) {
	return f.activity[s], nil
}

func (f figures) RecentEvents(_ context.Context, s store.Span, _ []recoup.Code) ([]store.RecentCount, error) {
	return f.recent[s], nil
}

func (f figures) Processed(_ context.Context, s store.Span, _ store.ProcessedFilter) ([]store.Processed, error) {
	return f.processed[s], nil
}

func (w *watch) QueueLevels(ctx context.Context, now time.Time, tables []string) (_ []store.QueueLevel, err error) {
	w.figures.queues, err = w.database.QueueLevels(ctx, now, tables)
	return w.figures.queues, err
}

func (w *watch) Levels(ctx context.Context, now time.Time) (list []store.Level, err error) {
	w.figures.levels, err = w.database.Levels(ctx, now)
	return w.figures.levels, err
}

func (w *watch) Activity(ctx context.Context, s store.Span) (list []store.Activity, err error) {
	w.figures.activity[s], err = w.database.Activity(ctx, s)
	return w.figures.activity[s], err
}

func (w *watch) RecentEvents(ctx context.Context, s store.Span, codes []recoup.Code) (list []store.RecentCount, err error) {
	w.figures.recent[s], err = w.database.RecentEvents(ctx, s, codes)
	return w.figures.recent[s], err
}

func (w *watch) Processed(ctx context.Context, s store.Span, f store.ProcessedFilter) (list []store.Processed, err error) {
	w.figures.processed[s], err = w.database.Processed(ctx, s, f)
	return w.figures.processed[s], err
}

// Silences hides them from an evaluation that is to be caught not heeding them.
func (w *watch) Silences(ctx context.Context, at time.Time, p sqldb.Page) ([]wire.Silence, sqldb.Cursor, error) {
	if w.sabotage == hearsNoSilence {
		return nil, sqldb.Cursor{}, nil
	}
	return w.database.Silences(ctx, at, p)
}

// SaveAlerts notes what was decided, once that is committed.
func (w *watch) SaveAlerts(ctx context.Context, term store.Term, now time.Time, v store.Verdict) error {
	w.y.doze()
	switch w.sabotage {
	case neverResolves:
		v.Alerts = slices.DeleteFunc(v.Alerts, func(a wire.Alert) bool { return a.State == wire.AlertResolved })
		v.Notices = slices.DeleteFunc(v.Notices, func(n wire.Notice) bool { return n.Kind == wire.NoticeAlertResolved })
	case losesEnds:
		v.Notices = slices.DeleteFunc(v.Notices, func(n wire.Notice) bool { return n.Kind == wire.NoticeAlertResolved })
	}
	w.look()
	done, err := w.applied(func() error { return w.database.SaveAlerts(ctx, term, now, v) })
	if done {
		w.decided(v)
	}
	return err
}

// rules are the policy's, or those of an evaluation that gets them wrong.
func (w *watch) rules() *policy.Policy {
	p := *w.y.policies.Current()
	if w.sabotage == firesEarly || w.sabotage == repeatsSoon {
		p.Alerts = slices.Clone(p.Alerts)
		for i := range p.Alerts {
			if w.sabotage == firesEarly {
				p.Alerts[i].For = 0
			} else {
				p.Alerts[i].Repeat /= 10
			}
		}
	}
	return &p
}

// evaluate runs the evaluator, and looks at what is there afterwards.
func (w *watch) evaluate(ctx context.Context, term store.Term) (int, error) {
	e := alert.Evaluator{Store: w, Policies: w.rules, Codes: fault.Default, Now: func() time.Time { return w.now }, IDs: w.y.ids}
	w.now, w.figures = w.y.clock(), newFigures()
	n, err := e.Run(ctx, term)
	if err == nil {
		w.settled()
	}
	return n, err
}

// samples calls a function for each rule and each scope that it is measured for,
// with whether its condition holds and whether that says anything.
func (w *watch) samples(each func(rule *policy.Alert, at subject, holds, few bool)) {
	p := w.y.policies.Current()
	f, err := alert.Load(w.y.Context(), w.figures, p, fault.Default(), w.now)
	w.y.must(err)
	for i := range p.Alerts {
		rule := &p.Alerts[i]
		for _, s := range f.Read(rule) {
			kind := p.Metrics[slices.IndexFunc(p.Metrics, func(m policy.Metric) bool { return m.Name == rule.Metric })].Kind
			holds := rule.Compare.Holds(s.Value, rule.Value) && (s.Samples > 0 || kind != policy.Rate && kind != policy.Share)
			each(rule, subject{rule.Name, s.Scope}, holds, kind == policy.Rate && s.Samples < int64(p.MinSamples))
		}
	}
}

// look notes which conditions hold.
func (w *watch) look() {
	w.samples(func(_ *policy.Alert, at subject, holds, few bool) {
		switch {
		case !holds || few && w.open[at].State != wire.AlertFiring:
			delete(w.seen, at)
		case w.seen[at] == nil:
			w.seen[at] = &holding{looked: w.now}
		case w.seen[at].looked.After(w.now): // the clock was set back: it holds since now at the latest
			w.seen[at].looked = w.now
		}
	})
}

// settled holds what is open, after an evaluation that went well, to the figures.
func (w *watch) settled() {
	w.look()
	known := map[subject]bool{}
	w.samples(func(rule *policy.Alert, at subject, holds, few bool) {
		known[at] = true
		a, open := w.open[at]
		h := w.seen[at]
		switch {
		case h == nil && open:
			w.y.wrong("%v is over and its alert is still %s", at, a.State)
		case h == nil:
		case h.sure.IsZero():
			h.sure = w.now
		}
		if h != nil && !few && !w.now.Before(h.sure.Add(rule.For)) && !w.now.Before(a.PendingAt.Add(rule.For)) && a.State != wire.AlertFiring {
			w.y.wrong("%v holds since %v and does not fire: %+v", at, h.sure, a)
		}
		if a.State == wire.AlertFiring && !few && holds {
			w.heard(rule, at, a)
		}
	})
	for at, a := range w.open {
		if !known[at] {
			w.y.wrong("nothing is known of %v any more and its alert is still %s", at, a.State)
		}
	}
}

func (w *watch) silenced(a *wire.Alert) bool {
	return slices.ContainsFunc(w.silences, func(s wire.Silence) bool { return s.Covers(a, w.now) })
}

// heard wants people to have heard of an alert that fires, within the rule's
// interval, unless it is silenced or has come and gone too often.
func (w *watch) heard(rule *policy.Alert, at subject, a wire.Alert) {
	t := w.notified[a.ID]
	switch {
	case w.silenced(&a):
	case t != nil && t.times > 0 && !t.at.After(w.now) && w.now.Sub(t.at) >= rule.Repeat:
		w.y.wrong("%v fires, and of that was last notified %v ago", at, w.now.Sub(t.at))
	case (t == nil || t.times == 0) && !slices.ContainsFunc(w.last[at], func(t time.Time) bool { return w.now.Sub(t) < rule.Repeat }):
		w.y.wrong("%v fires, and nobody was notified", at)
	}
}

// decided holds a verdict that was carried out to what was seen.
func (w *watch) decided(v store.Verdict) {
	ended := map[recoup.ID]bool{}
	for _, a := range v.Alerts {
		at := subject{a.Rule, a.Scope}
		if w.notified[a.ID] == nil {
			w.notified[a.ID] = &notification{}
		}
		if a.State == wire.AlertFiring && w.open[at].State != wire.AlertFiring {
			w.fire(at)
		}
		if w.open[at] = a; a.State == wire.AlertResolved {
			delete(w.open, at)
			ended[a.ID] = w.notified[a.ID].times > 0
		} else {
			w.revisit(at, a)
		}
	}
	groups := map[string]bool{}
	for _, n := range v.Notices {
		var body alert.Body
		w.y.must(json.Unmarshal([]byte(n.Body), &body))
		group := n.To + string(n.Kind)
		if body.Page {
			group += "page"
		}
		if groups[group] {
			w.y.wrong("%s is notified to %s in two notices at once", n.Kind, n.To)
		}
		groups[group] = true
		for _, line := range body.Alerts {
			w.say(n.Kind, &line)
			delete(ended, line.ID)
		}
	}
	for id, unnotified := range ended {
		if unnotified {
			w.y.wrong("%v was notified as firing and not that it is over", id)
		}
	}
}

// revisit sees to it that somebody looks when an alert is due to fire, and sometimes
// when its notification is due to be repeated.
func (w *watch) revisit(at subject, a wire.Alert) {
	i := slices.IndexFunc(w.y.policies.Current().Alerts, func(r policy.Alert) bool { return r.Name == at.rule })
	if i < 0 {
		return
	}
	rule := &w.y.policies.Current().Alerts[i]
	switch {
	case a.State == wire.AlertPending:
		w.y.agenda.add(w.y.now.Add(rule.For+time.Second), func() {})
	case w.y.r.IntN(6) == 0:
		w.y.agenda.add(w.y.now.Add(rule.Repeat/time.Duration(1+w.y.r.IntN(2))+time.Second), func() {})
	}
}

// fire wants the condition to have held for as long as its rule says.
func (w *watch) fire(at subject) {
	w.fired++
	h := w.seen[at]
	for _, rule := range w.y.policies.Current().Alerts {
		if rule.Name == at.rule && (h == nil || w.now.Sub(h.looked) < rule.For) {
			w.y.wrong("%v fires at %v, and holds only since %+v", at, w.now, h)
		}
	}
}

// say holds one line of a notice to what people have heard before.
func (w *watch) say(kind wire.NoticeKind, line *alert.Line) {
	t, at := w.notified[line.ID], subject{line.Rule, line.Scope}
	switch {
	case t == nil:
		w.y.wrong("%s of %v, which nobody has seen", kind, at)
	case kind == wire.NoticeAlertResolved:
		if t.times == 0 || t.over {
			w.y.wrong("%v is notified as over: %+v", at, t)
		}
		t.over = true
	default:
		w.begun(t, at)
		t.times, t.at = t.times+1, w.now
		w.last[at] = append(w.last[at], w.now)
	}
}

// begun wants nobody to hear too often that something fires, or while it is
// silenced.
func (w *watch) begun(t *notification, at subject) {
	a := w.open[at]
	if a.State != wire.AlertFiring || w.silenced(&a) {
		w.y.wrong("%v is notified as firing: %+v", at, a)
	}
	last := w.last[at]
	if len(last) == 0 || w.now.Before(last[len(last)-1]) { // or a clock was set back
		return
	}
	since := w.now.Sub(last[len(last)-1])
	for _, rule := range w.y.policies.Current().Alerts {
		if rule.Name == at.rule && (t.times > 0 && since < rule.Repeat || since < min(5*time.Minute, rule.Repeat)) {
			w.y.wrong("%v is notified as firing again after %v", at, since)
		}
	}
}

// incident lets a provider fail, or the database, sometimes twice in a short while.
func (y *year) incident() {
	again := y.r.IntN(2) == 0
	code, provider, n := recoup.Code("API_UNAVAILABLE"), "millionverifier", 25
	if y.r.IntN(3) == 0 {
		code, provider, n = "DATABASE_ERROR", "", 12
	}
	var burst func()
	burst = func() {
		now := y.clock()
		events := make([]recoup.Event, n)
		for i := range events {
			events[i] = recoup.Event{ID: y.ids.New(now), TS: now, Code: code, Service: "import", ExternalService: provider, CorrelationID: y.ids.New(now)}
		}
		y.must(y.insist(func(ctx context.Context) error { return y.nodes[0].book.Record(ctx, y.clock(), events) }))
		y.agenda.add(y.now.Add(5*time.Minute+2*time.Second), func() {})
		if again {
			again = false
			y.agenda.add(y.now.Add(time.Duration(2+y.r.IntN(6))*time.Minute), burst)
		}
	}
	burst()
}

// hush silences rules for a while.
func (y *year) hush() {
	rules := y.policies.Current().Alerts
	s := wire.Silence{ID: y.ids.New(y.clock()), Until: y.clock().Add(time.Duration(1+y.r.IntN(20*24)) * hour)}
	if y.r.IntN(3) > 0 {
		s.Rule = rules[y.r.IntN(len(rules))].Name
	}
	act := store.Act{By: "ada", Reason: "known", At: y.clock()}
	err := y.insist(func(ctx context.Context) error {
		_, err := y.db.AddSilence(ctx, s, act)
		return err
	})
	if !errors.Is(err, store.ErrConflict) { // that is what a second try is answered after the first
		y.must(err)
	}
	y.watch.silences = append(y.watch.silences, act.AddSilence(s))
}
