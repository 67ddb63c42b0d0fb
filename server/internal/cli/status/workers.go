package status

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/server/internal/admin"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

func workers(streams command.Streams) *cobra.Command {
	return command.List[wire.WorkerQueue]{
		Noun: "queue", Key: "queues",
		Columns: []command.Column{{Name: "TABLE OR LANE"}, {Name: "DUE"}, {Name: "OLDEST"}, {Name: "WORKERS"}, {Name: "LAST CLAIM", Drop: 1}},
		Fetch: func(ctx context.Context, s *command.Session, _ client.Page) ([]wire.WorkerQueue, string, error) {
			queues, err := admin.New(s.Client).System.Workers(ctx)
			return queues, "", err
		},
		Row: func(s *command.Session, q *wire.WorkerQueue) command.Cells {
			oldest, last := "", "not in 7 days"
			if q.Due > 0 {
				oldest = s.Ago(q.DueSince)
			}
			if !q.LastClaimAt.IsZero() {
				last = s.Ago(q.LastClaimAt) + " ago"
			}
			return command.Cells{q.Name(), q.Due, oldest, q.Workers, last}
		},
	}.Command(streams, &cobra.Command{
		Use:   "workers",
		Short: "List workers and what is due for them, by table and lane",
		Long: `Lists every error table and every lane of staged work that is in use: how much is due there and
held by no worker, for how long the oldest of it has waited, and how many workers have claimed
within five minutes, on all nodes. A claim that gets nothing counts too: a worker that waits in a
long poll is alive.`,
		Example: `  recoup workers
  recoup workers --json`,
	})
}

// claiming says whether what is due is claimed.
func claiming(ctx context.Context, s *command.Session, _ *report) (line, error) {
	l := line{What: "workers", State: "nothing is due", Way: "recoup workers"}
	queues, err := admin.New(s.Client).System.Workers(ctx)
	due := slices.DeleteFunc(queues, func(q wire.WorkerQueue) bool { return q.Due == 0 })
	if err != nil || len(due) == 0 {
		return l, err
	}
	var n int64
	oldest := due[0].DueSince
	for i := range due {
		n += due[i].Due
		if due[i].DueSince.Before(oldest) {
			oldest = due[i].DueSince
		}
	}
	l.State = fmt.Sprintf("%d due and unclaimed", n)
	l.Detail = fmt.Sprintf("the oldest for %s; workers are alive", s.Ago(oldest))
	idle := slices.DeleteFunc(due, func(q wire.WorkerQueue) bool { return !q.Unattended })
	if len(idle) > 0 {
		l.Needs = true
		l.Detail = fmt.Sprintf("the oldest for %s; no worker claims %s", s.Ago(oldest), some(idle, func(q *wire.WorkerQueue) string { return q.Name() }))
	}
	return l, err
}
