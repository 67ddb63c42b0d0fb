package postgres

import (
	"time"

	"recoup"
	"recoup/internal/store"
)

// FoldCountsSQL is what FoldCounts runs.
const FoldCountsSQL = foldCounts

// PlannedAlerts returns what verbs about alerts, their figures and the outbox
// run against tables that grow.
func PlannedAlerts(now time.Time, size int) []Planned {
	span := store.Span{From: now.Add(-24 * time.Hour), To: now}.Minutes()
	head, whole, tail := span.Hours()
	list := []Planned{
		{"open", selectAlert + " where state <> 'RESOLVED' order by rule, coalesce(scope, '') limit $1", []any{store.MaxOpenAlerts}},
		{"activity of a day", selectActivity, []any{whole.From, whole.To, head.From, head.To, tail.From, tail.To, span.From, span.To}},
	}
	cursor := store.Cursor{At: now.Add(-24 * time.Hour), ID: recoup.ID{1}}
	for at, page := range map[string]store.Page{"": {Limit: size}, ", further on": {Limit: size, Cursor: cursor}} {
		for name, f := range map[string]store.AlertFilter{
			"all": {}, "rule": {Rule: "r1"}, "scope": {Scope: "s1"}, "state": {States: []store.AlertState{store.AlertFiring}},
			"resolved": {States: []store.AlertState{store.AlertResolved}},
			"told":     {States: []store.AlertState{store.AlertResolved}, Rule: "r1", Scope: "s1", Told: true},
		} {
			q := alertQuery(f, page)
			list = append(list, Planned{"alerts by " + name + at, q.String(), q.args})
		}
		for name, f := range map[string]store.NoticeFilter{
			"all": {}, "waiting": {State: store.NoticeWaiting}, "delivered": {State: store.NoticeDelivered},
			"given up": {State: store.NoticeGivenUp}, "given up, to one": {State: store.NoticeGivenUp, To: "t1"},
		} {
			q := noticeQuery(f, page)
			list = append(list, Planned{"notices by " + name + at, q.String(), q.args})
		}
	}
	for name, errors := range map[string][]recoup.ID{"of errors": {{1}, {2}}, "of no error": nil} {
		q := waitingQuery(recoup.NoticeAlert, errors)
		list = append(list, Planned{"what waits " + name, q.String(), q.args})
	}
	return list
}
