package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"recoup"
)

func errorsHistory(streams Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "history ID",
		Short:   "Show what happened to an error, who did it and why",
		Example: `  recoup errors history 0198c0de-0000-7000-8000-000000000001`,
		Args:    exactArgs("ID"),
	}
	return onServer(streams, cmd, func(ctx context.Context, s *session, args []string) error {
		id, err := oneID(args)
		if err != nil {
			return err
		}
		rows, err := s.History(ctx, id)
		switch {
		case err != nil:
			return err
		case s.json:
			return printJSON(s.Out, map[string][]recoup.Transition{"transitions": rows})
		}
		t := newTable(s.Streams, "TIME (UTC)", "WHAT", "BY", "STATE", "TRIES", "TIER", "OWNER", "WHY")
		for _, r := range rows {
			by := r.Actor
			if r.Worker != "" {
				by = r.Worker
			}
			t.add(r.At.UTC().Format(time.DateTime), r.Input, by, string(r.After.State),
				number(r.After.RetryCount), number(r.After.EscalationLevel), r.After.Owner, r.Reason)
		}
		fmt.Fprint(s.Out, t)
		return nil
	})
}
