package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"recoup/client"
)

func receiversCommand(streams Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "receivers",
		Short: "Show the addresses that work is delivered to",
		Long: `Receivers get staged work, or the verifications of Gate Zero, by signed requests, where
workers would come and ask for them. They are set up at the server: in the section receivers
of its configuration file, or by environment variables such as RECOUP_RECEIVER_RENDER_URL.
'recoup config show' prints them, without their secrets.`,
		Example: `  recoup receivers list`,
		Args:    noArgs,
		RunE:    group,
	}
	cmd.AddCommand(receiversList(streams))
	return cmd
}

func receiversList(streams Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the receivers of the server, and how it goes with them",
		Long: `Lists the receivers of the node that answers, since it started: each node has a view of
its own. One that fails is left alone for a while, and what was delivered goes back.`,
		Example: `  recoup receivers list
  recoup receivers list --json`,
		Args: noArgs,
	}
	return onServer(streams, cmd, func(ctx context.Context, s *session, _ []string) error {
		list, err := s.Receivers(ctx)
		switch {
		case err != nil:
			return err
		case s.json:
			return printJSON(s.Out, list)
		case len(list.Receivers) == 0:
			fmt.Fprintln(s.Err, "This node delivers no work. Workers claim it.")
			return nil
		}
		t := newTable(s.Streams, "RECEIVER", "KIND", "OF", "IN FLIGHT", "DELIVERED", "STATE", "LAST ERROR")
		for i := range list.Receivers {
			r := &list.Receivers[i]
			t.add(r.Name, r.Kind, receiverOf(r), fmt.Sprintf("%d/%d", r.InFlight, r.Concurrency), delivered(r), s.receiverState(r), s.receiverError(r))
		}
		fmt.Fprint(s.Out, t)
		return nil
	})
}

// receiverOf says which work a receiver gets.
func receiverOf(r *client.Receiver) string {
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

// delivered counts deliveries by what they came to, as far as there are any.
func delivered(r *client.Receiver) string {
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

func (s *session) receiverState(r *client.Receiver) string {
	state := "up"
	if r.State == client.ReceiverBackingOff {
		state = "backing off"
		if !r.Until.IsZero() {
			state += ", tried again " + s.relative(r.Until)
		}
	}
	if r.Misconfigured {
		state += ", misconfigured?"
	}
	return state
}

func (s *session) receiverError(r *client.Receiver) string {
	if r.LastError == "" {
		return ""
	}
	return r.LastError + " (" + s.relative(r.LastErrorAt) + ")"
}
