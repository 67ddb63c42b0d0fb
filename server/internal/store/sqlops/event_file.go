package sqlops

import (
	"context"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

var (
	eventFiles   = sqldb.NewRepository(store.EventFiles, "file of events")
	eventFilings = sqldb.NewRepository(store.EventFilings, "filing")
)

// ReadEventDay reads the events of a day with their counts, as of one moment. What sorts
// them is the database, which has disks for that.
func (v Ops) ReadEventDay(ctx context.Context, day time.Time, counts func([]recoup.CodeCount) error, event func(*store.Event) error) error {
	return v.db.Snapshot(ctx, "read a day of events", func(read func(*sqldb.Query, sqldb.Answer) error) error {
		var list []recoup.CodeCount
		if err := read(countDay(day), sqldb.Into(&list, codeCounts)); err != nil {
			return err
		}
		if err := counts(list); err != nil {
			return err
		}
		return read(readDay(day), sqldb.Each(events.Columns, event))
	})
}

func countDay(day time.Time) *sqldb.Query {
	return onDay(sqldb.NewQuery("", "select code, count(*) from recoup.error_event"), day).Add(` group by code order by code collate "C"`)
}

func readDay(day time.Time) *sqldb.Query {
	return onDay(sqldb.NewQuery("", events.SelectText()), day).Add(` order by code collate "C", ts, event_id`)
}

func onDay(q *sqldb.Query, day time.Time) *sqldb.Query {
	day = store.Day(day)
	q.Add(" where true")
	q.During("ts", day, day.Add(24*time.Hour))
	return q
}

var dayCounts = sqldb.Fields(func(d *store.EventDay) []any { return []any{&d.Day, &d.Events} })

// EventDaysSince returns the days between two times that the rollups know, with their files.
func (v Ops) EventDaysSince(ctx context.Context, from, before time.Time) ([]store.EventDay, error) {
	to := store.Day(before.Add(-time.Microsecond))
	days, err := sqldb.Rows(ctx, v.db, byDay("count days", "day::timestamptz, sum(count)::bigint", store.DailyFilter{}, from, to).Add(" group by day order by day"), dayCounts...)
	if err != nil {
		return nil, err
	}
	files, err := eventFiles.List(ctx, v.db, eventFiles.Select("list files of events", "where day >= $1 and day <= $2", store.Day(from), to))
	if err != nil {
		return nil, err
	}
	byDay := map[time.Time]*store.EventFile{}
	for i := range files {
		byDay[files[i].Day] = &files[i]
	}
	for i := range days {
		days[i].File = byDay[days[i].Day]
	}
	return days, nil
}

// SaveEventFile records the file of a day.
func (v Ops) SaveEventFile(ctx context.Context, f store.EventFile, by store.Act) error {
	_, err := sqldb.Act(ctx, v.db, "record a file of events", func(tx Tx) (struct{}, error) {
		if _, err := eventFilings.Find(tx, tx.Dialect().ForUpdate("update")); err != nil { // one node at a time, also for a day that has no row
			return struct{}{}, err
		}
		newer, err := eventFiles.Find(tx, "where day = $1 and place = $2 and version > $3 and events >= $4", f.Day, f.Place, f.Version, f.Rows)
		if err != nil || len(newer) > 0 {
			return struct{}{}, err
		}
		about := map[string]any{"file": f.Name, "rows": f.Rows, "sha256": f.SHA256}
		return struct{}{}, sqldb.InOrder(
			func() error { return eventFiles.Upsert(tx, f) },
			func() error { return audits.Add(tx, by.On(store.ActEventFile, f.Day.Format(time.DateOnly), about)) })
	})
	return err
}

// EventFiling returns the filing that is on.
func (v Ops) EventFiling(ctx context.Context) (*store.EventFiling, error) {
	list, err := eventFilings.List(ctx, v.db, eventFilings.Select("read the filing", ""))
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return &list[0], nil
}

// SetEventFiling turns filing on or off.
func (v Ops) SetEventFiling(ctx context.Context, place string, by store.Act) error {
	_, err := sqldb.Act(ctx, v.db, "set the filing", func(tx Tx) (struct{}, error) {
		known, err := eventFilings.Find(tx, "")
		switch {
		case err != nil:
			return struct{}{}, err
		case place == "" && len(known) == 0, len(known) == 1 && known[0].Place == place:
			return struct{}{}, nil
		case place == "":
			return struct{}{}, sqldb.InOrder(
				func() error { return tx.Do("delete from recoup.event_filing") },
				func() error { return audits.Add(tx, by.On(store.ActFilingOff, known[0].Place, nil)) })
		}
		next := store.EventFiling{Name: store.FilingEvents, Place: place, Since: by.At}
		return struct{}{}, sqldb.InOrder(
			func() error { return eventFilings.Upsert(tx, next) },
			func() error { return audits.Add(tx, by.On(store.ActFilingOn, place, nil)) })
	})
	return err
}
