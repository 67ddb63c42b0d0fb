package alert

import (
	"context"
	"errors"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// Store is what an evaluation reads and writes.
type Store interface {
	store.FigureReader
	store.AlertReader
	store.AlertWriter
}

// Evaluator judges the rules of the policy in force against the figures of a store.
// Every field is required.
type Evaluator struct {
	Store    Store
	Policies func() *policy.Policy
	Codes    func() *fault.Registry
	Now      func() time.Time
	IDs      *recoup.IDSource
}

// maxOvertaken is how often a run that another has overtaken decides anew.
const maxOvertaken = 3

// Run evaluates every rule once and keeps what has changed, in one commit. It
// returns how many alerts and providers that was. From a leader whose term is over
// it is store.ErrRefused. If another run or somebody who switches a provider comes
// first it decides anew, by what is there then; if that happens again and again
// it is store.ErrConflict, and nothing was done.
func (e *Evaluator) Run(ctx context.Context, term store.Term) (changed int, err error) {
	for range maxOvertaken {
		if changed, err = e.run(ctx, term); !errors.Is(err, store.ErrConflict) {
			break
		}
	}
	return changed, err
}

func (e *Evaluator) run(ctx context.Context, term store.Term) (changed int, err error) {
	s, err := e.situation(ctx)
	if err != nil {
		return 0, err
	}
	v := Evaluate(s)
	if len(v.Alerts)+len(v.Notices)+len(v.Switches) == 0 {
		return 0, nil
	}
	if err := e.Store.SaveAlerts(ctx, term, s.Now, v); err != nil {
		return 0, err
	}
	return len(v.Alerts) + len(v.Switches), nil
}

// situation reads all that an evaluation depends on.
func (e *Evaluator) situation(ctx context.Context) (Situation, error) {
	s := Situation{Policy: e.Policies(), Now: e.Now(), IDs: e.IDs}
	figures, err := Load(ctx, e.Store, s.Policy, e.Codes(), s.Now)
	if err != nil {
		return s, err
	}
	s.Read = figures.Read
	if s.Open, err = e.Store.OpenAlerts(ctx); err != nil {
		return s, err
	}
	if s.Earlier, err = e.earlier(ctx, &s); err != nil {
		return s, err
	}
	if s.Silences, err = e.silences(ctx, s.Now); err != nil {
		return s, err
	}
	if s.Providers, err = e.Store.Providers(ctx); err != nil {
		return s, err
	}
	s.Resolved, err = e.resolved(ctx, &s)
	return s, err
}

// maxEarlier is how many alerts of a rule and a scope are looked back at: more than
// it takes to rest for as long as a rule can.
const maxEarlier = 10

// earlier returns the last alerts that were notified, and are over, of each rule and
// scope that holds and of which nobody has been notified yet.
func (e *Evaluator) earlier(ctx context.Context, s *Situation) ([]wire.Alert, error) {
	notified := map[key]bool{}
	for _, a := range s.Open {
		notified[key{a.Rule, a.Scope}] = a.Notified > 0
	}
	var all []wire.Alert
	for i := range s.Policy.Alerts {
		rule := &s.Policy.Alerts[i]
		for _, sample := range s.Read(rule) {
			if notified[key{rule.Name, sample.Scope}] || !rule.Compare.Holds(sample.Value, rule.Value) {
				continue
			}
			list, _, err := e.Store.Alerts(ctx, store.AlertFilter{States: []wire.AlertState{wire.AlertResolved}, Rule: rule.Name, Scope: sample.Scope, Notified: true},
				sqldb.Page{Limit: maxEarlier})
			if err != nil {
				return nil, err
			}
			all = append(all, list...)
		}
	}
	return all, nil
}

func (e *Evaluator) silences(ctx context.Context, now time.Time) ([]wire.Silence, error) {
	var all []wire.Silence
	page := sqldb.Page{Limit: sqldb.MaxPage}
	for {
		list, next, err := e.Store.Silences(ctx, now, page)
		all = append(all, list...)
		if err != nil || next.IsZero() {
			return all, err
		}
		page.Cursor = next
	}
}

// resolved says when the last alert of each provider ended that can switch it, for
// groups that are not where they began.
func (e *Evaluator) resolved(ctx context.Context, s *Situation) (map[string]time.Time, error) {
	ended := map[string]time.Time{}
	for i := range s.Policy.Providers {
		group := &s.Policy.Providers[i]
		if active, _ := InUse(group, s.Providers); active == group.Members[0] {
			continue
		}
		for _, rule := range s.Policy.Alerts {
			if rule.Action != wire.SwitchProvider {
				continue
			}
			for _, member := range group.Members {
				list, _, err := e.Store.Alerts(ctx, store.AlertFilter{States: []wire.AlertState{wire.AlertResolved}, Rule: rule.Name, Scope: member}, sqldb.Page{Limit: 1})
				if err != nil {
					return nil, err
				}
				if len(list) > 0 && list[0].ResolvedAt.After(ended[member]) {
					ended[member] = list[0].ResolvedAt
				}
			}
		}
	}
	return ended, nil
}
