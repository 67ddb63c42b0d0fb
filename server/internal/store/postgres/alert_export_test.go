package postgres

import (
	"context"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/gatezero"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/store/sqlops"
	"github.com/recoup-dev/recoup/server/internal/test/queryrecorder"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// FoldCountsSQL is what FoldCounts runs.
const FoldCountsSQL = foldCounts

// PlannedAlerts returns what verbs about alerts, their figures and the outbox
// run against tables that grow.
func PlannedAlerts(now time.Time, size int) []Planned {
	day := store.Span{From: now.Add(-24 * time.Hour), To: now}
	list := []Planned{
		planned("open", func(v sqlops.Ops) { _, _ = v.OpenAlerts(context.Background()) }),
		planned("activity of a day", func(v sqlops.Ops) { _, _ = v.Activity(context.Background(), day) }),
	}
	cursor := sqldb.Cursor{At: now.Add(-24 * time.Hour), ID: recoup.ID{1}}
	for at, page := range map[string]sqldb.Page{"": {Limit: size}, ", further on": {Limit: size, Cursor: cursor}} {
		for name, f := range map[string]store.AlertFilter{
			"all": {}, "rule": {Rule: "r1"}, "scope": {Scope: "s1"}, "state": {States: []wire.AlertState{wire.AlertFiring}},
			"resolved": {States: []wire.AlertState{wire.AlertResolved}},
			"notified": {States: []wire.AlertState{wire.AlertResolved}, Rule: "r1", Scope: "s1", Notified: true},
		} {
			list = append(list, planned("alerts by "+name+at, func(v sqlops.Ops) { _, _, _ = v.Alerts(context.Background(), f, page) }))
		}
		for name, f := range map[string]wire.NoticeFilter{
			"all": {}, "waiting": {State: wire.NoticeWaiting}, "delivered": {State: wire.NoticeDelivered},
			"given up": {State: wire.NoticeGivenUp}, "given up, to one": {State: wire.NoticeGivenUp, To: "t1"},
		} {
			list = append(list, planned("notices by "+name+at, func(v sqlops.Ops) { _, _, _ = v.Notices(context.Background(), f, page) }))
		}
	}
	for name, errors := range map[string][]recoup.ID{"of errors": {{1}, {2}}, "of no error": nil} {
		list = append(list, planned("what waits "+name, func(v sqlops.Ops) { _, _ = v.WaitingNotices(context.Background(), wire.NoticeAlert, errors) }))
	}
	return list
}

// PlannedDaily returns how the counts of a week are read.
func PlannedDaily(now time.Time) (list []Planned) {
	for name, f := range map[string]store.DailyFilter{"service": {Service: "s7"}, "code": {Code: "C7"}, "both": {Service: "s7", Code: "C7"}} {
		list = append(list, planned(name, func(v sqlops.Ops) { _, _ = v.Daily(context.Background(), f, now.AddDate(0, 0, -6), now) }))
	}
	return list
}

// planned returns the first question that a verb asks.
func planned(name string, do func(sqlops.Ops)) Planned { return plannedAs(name, 0, do) }

// plannedAs returns one of the statements of a verb.
func plannedAs(name string, n int, do func(sqlops.Ops)) Planned {
	asked := queryrecorder.Of(sqldb.PostgreSQL, do)[n]
	return Planned{name, asked.SQL, parameters(asked.Args)}
}

// PlannedIDParts returns what a search for a part of an id runs.
func PlannedIDParts(kind recoup.IDKind) (list []Planned) {
	find := func(v sqlops.Ops) { _, _ = v.FindIDs(context.Background(), kind, "abcdef", 10) }
	if place, ok := gatezero.Places()[kind]; ok {
		find = func(v sqlops.Ops) { _, _ = sqldb.FindIDs(context.Background(), v.SQL(), "abcdef", 10, place) }
	}
	for _, asked := range queryrecorder.Of(sqldb.PostgreSQL, find) {
		list = append(list, Planned{string(kind), asked.SQL, parameters(asked.Args)})
	}
	return list
}
