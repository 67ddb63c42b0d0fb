package events

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
)

func export(streams command.Streams) *cobra.Command {
	return command.Group(&cobra.Command{
		Use:   "export",
		Short: "Export the ledger, alert rules or a dashboard",
		Example: `  recoup export events > counts.csv
  recoup export prometheus-rules > recoup.rules.yml`,
	}, exportLedger(streams), exportRules(streams), exportDashboard(streams))
}

func formats() []string { return []string{"csv", "json", "ndjson"} }

// exportRequest is an export as its flags describe it.
type exportRequest struct {
	filter
	rows   bool
	format string
}

func exportLedger(streams command.Streams) *cobra.Command {
	var ask exportRequest
	cmd := &cobra.Command{
		Use:   "events",
		Short: "Export how often each service failed with each code, by day",
		Long: `Exports counts by day, service and code. With --rows it exports the events themselves, which
needs a key with the role admin. The server audits every export.`,
		Example: `  recoup export events --from 30d > counts.csv
  recoup export events --rows --format ndjson > events.ndjson`,
		Args: command.NoArgs,
	}
	ask.addSpan(cmd)
	cmd.Flags().BoolVar(&ask.rows, "rows", false, "the events themselves instead of their counts")
	cmd.Flags().StringVar(&ask.format, "format", "csv", "output `FORMAT`: "+command.Join(formats()))
	return command.OnServer(streams, cmd, nil, func(ctx context.Context, s *command.Session, _ []string) error {
		format, err := command.OneOf("format", ask.format, formats())
		switch {
		case err != nil:
			return err
		case s.JSON() && cmd.Flags().Changed("format") && format != "json":
			return command.Usagef("--json asks for JSON, --format for %s: expected one of the two", format)
		case s.JSON():
			format = "json"
		}
		from, to, err := command.Span(s.Clock(), "from", ask.from, "to", ask.to)
		if err != nil {
			return err
		}
		days := recoup.DayFilter{From: from, To: to, Service: ask.service, Code: ask.code}
		if ask.rows {
			return exportRows(ctx, s, days, format)
		}
		return exportCounts(ctx, s, days, format)
	})
}

func exportCounts(ctx context.Context, s *command.Session, d recoup.DayFilter, format string) error {
	counts, err := s.Events.ExportCounts(ctx, d)
	if err != nil {
		return err
	}
	w := newWriter(s, format, "days", "day", "service", "code", "count", "retryable_count", "last_seen_at")
	for _, c := range counts {
		w.write(c, c.Day, c.Service, string(c.Code), strconv.FormatInt(c.Count, 10),
			strconv.FormatInt(c.Retryable, 10), c.LastSeen.UTC().Format(time.RFC3339))
	}
	return w.close()
}

// exportRows writes page by page. An export that fails in the middle is not
// closed, so that nobody takes it for a whole one.
func exportRows(ctx context.Context, s *command.Session, d recoup.DayFilter, format string) error {
	w := newWriter(s, format, "events", "event_id", "ts", "code", "reported_code", "service", "endpoint", "http_status",
		"external_service", "region", "correlation_id", "tenant_hash", "tenant_key", "details")
	advance, end := s.ShowProgress("exporting")
	defer end()
	n := 0
	for e, err := range s.Events.Export(ctx, d) {
		if err != nil {
			return err
		}
		details, err := json.Marshal(e.Details)
		if err != nil {
			return err
		}
		if len(e.Details) == 0 {
			details = nil
		}
		w.write(e, e.ID.String(), e.TS.UTC().Format(time.RFC3339Nano), string(e.Code), string(e.ReportedCode), e.Service, e.Endpoint,
			command.Number(e.HTTPStatus), e.ExternalService, e.Region, command.ID(e.CorrelationID), e.TenantHash, e.TenantKey, string(details))
		n++
		advance(n, -1)
	}
	return w.close()
}

// export writes rows in a format as they come.
type writer struct {
	s      *command.Session
	format string
	csv    *csv.Writer
	n      int
	err    error
}

func newWriter(s *command.Session, format, name string, header ...string) *writer {
	w := &writer{s: s, format: format, csv: csv.NewWriter(s.Out)}
	switch format {
	case "csv":
		w.err = w.csv.Write(header)
	case "json":
		_, w.err = fmt.Fprintf(s.Out, "{%q: [", name)
	}
	return w
}

func (w *writer) write(row any, cells ...string) {
	if w.err != nil {
		return
	}
	if w.format == "csv" {
		for i, cell := range cells {
			cells[i] = command.Inert(cell)
		}
		w.err = w.csv.Write(cells)
		return
	}
	data, err := json.Marshal(row)
	before, after := "", "\n"
	if w.format == "json" {
		before, after = ",\n", ""
		if w.n == 0 {
			before = "\n"
		}
	}
	w.n++
	if w.err = err; err == nil {
		_, w.err = fmt.Fprintf(w.s.Out, "%s%s%s", before, command.EscapeJSON(data), after)
	}
}

func (w *writer) close() error {
	if w.format == "json" && w.err == nil {
		_, w.err = fmt.Fprintln(w.s.Out, "\n]}")
	}
	w.csv.Flush()
	if w.err != nil {
		return w.err
	}
	return w.csv.Error()
}
