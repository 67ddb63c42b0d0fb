package postgres

import (
	"context"
	"time"

	"recoup"
	"recoup/internal/store"
	"recoup/internal/store/row"
	"recoup/internal/store/verb"
)

// FoldCountsSQL is what FoldCounts runs.
const FoldCountsSQL = foldCounts

// PlannedAlerts returns what verbs about alerts, their figures and the outbox
// run against tables that grow.
func PlannedAlerts(now time.Time, size int) []Planned {
	span := store.Span{From: now.Add(-24 * time.Hour), To: now}.Minutes()
	head, whole, tail := span.Hours()
	list := []Planned{
		planned("open", func(v verb.Verbs) { _, _ = v.OpenAlerts(context.Background()) }),
		{"activity of a day", selectActivity, []any{whole.From, whole.To, head.From, head.To, tail.From, tail.To, span.From, span.To}},
	}
	cursor := store.Cursor{At: now.Add(-24 * time.Hour), ID: recoup.ID{1}}
	for at, page := range map[string]store.Page{"": {Limit: size}, ", further on": {Limit: size, Cursor: cursor}} {
		for name, f := range map[string]store.AlertFilter{
			"all": {}, "rule": {Rule: "r1"}, "scope": {Scope: "s1"}, "state": {States: []store.AlertState{store.AlertFiring}},
			"resolved": {States: []store.AlertState{store.AlertResolved}},
			"told":     {States: []store.AlertState{store.AlertResolved}, Rule: "r1", Scope: "s1", Told: true},
		} {
			list = append(list, planned("alerts by "+name+at, func(v verb.Verbs) { _, _, _ = v.Alerts(context.Background(), f, page) }))
		}
		for name, f := range map[string]store.NoticeFilter{
			"all": {}, "waiting": {State: store.NoticeWaiting}, "delivered": {State: store.NoticeDelivered},
			"given up": {State: store.NoticeGivenUp}, "given up, to one": {State: store.NoticeGivenUp, To: "t1"},
		} {
			list = append(list, planned("notices by "+name+at, func(v verb.Verbs) { _, _, _ = v.Notices(context.Background(), f, page) }))
		}
	}
	for name, errors := range map[string][]recoup.ID{"of errors": {{1}, {2}}, "of no error": nil} {
		list = append(list, planned("what waits "+name, func(v verb.Verbs) { _, _ = v.WaitingNotices(context.Background(), recoup.NoticeAlert, errors) }))
	}
	return list
}

// planned returns the question that a verb asks.
func planned(name string, ask func(verb.Verbs)) Planned {
	var asked questions
	ask(verb.On(&asked))
	return Planned{name, asked[0].SQL(), parameters(asked[0].Args)}
}

// questions is a database that notes what it is asked.
type questions []*verb.Query

func (q *questions) Act(context.Context, string, time.Time, func(verb.Tx) error) error { return nil }

func (q *questions) Read(_ context.Context, asked *verb.Query, _ row.Answer) error {
	*q = append(*q, asked)
	return nil
}
