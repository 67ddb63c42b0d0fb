package store

import (
	"slices"
	"strings"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// StagedActivity is how much work came into the queue of a pipeline in a minute or, as a
// sum, in a longer time, and how much left it: what forecasts of the queue are made of.
type StagedActivity struct {
	Minute   time.Time // its beginning; zero in a sum
	Pipeline string
	Queued   int64 // new work, and dead letters that a replay released
	Finished int64 // work that was done, dead-lettered or taken back; not a stage that is retried
}

// StagedActivities describes the rows of it.
var StagedActivities = sqldb.Table[StagedActivity]{Name: "recoup.staged_delta", Columns: []sqldb.Column[StagedActivity]{
	sqldb.Time("minute", func(a *StagedActivity) *time.Time { return &a.Minute }),
	sqldb.Text("pipeline", func(a *StagedActivity) *string { return &a.Pipeline }),
	sqldb.Big("queued", func(a *StagedActivity) *int64 { return &a.Queued }),
	sqldb.Big("finished", func(a *StagedActivity) *int64 { return &a.Finished }),
}}

// StagedTallies counts what a transaction does to the queue of work.
type StagedTallies []StagedActivity

// QueueTallies counts work that comes into the queue and work that leaves it.
func QueueTallies(added, gone []recoup.WorkItem) (t StagedTallies) {
	for i := range added {
		t.of(added[i].Pipeline).Queued++
	}
	for i := range gone {
		t.Finish(gone[i].Pipeline)
	}
	return t
}

// Finish counts one piece of work that leaves the queue.
func (t *StagedTallies) Finish(pipeline string) { t.of(pipeline).Finished++ }

func (t *StagedTallies) of(pipeline string) *StagedActivity {
	i := slices.IndexFunc(*t, func(a StagedActivity) bool { return a.Pipeline == pipeline })
	if i < 0 {
		i = len(*t)
		*t = append(*t, StagedActivity{Pipeline: pipeline})
	}
	return &(*t)[i]
}

// Of stamps the tallies with now's minute, sorted by pipeline.
func (t StagedTallies) Of(now time.Time) []StagedActivity {
	for i := range t {
		t[i].Minute = Minute(now)
	}
	slices.SortFunc(t, func(a, b StagedActivity) int { return strings.Compare(a.Pipeline, b.Pipeline) })
	return t
}
