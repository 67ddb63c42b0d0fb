package server

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"recoup"
	"recoup/client"
	"recoup/internal/cli/command"
)

func busCommand(streams command.Streams) *cobra.Command {
	return command.Group(&cobra.Command{
		Use:   "bus",
		Short: "Show the bus that carries events to the ledger, and look after its quarantine",
		Long: `With 'recoup serve --bus nats://…' events travel over NATS JetStream: nodes publish what clients
send, and write it to the ledger from there. Events are taken while the database is away, and go
to the database directly while the bus is.`,
		Example: `  recoup bus status
  recoup bus quarantine list`,
	}, busStatus(streams), command.Group(&cobra.Command{
		Use:   "quarantine",
		Short: "List, retry and drop batches of events that could not be written",
		Long: `A batch that the database has refused five times, or that cannot be read, is put in quarantine,
and the platform team is notified. It stays there until it is retried or dropped.`,
		Example: `  recoup bus quarantine list
  recoup bus quarantine retry 3`,
	}, quarantineList(streams), quarantineRetry(streams), quarantineDrop(streams)))
}

func busStatus(streams command.Streams) *cobra.Command {
	return command.Show(streams, &cobra.Command{
		Use:   "status",
		Short: "Show whether the bus takes events, and what waits on it",
		Example: `  recoup bus status
  recoup bus status --json`,
		Args: command.NoArgs,
	}, func(ctx context.Context, s *command.Session, _ []string) (recoup.Bus, error) { return s.Bus(ctx) }, describeBus)
}

func describeBus(s *command.Session, p *command.Page, b *recoup.Bus) {
	if !b.Enabled {
		p.Text("The node has no bus: events go to the database directly. 'recoup serve --bus nats://…' gives it one.")
		return
	}
	state := "up"
	if !b.Up {
		state = "away: " + command.Printable(b.Cause)
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

func replicas(b *recoup.BusStream) string {
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

func quarantineList(streams command.Streams) *cobra.Command {
	return command.List[recoup.QuarantinedBatch]{
		Noun: "batch", Key: "batches", Empty: "No batch is in quarantine.",
		Columns: []command.Column{{Name: "NUMBER"}, {Name: "EVENTS"}, {Name: "SINCE"}, {Name: "REASON", Wrap: true}, {Name: "SEQUENCE", Drop: 1}, {Name: "BATCH", Drop: 2}},
		Fetch: func(ctx context.Context, s *command.Session, p client.Page) ([]recoup.QuarantinedBatch, string, error) {
			page, err := s.Quarantine(ctx, p.Cursor)
			return page.Batches, page.Next, err
		},
		Row: func(_ *command.Session, q *recoup.QuarantinedBatch) command.Cells {
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

func quarantineRetry(streams command.Streams) *cobra.Command {
	var act client.QuarantineAct
	var number int64
	return command.Act[recoup.QuarantinedBatch]{
		Reason: &act.Reason,
		Check:  func(_ *command.Session, args []string) (err error) { number, err = batchNumber(args[0]); return err },
		Call: func(ctx context.Context, s *command.Session, _ []string) (recoup.QuarantinedBatch, error) {
			return s.RetryQuarantined(ctx, number, act)
		},
		Say: func(s *command.Session, q recoup.QuarantinedBatch) {
			s.Sayf("batch %d written: %s", q.Number, command.Count(q.Events, "event"))
		},
	}.Command(streams, &cobra.Command{
		Use:     "retry NUMBER",
		Short:   "Write a batch in quarantine to the ledger",
		Example: `  recoup bus quarantine retry 3 --reason "the code is registered now"`,
		Args:    command.ExactArgs("NUMBER"),
	})
}

func quarantineDrop(streams command.Streams) *cobra.Command {
	var act client.QuarantineAct
	var number int64
	return command.Act[recoup.QuarantinedBatch]{
		Reason: &act.Reason, Need: true,
		Check: func(_ *command.Session, args []string) (err error) { number, err = batchNumber(args[0]); return err },
		Ask: func(args []string) (question, answer string) {
			return "Delete batch " + command.Printable(args[0]) + " and its events for good?", args[0]
		},
		Call: func(ctx context.Context, s *command.Session, _ []string) (recoup.QuarantinedBatch, error) {
			return s.DropQuarantined(ctx, number, act)
		},
		Say: func(s *command.Session, q recoup.QuarantinedBatch) {
			s.Sayf("batch %d dropped: %s", q.Number, command.Count(q.Events, "event"))
		},
	}.Command(streams, &cobra.Command{
		Use:     "drop NUMBER",
		Short:   "Delete a batch in quarantine, and its events",
		Example: `  recoup bus quarantine drop 3 --reason "damaged on the disk of the bus"`,
		Args:    command.ExactArgs("NUMBER"),
	})
}

func batchNumber(s string) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 1 {
		return 0, command.Usagef("%q is no number of a batch; 'recoup bus quarantine list' shows them", s)
	}
	return n, nil
}
