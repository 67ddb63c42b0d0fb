package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"recoup"
	"recoup/client"
)

// eventFilter selects events of the ledger.
type eventFilter struct{ correlation, service, code, tenant, from, to string }

func (f *eventFilter) addSpan(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.service, "service", "", "only events of this `SERVICE`")
	cmd.Flags().StringVar(&f.code, "code", "", "only events of this `CODE`")
	cmd.Flags().StringVar(&f.from, "from", "", "from this `TIME` on, or an age such as 48h")
	cmd.Flags().StringVar(&f.to, "to", "", "before this `TIME`, or an age such as 2h")
}

func (f *eventFilter) span(now time.Time) (from, to time.Time, err error) {
	if from, err = parseInstant("from", f.from, now); err != nil {
		return from, to, err
	}
	to, err = parseInstant("to", f.to, now)
	return from, to, err
}

func (f *eventFilter) read(now time.Time) (client.EventFilter, error) {
	from, to, err := f.span(now)
	filter := client.EventFilter{Service: f.service, Code: f.code, Tenant: f.tenant, From: from, To: to}
	if err != nil || f.correlation == "" {
		return filter, err
	}
	if filter.CorrelationID, err = recoup.ParseID(f.correlation); err != nil {
		return filter, usagef("--correlation-id %q is no id: expected a UUID or a ULID", f.correlation)
	}
	return filter, nil
}

func eventsCommand(streams Streams) *cobra.Command {
	var filter eventFilter
	var pages paging
	cmd := &cobra.Command{
		Use:   "events",
		Short: "List the ledger: every failure that happened, newest first",
		Long: `The ledger keeps that a failure happened, where and when, and nothing of what was in the
request. This lists it, newest first.`,
		Example: `  recoup events --service nightly-import --from 24h
  recoup events --correlation-id 0198c0de-0000-7000-8000-000000000001 --json`,
		Args:        noArgs,
		Annotations: map[string]string{ownUse: "recoup events [flags]"},
	}
	cmd.Flags().StringVar(&filter.correlation, "correlation-id", "", "only events that share this `ID`")
	cmd.Flags().StringVar(&filter.tenant, "tenant", "", "only events of this `TENANT`, in 31 days at most")
	filter.addSpan(cmd)
	pages.add(cmd)
	cmd.AddCommand(eventsSend(streams))
	return onServer(streams, cmd, func(ctx context.Context, s *session, _ []string) error {
		f, err := filter.read(s.now())
		if err != nil {
			return err
		}
		if err := pages.check(); err != nil {
			return err
		}
		list, err := s.eventPage(ctx, f, pages)
		switch {
		case err != nil:
			return err
		case s.json:
			return printJSON(s.Out, list)
		}
		s.printEvents(list)
		return nil
	})
}

func (s *session) eventPage(ctx context.Context, f client.EventFilter, p paging) (client.EventPage, error) {
	if !p.all {
		return s.Events(ctx, f, client.Page{Limit: p.limit})
	}
	advance, end := s.progress("reading")
	defer end()
	page := client.EventPage{Events: []client.StoredEvent{}}
	for e, err := range s.AllEvents(ctx, f) {
		if err != nil {
			return page, err
		}
		page.Events = append(page.Events, e)
		advance(len(page.Events), -1)
	}
	return page, nil
}

func (s *session) printEvents(list client.EventPage) {
	if len(list.Events) == 0 {
		fmt.Fprintln(s.Err, "No event matches.")
		return
	}
	t := newTable(s.Streams, "TIME (UTC)", "CODE", "SERVICE", "ENDPOINT", "HTTP", "PROVIDER", "REGION", "CORRELATION")
	for _, e := range list.Events {
		code := string(e.Code)
		if e.ReportedCode != "" {
			code = string(e.ReportedCode) + " (not registered)"
		}
		t.add(e.TS.UTC().Format(time.DateTime), code, e.Service, e.Endpoint, number(e.HTTPStatus), e.ExternalService, e.Region, id(e.CorrelationID))
	}
	fmt.Fprint(s.Out, t)
	more := "."
	if list.Next != "" {
		more = "; there are more: --limit N or --all shows them."
	}
	fmt.Fprintf(s.Err, "\n%s%s\n", count(len(list.Events), "event"), more)
}
