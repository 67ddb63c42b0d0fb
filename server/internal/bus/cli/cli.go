// Package cli is 'recoup bus'.
package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/server/internal/bus"
	"github.com/recoup-dev/recoup/server/internal/bus/web"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
)

// Commands are those of the bus.
func Commands(streams command.Streams) []*cobra.Command {
	return []*cobra.Command{command.Group(&cobra.Command{
		Use:   "bus",
		Short: "Show the bus of events, and its quarantine",
		Long: `With 'recoup serve --bus nats://…' events travel over NATS JetStream: nodes publish what clients
send, and write it to the ledger from there. Events are taken while the database is away, and go
to the database directly while the bus is.`,
		Example: `  recoup bus status
  recoup bus quarantine list`,
	}, status(streams), command.Group(&cobra.Command{
		Use:   "quarantine",
		Short: "List, retry and drop batches of events that could not be written",
		Long: `A batch that the database has refused five times, or that cannot be read, is put in quarantine,
and the platform team is notified. It stays there until it is retried or dropped.`,
		Example: `  recoup bus quarantine list
  recoup bus quarantine retry 3`,
	}, list(streams), retry(streams), drop(streams)))}
}

func status(streams command.Streams) *cobra.Command {
	return command.Show(streams, &cobra.Command{
		Use:   "status",
		Short: "Show whether the bus takes events, and what waits on it",
		Example: `  recoup bus status
  recoup bus status --json`,
		Args: command.NoArgs,
	}, func(ctx context.Context, s *command.Session, _ []string) (bus.Bus, error) {
		return web.Calls{Client: s.Client}.Status(ctx)
	}, describe)
}

func describe(s *command.Session, p *command.Page, b *bus.Bus) {
	if !b.Enabled {
		p.Text("The node has no bus: events go to the database directly. 'recoup serve --bus nats://…' gives it one.")
		return
	}
	state := "up"
	if !b.Up {
		state = command.Printable(b.Cause)
	} else if b.Cause != "" {
		state = "up, but " + command.Printable(b.Cause)
	}
	p.Facts("bus", state, "server", command.Printable(b.Server))
	if b.Up {
		oldest := ""
		if b.Stream.Oldest != nil {
			oldest = s.Ago(*b.Stream.Oldest)
		}
		p.Facts(
			"waiting", command.Count(int(b.Stream.Waiting), "batch")+", "+strconv.FormatInt(b.Stream.InFlight, 10)+" of them being written",
			"oldest", oldest,
			"size", fmt.Sprintf("%.1f of %.1f MB", float64(b.Stream.Bytes)/1e6, float64(b.Stream.MaxBytes)/1e6),
			"replicas", replicas(&b.Stream),
			"quarantine", command.Count(int(b.Quarantined), "batch"),
		)
	}
	p.Facts(
		"this node", fmt.Sprintf("published %d, wrote %d (%d known), directly %d", b.Node.Published, b.Node.Written, b.Node.Duplicates, b.Node.Direct),
		"failures", fmt.Sprintf("%d tries, %d batches given up", b.Node.Failures, b.Node.Quarantined),
	)
	for _, g := range b.Gaps {
		p.Text(fmt.Sprintf("Gap: %d to %d of %s were never written; known for %s.", g.First, g.Last, command.Printable(g.Stream), s.Ago(g.Since)))
	}
}

func replicas(b *bus.BusStream) string {
	text := strconv.Itoa(b.Replicas)
	if b.Leader != "" {
		text += ", led by " + command.Printable(b.Leader)
	}
	for _, peer := range b.Followers {
		switch {
		case peer.Offline:
			text += "; " + command.Printable(peer.Name) + " is offline"
		case !peer.Current:
			text += fmt.Sprintf("; %s is %d behind", command.Printable(peer.Name), peer.Lag)
		}
	}
	return text
}

