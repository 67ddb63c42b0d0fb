package deadletters

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/retry"
	"github.com/recoup-dev/recoup/server/internal/admin"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/internal/cli/stream"
)

const (
	// watchEvery is how often a replay is looked at that somebody watches.
	watchEvery = 500 * time.Millisecond

	// quietAfter is how long nothing may come back from workers before somebody
	// asks whether there are any.
	quietAfter = 15 * time.Second
)

func replaysWatch(streams command.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "watch ID",
		Short: "Show the progress of a replay until it ends or stops",
		Long: `Shows the progress of a replay until it has ended, and says so when no results come back from
workers. Without a terminal it prints a line for each change. The exit status is 1 if the
replay was paused, stopped by itself or was cancelled.`,
		Example: "  recoup replays watch " + command.AnID,
		Args:    command.ExactArgs("ID"),
	}
	return command.OnServer(streams, cmd, command.One, func(ctx context.Context, s *command.Session, args []string) error {
		id, err := s.ID(recoup.ReplayIDs, args)
		if err != nil {
			return err
		}
		return watchReplay(ctx, s, id, watchEvery)
	})
}

// watchReplay shows the progress of a replay, and says in the end how it ended.
func watchReplay(ctx context.Context, s *command.Session, id recoup.ID, every time.Duration) error {
	show, end := showReplay(s)
	defer end()
	var quiet silence
	for {
		r, err := s.Replays.Get(ctx, id)
		if err != nil {
			return err
		}
		if r.Over() || r.State == "PAUSED" {
			end()
			if s.Machine() {
				err = s.Print(r)
			} else {
				s.Sayf("%s %s", r.ID, replayLine(&r.Replay))
			}
			if err == nil && r.State != "DONE" {
				return command.ErrSilent
			}
			return err
		}
		show(&r.Replay, unheard(ctx, s, quiet.lasts(&r.Replay, s.Clock())))
		if err := retry.Sleep(ctx, every); err != nil {
			return err
		}
	}
}

// showReplay shows a replay in a line that is replaced on a terminal. Elsewhere it prints the
// line whenever it has changed.
func showReplay(s *command.Session) (show func(r *recoup.Replay, quiet string), end func()) {
	if s.Terminal {
		status := stream.StatusLine{Streams: s.Streams}
		return func(r *recoup.Replay, quiet string) { status.Show(replayLine(r) + quiet) }, status.Clear
	}
	last := ""
	return func(r *recoup.Replay, quiet string) {
		line := replayLine(r) + quiet
		if line != last && !s.Machine() {
			fmt.Fprintln(s.Err, line)
		}
		last = line
	}, func() {}
}

// unheard says that nothing has come back for a while, and if no worker claims from a lane
// in which work waits, so.
func unheard(ctx context.Context, s *command.Session, quiet bool) string {
	if !quiet {
		return ""
	}
	queues, err := admin.New(s.Client).System.Workers(ctx)
	for i := range queues {
		if q := &queues[i]; err == nil && q.Table == "" && q.Unattended {
			return "; no results: " + s.NobodyClaims(q)
		}
	}
	return "; no results: no worker claims this work, or it is slow"
}

// silence notices that no results come back. That is all a replay shows: who
// holds its work, and whether anybody does, is known to the queue alone.
type silence struct {
	ended int64
	since time.Time
}

// lasts reports whether work is out, and nothing has come back for a while.
func (q *silence) lasts(r *recoup.Replay, now time.Time) bool {
	if ended := r.Counts.Ended(); r.Counts.Released == 0 || ended != q.ended || q.since.IsZero() {
		q.ended, q.since = ended, now
	}
	return now.Sub(q.since) >= quietAfter
}
