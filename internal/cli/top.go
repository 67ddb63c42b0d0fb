package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
)

// maxTopHours is how far back the ledger's events are kept, 90 days.
const maxTopHours = 2160

func topCommand(streams Streams) *cobra.Command {
	var hours, limit int
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Show which codes fail most",
		Example: `  recoup top
  recoup top --hours 168 --limit 5`,
		Args: noArgs,
	}
	cmd.Flags().IntVar(&hours, "hours", 24, "of the last `N` hours")
	cmd.Flags().IntVar(&limit, "limit", 20, "at most `N` codes")
	return onServer(streams, cmd, func(ctx context.Context, s *session, _ []string) error {
		switch {
		case hours < 1 || hours > maxTopHours:
			return usagef("--hours is %d: expected a number from 1 to %d", hours, maxTopHours)
		case limit < 1 || limit > maxRows:
			return usagef("--limit is %d: expected a number from 1 to %d", limit, maxRows)
		}
		top, err := s.TopCodes(ctx, hours, limit)
		switch {
		case err != nil:
			return err
		case s.json:
			return printJSON(s.Out, top)
		case len(top.Codes) == 0:
			fmt.Fprintf(s.Err, "No failure in the last %s.\n", count(hours, "hour"))
			return nil
		}
		var p page
		rows := [][]string{{"CODE", "EVENTS"}}
		for _, c := range top.Codes {
			rows = append(rows, []string{printable(string(c.Code)), fmt.Sprint(c.Count)})
		}
		p.figures(rows...)
		fmt.Fprint(s.Out, p.String())
		return nil
	})
}