func list(streams command.Streams) *cobra.Command {
	return command.List[bus.QuarantinedBatch]{
		Noun: "batch", Key: "batches", Empty: "No batch is in quarantine.",
		Columns: []command.Column{{Name: "NUMBER"}, {Name: "EVENTS"}, {Name: "SINCE"}, {Name: "REASON", Wrap: true}, {Name: "SEQUENCE", Drop: 1}, {Name: "BATCH", Drop: 2}},
		Fetch: func(ctx context.Context, s *command.Session, p client.Page) ([]bus.QuarantinedBatch, string, error) {
			page, err := web.Calls{Client: s.Client}.Quarantine(ctx, p.Cursor)
			return page.Batches, page.Next, err
		},
		Row: func(_ *command.Session, q *bus.QuarantinedBatch) command.Cells {
			events := strconv.Itoa(q.Events)
			if !q.Readable {
				events = "unreadable"
			}
			return command.Cells{q.Number, events, command.At(q.At), q.Reason, q.Sequence, q.BatchID}
		},
	}.Command(streams, &cobra.Command{
		Use:   "list",
		Short: "List the batches in quarantine",
		Example: `  recoup bus quarantine list
  recoup bus quarantine list --json`,
	})
}

func retry(streams command.Streams) *cobra.Command {
	var act bus.QuarantineAct
	return command.Act[bus.QuarantineDone]{
		Reason: &act.Reason,
		Check:  func(_ *command.Session, args []string) (err error) { act.Numbers, err = batchNumbers(args); return err },
		Call: func(ctx context.Context, s *command.Session, _ []string) (bus.QuarantineDone, error) {
			return web.Calls{Client: s.Client}.RetryQuarantined(ctx, act)
		},
		Say:    say(&act, "written"),
		Failed: func(done bus.QuarantineDone) bool { return len(done.Batches) < len(act.Numbers) },
	}.Command(streams, &cobra.Command{
		Use:     "retry NUMBER…",
		Short:   "Write batches in quarantine to the ledger",
		Example: `  recoup bus quarantine retry 3 --reason "the code is registered now"`,
		Args:    cobra.MinimumNArgs(1),
	})
}

func drop(streams command.Streams) *cobra.Command {
	var act bus.QuarantineAct
	return command.Act[bus.QuarantineDone]{
		Reason: &act.Reason, Need: true,
		Check: func(_ *command.Session, args []string) (err error) { act.Numbers, err = batchNumbers(args); return err },
		Ask: func(args []string) (question, answer string) {
			return "Delete " + command.Count(len(args), "batch") + " and their events for good?", strconv.Itoa(len(args))
		},
		Call: func(ctx context.Context, s *command.Session, _ []string) (bus.QuarantineDone, error) {
			return web.Calls{Client: s.Client}.DropQuarantined(ctx, act)
		},
		Say:    say(&act, "dropped"),
		Failed: func(done bus.QuarantineDone) bool { return len(done.Batches) < len(act.Numbers) },
	}.Command(streams, &cobra.Command{
		Use:     "drop NUMBER…",
		Short:   "Delete batches in quarantine, and their events",
		Example: `  recoup bus quarantine drop 3 --reason "damaged on the disk of the bus"`,
		Args:    cobra.MinimumNArgs(1),
	})
}

// say says what was done to batches, and which are not there.
func say(act *bus.QuarantineAct, past string) func(*command.Session, bus.QuarantineDone) {
	return func(s *command.Session, done bus.QuarantineDone) {
		for _, q := range done.Batches {
			s.Sayf("batch %d %s: %s", q.Number, past, command.Count(q.Events, "event"))
		}
		for _, n := range act.Numbers {
			if !slices.ContainsFunc(done.Batches, func(q bus.QuarantinedBatch) bool { return q.Number == int64(n) }) {
				s.Notef("batch %d is not in quarantine; 'recoup bus quarantine list' shows those that are", n)
			}
		}
	}
}

func batchNumbers(args []string) (list []int, err error) {
	for _, s := range args {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			return nil, command.Usagef("%q is no number of a batch; 'recoup bus quarantine list' shows them", s)
		}
		list = append(list, n)
	}
	return list, nil
}
