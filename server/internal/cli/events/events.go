// Package events is 'recoup events', 'recoup top' and 'recoup export': the ledger of
// what failed, and what other programs get of it.
package events

import (
	"cmp"
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/internal/slice"
)

// Commands are those of this package.
// Archive, if there is one, has events that no server is needed for.
func Commands(streams command.Streams, archive slice.EventArchive) []*cobra.Command {
	return []*cobra.Command{list(streams, archive), top(streams), export(streams)}
}

// filter selects events of the ledger.
type filter struct{ correlation, service, code, tenant, from, to string }

func (f *filter) addSpan(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.service, "service", "", "only events of this `SERVICE`")
	cmd.Flags().StringVar(&f.code, "code", "", "only events with this `CODE`")
	cmd.Flags().StringVar(&f.from, "from", "", "only since this `TIME`, or an age such as 48h")
	cmd.Flags().StringVar(&f.to, "to", "", "only before this `TIME`, or an age such as 2h")
}

func (f *filter) read(now time.Time) (recoup.EventFilter, error) {
	from, to, err := command.Span(now, "from", f.from, "to", f.to)
	out := recoup.EventFilter{Service: f.service, Code: f.code, Tenant: f.tenant, From: from, To: to}
	if err == nil && f.correlation != "" {
		out.CorrelationID, err = command.FlagID("correlation-id", f.correlation)
	}
	return out, err
}

// added is a text behind another one, if there is one.
func added(between, text string) string {
	if text == "" {
		return ""
	}
	return between + text
}

func list(streams command.Streams, archive slice.EventArchive) *cobra.Command {
	var flags filter
	var place string
	cmd := &cobra.Command{
		Use:   "events",
		Short: "List the ledger: every failure that happened, newest first",
		Long: `The ledger records that a failure happened, where and when, and nothing of what was in the
request. This lists it, newest first.` + added(" ", archive.About),
		Example: `  recoup events --service nightly-import --from 24h` + added("\n", archive.Example) + `
  recoup events --correlation-id ` + command.AnID + ` --json`,
		Annotations: map[string]string{command.OwnUse: "recoup events [flags]"},
	}
	cmd.Flags().StringVar(&flags.correlation, "correlation-id", "", "only events that share this `ID`")
	cmd.Flags().StringVar(&flags.tenant, "tenant", "", "only events of this `TENANT`, within 31 days")
	if archive.Open != nil {
		cmd.Flags().StringVar(&place, "from-archive", "", archive.Flag)
	}
	flags.addSpan(cmd)
	cmd.AddCommand(send(streams))
	var f recoup.EventFilter
	var files slice.EventPages
	return command.List[recoup.StoredEvent]{
		Noun: "event", Key: "events",
		Columns: []command.Column{
			{Name: "TIME (UTC)"}, {Name: "CODE", Wrap: true}, {Name: "SERVICE"}, {Name: "ENDPOINT", Drop: 1}, {Name: "HTTP", Drop: 2}, {Name: "PROVIDER", Drop: 3},
			{Name: "REGION", Drop: 5}, {Name: "CORRELATION", Drop: 4},
		},
		Read: func(s *command.Session, _ []string) (err error) {
			if f, err = flags.read(s.Clock()); err == nil && place != "" {
				files, err = archive.Open(cmd.Context(), place, s.Clock, f)
			}
			return err
		},
		Fetch: func(ctx context.Context, s *command.Session, p client.Page) ([]recoup.StoredEvent, string, error) {
			if files != nil {
				return files(ctx, p.Cursor, p.Limit)
			}
			page, err := s.Events.List(ctx, f, p)
			return page.Events, page.Next, err
		},
		Row: func(_ *command.Session, e *recoup.StoredEvent) command.Cells {
			code := string(e.Code)
			if e.ReportedCode != "" {
				code = string(e.ReportedCode) + " (not registered)"
			}
			return command.Cells{command.Exactly(e.TS), code, e.Service, e.Endpoint, command.Figure(e.HTTPStatus), e.ExternalService, e.Region, e.CorrelationID}
		},
	}.Command(streams, cmd)
}

// maxHours is how far back the ledger's events are kept, 90 days.
const maxHours = 2160

func top(streams command.Streams) *cobra.Command {
	var hours, limit int
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Show the most frequent codes",
		Example: `  recoup top
  recoup top --hours 168 --limit 5`,
	}
	cmd.Flags().IntVar(&hours, "hours", 24, "of the last `N` hours")
	cmd.Flags().IntVar(&limit, "limit", 20, "at most `N` codes")
	var found recoup.TopCodes
	return command.List[recoup.CodeCount]{
		Noun: "code", Whole: true, Empty: "No failure in these hours.",
		Columns: []command.Column{{Name: "CODE"}, {Name: "EVENTS"}},
		Read: func(*command.Session, []string) error {
			return cmp.Or(command.Within("hours", hours, 1, maxHours), command.Within("limit", limit, 1, command.MaxRows))
		},
		Fetch: func(ctx context.Context, s *command.Session, _ client.Page) (_ []recoup.CodeCount, _ string, err error) {
			found, err = s.Events.TopCodes(ctx, hours, limit)
			return found.Codes, "", err
		},
		JSON: func(list []recoup.CodeCount) any {
			found.Codes = list
			return found
		},
		Row: func(_ *command.Session, c *recoup.CodeCount) command.Cells { return command.Cells{c.Code, c.Count} },
	}.Command(streams, cmd)
}
