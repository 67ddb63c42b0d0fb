package server

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/server/internal/admin"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

func jobs(streams command.Streams) *cobra.Command {
	return command.Group(&cobra.Command{
		Use:   "jobs",
		Short: "List and run scheduled jobs",
		Long: `Scheduled jobs do what the policy says about time: they expire, escalate, remind, archive and
clean up. Of all nodes on one database one is the leader and runs them; when it dies another
takes over within seconds.`,
		Example: `  recoup jobs list
  recoup jobs run ttl --dry-run`,
	}, jobsList(streams), jobsRun(streams))
}

func jobsList(streams command.Streams) *cobra.Command {
	var whole wire.Jobs
	return command.List[wire.Job]{
		Noun: "job", Whole: true,
		Columns: []command.Column{
			{Name: "JOB"}, {Name: "EVERY", Drop: 2}, {Name: "LAST RUN"}, {Name: "BEHIND", Drop: 1}, {Name: "ROWS", Drop: 4}, {Name: "RUNS", Drop: 5},
			{Name: "FAILED", Drop: 3}, {Name: "STATUS", Wrap: true, State: true},
		},
		Fetch: func(ctx context.Context, s *command.Session, _ client.Page) (_ []wire.Job, _ string, err error) {
			whole, err = admin.New(s.Client).Jobs.List(ctx)
			return whole.Jobs, "", err
		},
		JSON: func(list []wire.Job) any {
			whole.Jobs = list
			return whole
		},
		Row: func(_ *command.Session, j *wire.Job) command.Cells {
			return command.Cells{j.Name, command.Seconds(j.Every), command.At(j.FinishedAt).Or("never"), command.Seconds(j.Lag), j.Rows, j.Runs, j.Failures, status(j)}
		},
		After: func(s *command.Session, _ []wire.Job) {
			if whole.Leader == "" {
				s.Notef("No node is the leader at the moment, so no job runs.")
			}
		},
	}.Command(streams, &cobra.Command{
		Use:   "list",
		Short: "List the jobs, when they ran and how far behind they are",
		Example: `  recoup jobs list
  recoup jobs list --json`,
	})
}

func status(j *wire.Job) string {
	switch {
	case j.Error != "":
		return "fails: " + j.Error
	case j.Late:
		return "behind schedule"
	}
	return "ok"
}

func jobsRun(streams command.Streams) *cobra.Command {
	var ask wire.JobRunRequest
	cmd := &cobra.Command{
		Use:   "run NAME",
		Short: "Run a job now, until nothing is left to do",
		Long: `Runs a job now, chunk by chunk, until nothing is left to do. It is safe beside the scheduled
runs. With --dry-run it counts what there is to do, and changes nothing.`,
		Example: `  recoup jobs run ttl --dry-run
  recoup jobs run archive --reason "make room"`,
		Args: command.ExactArgs("NAME"),
	}
	cmd.Flags().BoolVar(&ask.DryRun, "dry-run", false, "count what it would change, and change nothing")
	return command.Act[wire.JobRun]{
		On: command.Slow(time.Minute), Reason: &ask.Reason,
		Call: func(ctx context.Context, s *command.Session, args []string) (wire.JobRun, error) {
			return runJob(ctx, s, args[0], ask)
		},
		Say: func(s *command.Session, ran wire.JobRun) {
			name, rows := command.Printable(ran.Name), command.Count(ran.Rows, "row")
			switch {
			case !ran.DryRun:
				s.Sayf("%s: %s changed", name, rows)
			case ran.Uncounted:
				s.Sayf("%s: cannot be counted beforehand", name)
			case ran.More:
				s.Sayf("%s: more than %s to change", name, rows)
			default:
				s.Sayf("%s: %s to change", name, rows)
			}
		},
	}.Command(streams, cmd)
}

// runJob asks again until nothing is left, and shows how far it has come. What
// there is to do is counted first, as far as it can be.
func runJob(ctx context.Context, s *command.Session, name string, ask wire.JobRunRequest) (wire.JobRun, error) {
	if ask.DryRun {
		return admin.New(s.Client).Jobs.Run(ctx, name, ask)
	}
	would, err := admin.New(s.Client).Jobs.Run(ctx, name, wire.JobRunRequest{DryRun: true})
	if err != nil {
		return would, err
	}
	total := int(would.Rows)
	if would.More || would.Uncounted {
		total = -1
	}
	advance, end := s.ShowProgress(name)
	defer end()
	done := wire.JobRun{Name: name, More: true}
	for done.More {
		ran, err := admin.New(s.Client).Jobs.Run(ctx, name, ask)
		if err != nil {
			return done, err
		}
		done.Rows, done.More = done.Rows+ran.Rows, ran.More
		advance(int(done.Rows), total)
	}
	return done, nil
}
