package notifications

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/server/internal/admin"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

func receivers(streams command.Streams) *cobra.Command {
	others := ""
	for _, k := range streams.Config.Receivers {
		others += ", or " + k.Noun
	}
	return command.Group(&cobra.Command{
		Use:   "receivers",
		Short: "Show the receivers that work is pushed to",
		Long: "Receivers get staged work" + others + `, by signed requests, instead of
workers that claim it. They are configured on the server: in the receivers section of its
configuration file, or by environment variables such as RECOUP_RECEIVER_RENDER_URL.
'recoup config show' prints them, without their secrets.`,
		Example: `  recoup receivers list`,
	}, receiversList(streams))
}

func receiversList(streams command.Streams) *cobra.Command {
	var whole wire.Receivers
	return command.List[wire.Receiver]{
		Noun: "receiver", Empty: "This node pushes no work. Workers claim it.", Whole: true,
		Columns: []command.Column{
			{Name: "RECEIVER"}, {Name: "KIND", Drop: 3}, {Name: "OF", Drop: 1, Wrap: true}, {Name: "IN FLIGHT"}, {Name: "DELIVERED", Drop: 2, Wrap: true},
			{Name: "STATE", Wrap: true, State: true}, {Name: "LAST ERROR", Wrap: true},
		},
		Fetch: func(ctx context.Context, s *command.Session, _ client.Page) (_ []wire.Receiver, _ string, err error) {
			whole, err = admin.New(s.Client).Notifications.Receivers(ctx)
			return whole.Receivers, "", err
		},
		JSON: func(list []wire.Receiver) any {
			whole.Receivers = list
			return whole
		},
		Row: func(s *command.Session, r *wire.Receiver) command.Cells {
			failed := ""
			if r.LastError != "" {
				failed = r.LastError + " (" + s.Relative(r.LastErrorAt) + ")"
			}
			return command.Cells{r.Name, r.Kind, workOf(r), fmt.Sprintf("%d/%d", r.InFlight, r.Concurrency), delivered(r), receiverState(s, r), failed}
		},
	}.Command(streams, &cobra.Command{
		Use:   "list",
		Short: "List the receivers and their deliveries",
		Long: `Lists the receivers of the node that answers, since it started: each node has a view of its
own. One that fails is left alone for a while, and what was delivered goes back to the queue.`,
		Example: `  recoup receivers list
  recoup receivers list --json`,
	})
}

// workOf says which work a receiver gets.
func workOf(r *wire.Receiver) string {
	var lanes []string
	for _, l := range r.Lanes {
		lanes = append(lanes, l.Pipeline+"/"+l.Stage)
	}
	switch {
	case len(lanes) > 0:
		return strings.Join(lanes, " ")
	case r.BatchID != "":
		return "batch " + r.BatchID
	}
	return "all batches"
}

// delivered counts deliveries by their outcome, as far as there are any.
func delivered(r *wire.Receiver) string {
	var parts []string
	for _, outcome := range slices.Sorted(maps.Keys(r.Deliveries)) {
		if n := r.Deliveries[outcome]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, outcome))
		}
	}
	if parts == nil {
		return "none"
	}
	return strings.Join(parts, ", ")
}

func receiverState(s *command.Session, r *wire.Receiver) string {
	state := "up"
	if r.State == wire.ReceiverBackingOff {
		state = "backing off"
		if !r.Until.IsZero() {
			state += ", retried " + s.Relative(r.Until)
		}
	}
	if r.Misconfigured {
		state += ", misconfigured?"
	}
	return state
}
