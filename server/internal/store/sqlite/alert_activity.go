package sqlite

import (
	"context"
	"strings"

	"github.com/recoup-dev/recoup/server/internal/store"
)

var addActivityMinute, addActivityHour = addActivity("minute"), addActivity("hour")

// addActivity adds to the sums of minutes, or of hours.
func addActivity(unit string) string {
	var set []string
	for _, c := range store.ActivityCounts {
		set = append(set, c.Name+" = "+c.Name+" + excluded."+c.Name)
	}
	return addTo("activity_"+unit, unit+", "+store.Activities.But("minute").Names("")) + " on conflict do update set " + strings.Join(set, ", ")
}

// saveActivity adds up what a unit of work counts as.
func (t *tx) saveActivity(tallies store.Tallies) error {
	for _, a := range tallies.Of(t.now) {
		args, err := values(store.Activities.Columns, &a)
		if err != nil {
			return err
		}
		if err := t.exec(addActivityMinute, args...); err != nil {
			return err
		}
		args[0] = micros(store.Hour(a.Minute))
		if err := t.exec(addActivityHour, args...); err != nil {
			return err
		}
	}
	return nil
}

const addStaged = `insert into staged_minute (minute, pipeline, queued, finished) values (?1, ?2, ?3, ?4)
	on conflict do update set queued = queued + excluded.queued, finished = finished + excluded.finished`

// saveStaged adds up what an act does to the queues of work.
func (t *tx) saveStaged(tallies store.StagedTallies) error {
	for _, a := range tallies.Of(t.now) {
		if err := t.exec(addStaged, micros(a.Minute), a.Pipeline, a.Queued, a.Finished); err != nil {
			return err
		}
	}
	return nil
}

// FoldActivity has nothing to fold: what happens is summed up in place.
func (s *Store) FoldActivity(ctx context.Context) error { return ctx.Err() }
