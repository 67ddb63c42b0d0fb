package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"recoup/client"
)

func jobsCommand(streams Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "jobs",
		Short: "List and run scheduled jobs",
		Long: `What a policy says about time, jobs do: they expire, escalate, remind, archive and clean
up. Of all nodes on one database one leads and runs them; when it dies another takes over
within seconds.`,
		Example: `  recoup jobs list
  recoup jobs run ttl --dry-run`,
		Args: noArgs,
		RunE: group,
	}
	cmd.AddCommand(jobsList(streams), jobsRun(streams))
	return cmd
}

func jobsList(streams Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the jobs, when they ran and how far they are behind",
		Example: `  recoup jobs list
  recoup jobs list --json`,
		Args: noArgs,
	}
	return onServer(streams, cmd, func(ctx context.Context, s *session, _ []string) error {
		jobs, err := s.Jobs(ctx)
		switch {
		case err != nil:
			return err
		case s.json:
			return printJSON(s.Out, jobs)
		}
		t := newTable(s.Streams, "JOB", "EVERY", "RAN", "BEHIND", "ROWS", "RUNS", "FAILED", "STATUS")
		for i := range jobs.Jobs {
			j := &jobs.Jobs[i]
			ran := "never"
			if !j.FinishedAt.IsZero() {
				ran = s.relative(j.FinishedAt)
			}
			t.add(j.Name, age(time.Duration(j.Every)*time.Second), ran, age(time.Duration(j.Lag)*time.Second),
				fmt.Sprint(j.Rows), fmt.Sprint(j.Runs), fmt.Sprint(j.Failures), jobStatus(j))
		}
		fmt.Fprint(s.Out, t)
		if jobs.Leader == "" {
			fmt.Fprintln(s.Err, "No node leads at the moment, so nothing runs.")
		}
		return nil
	})
}

func jobStatus(j *client.Job) string {
	switch {
	case j.Error != "":
		return "fails: " + j.Error
	case j.Late:
		return "late"
	}
	return "ok"
}

func jobsRun(streams Streams) *cobra.Command {
	var ask client.JobRun
	cmd := &cobra.Command{
		Use:   "run NAME",
		Short: "Run a job now, until nothing is left to do",
		Long: `Runs a job now, step by step, until nothing is left to do. It does no harm beside the runs
of the clock itself. With --dry-run it says how much there is to do, and does nothing.`,
		Example: `  recoup jobs run ttl --dry-run
  recoup jobs run archive --reason "make room"`,
		Args: exactArgs("NAME"),
	}
	cmd.Flags().BoolVar(&ask.DryRun, "dry-run", false, "only count what it would move")
	cmd.Flags().StringVar(&ask.Reason, "reason", "", "why, as `TEXT` for the audit")
	return onSlowServer(streams, cmd, time.Minute, func(ctx context.Context, s *session, args []string) error {
		ran, err := s.runJob(ctx, args[0], ask)
		switch {
		case err != nil:
			return err
		case s.json:
			return printJSON(s.Out, ran)
		case !ran.DryRun:
			fmt.Fprintf(s.Out, "%s: %s moved\n", printable(ran.Name), count(int(ran.Rows), "row"))
		case ran.Uncounted:
			fmt.Fprintf(s.Out, "%s: how much there is to do is not known before\n", printable(ran.Name))
		case ran.More:
			fmt.Fprintf(s.Out, "%s: more than %s to move\n", printable(ran.Name), count(int(ran.Rows), "row"))
		default:
			fmt.Fprintf(s.Out, "%s: %s to move\n", printable(ran.Name), count(int(ran.Rows), "row"))
		}
		return nil
	})
}

// runJob asks again until nothing is left, and shows how far it has come. What
// there is to do is counted first, as far as it can be.
func (s *session) runJob(ctx context.Context, name string, ask client.JobRun) (client.JobRan, error) {
	if ask.DryRun {
		return s.RunJob(ctx, name, ask)
	}
	would, err := s.RunJob(ctx, name, client.JobRun{DryRun: true})
	if err != nil {
		return would, err
	}
	total := int(would.Rows)
	if would.More || would.Uncounted {
		total = -1
	}
	advance, end := s.progress(name)
	defer end()
	done := client.JobRan{Name: name, More: true}
	for done.More {
		ran, err := s.RunJob(ctx, name, ask)
		if err != nil {
			return done, err
		}
		done.Rows, done.More = done.Rows+ran.Rows, ran.More
		advance(int(done.Rows), total)
	}
	return done, nil
}
