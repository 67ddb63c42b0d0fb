package postgres

import (
	"context"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/store/sqlops"
)

// PlannedErrorGroups returns what verbs run against groups of errors.
func PlannedErrorGroups(now time.Time, size int, id recoup.ID) []Planned {
	ctx := context.Background()
	list := []Planned{
		planned("one", func(v sqlops.Ops) { _, _ = v.ErrorGroup(ctx, id) }),
		planned("trend", func(v sqlops.Ops) { _, _ = v.ErrorGroupHours(ctx, []recoup.ID{id}, now.Add(-24*time.Hour)) }),
		planned("purge", func(v sqlops.Ops) { _, _ = v.PurgeErrorGroups(ctx, now.Add(-24*time.Hour), size) }),
		plannedAs("purge hours", 1, func(v sqlops.Ops) { _, _ = v.PurgeErrorGroups(ctx, now.Add(-time.Hour), size) }),
		{"fold", foldErrorGroups, []any{size}},
	}
	for name, f := range map[string]store.ErrorGroupFilter{
		"all": {}, "table": {Table: "outreach.dol_errors"}, "hub": {Tables: []string{"outreach.dol_errors", "people.people_errors"}}, "code": {Code: "CODE_7"},
		"code of a table": {Table: "people.people_errors", Code: "CODE_7"}, "parked": {State: recoup.Parked}, "pending": {State: recoup.RetryPending},
	} {
		for _, order := range []recoup.GroupOrder{recoup.GroupsByOpen, recoup.GroupsBySeen} {
			f.Order = order
			for at, page := range map[string]sqldb.Page{"": {Limit: size}, ", further on": {Limit: size, Cursor: sqldb.Cursor{At: cursorAt(order, now), ID: id}}} {
				list = append(list, planned("list "+name+" by "+string(order)+at, func(v sqlops.Ops) { _, _, _ = v.ErrorGroups(ctx, f, page) }))
			}
		}
	}
	return list
}

// cursorAt is in the midst of a list.
func cursorAt(order recoup.GroupOrder, now time.Time) time.Time {
	if order == recoup.GroupsByOpen {
		return time.UnixMicro(500)
	}
	return now.Add(-24 * time.Hour)
}
