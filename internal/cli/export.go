package cli

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"recoup/client"
)

func exportCommand(streams Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write the ledger, alert rules or a dashboard to a file, for other programs",
		Example: `  recoup export events > counts.csv
  recoup export prometheus-rules > recoup.rules.yml`,
		Args: noArgs,
		RunE: group,
	}
	cmd.AddCommand(exportEvents(streams), exportRules(streams), exportDashboard(streams))
	return cmd
}

func eventFormats() []string { return []string{"csv", "json", "ndjson"} }

// exportRequest is an export as its flags describe it.
type exportRequest struct {
	eventFilter
	rows   bool
	format string
}

func exportEvents(streams Streams) *cobra.Command {
	var ask exportRequest
	cmd := &cobra.Command{
		Use:   "events",
		Short: "Export how often each service failed with each code, by day",
		Long: `Exports counts by day, service and code. With --rows it exports the events themselves,
which takes a key of the role admin. The server audits every export.

--json is short for --format json.`,
		Example: `  recoup export events --from 30d > counts.csv
  recoup export events --rows --service nightly-import --format ndjson > events.ndjson`,
		Args: noArgs,
	}
	ask.addSpan(cmd)
	cmd.Flags().BoolVar(&ask.rows, "rows", false, "the events themselves instead of their counts")
	cmd.Flags().StringVar(&ask.format, "format", "csv", "output `FORMAT`: "+join(eventFormats()))
	return onServer(streams, cmd, func(ctx context.Context, s *session, _ []string) error {
		format, err := oneOf("format", ask.format, eventFormats())
		switch {
		case err != nil:
			return err
		case s.json && cmd.Flags().Changed("format") && format != "json":
			return usagef("--json asks for JSON, --format for %s: expected one of the two", format)
		case s.json:
			format = "json"
		}
		from, to, err := ask.span(s.now())
		if err != nil {
			return err
		}
		days := client.Days{From: from, To: to, Service: ask.service, Code: ask.code}
		if ask.rows {
			return s.exportRows(ctx, days, format)
		}
		return s.exportCounts(ctx, days, format)
	})
}

func (s *session) exportCounts(ctx context.Context, d client.Days, format string) error {
	counts, err := s.ExportCounts(ctx, d)
	if err != nil {
		return err
	}
	w := newExport(s, format, "days", "day", "service", "code", "count", "retryable_count", "last_seen_at")
	for _, c := range counts {
		w.write(c, c.Day, c.Service, string(c.Code), strconv.FormatInt(c.Count, 10),
			strconv.FormatInt(c.Retryable, 10), c.LastSeen.UTC().Format(time.RFC3339))
	}
	return w.close()
}

// exportRows writes page by page. An export that fails in the middle is not
// closed, so that nobody takes it for a whole one.
func (s *session) exportRows(ctx context.Context, d client.Days, format string) error {
	w := newExport(s, format, "events", "event_id", "ts", "code", "reported_code", "service", "endpoint", "http_status",
		"external_service", "region", "correlation_id", "tenant_hash", "tenant_key", "details")
	advance, end := s.progress("exporting")
	defer end()
	n := 0
	for e, err := range s.ExportEvents(ctx, d) {
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
			number(e.HTTPStatus), e.ExternalService, e.Region, id(e.CorrelationID), e.TenantHash, e.TenantKey, string(details))
		n++
		advance(n, -1)
	}
	return w.close()
}

// export writes rows in a format as they come.
type export struct {
	s      *session
	format string
	csv    *csv.Writer
	n      int
	err    error
}

func newExport(s *session, format, name string, header ...string) *export {
	w := &export{s: s, format: format, csv: csv.NewWriter(s.Out)}
	switch format {
	case "csv":
		w.err = w.csv.Write(header)
	case "json":
		_, w.err = fmt.Fprintf(s.Out, "{%q: [", name)
	}
	return w
}

func (w *export) write(row any, cells ...string) {
	if w.err != nil {
		return
	}
	if w.format == "csv" {
		for i, cell := range cells {
			cells[i] = inert(cell)
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
		_, w.err = fmt.Fprintf(w.s.Out, "%s%s%s", before, data, after)
	}
}

// inert puts an apostrophe before a cell that a spreadsheet would take for a formula
// and run.
func inert(cell string) string {
	if cell != "" && strings.IndexByte("=+-@\t\r", cell[0]) >= 0 {
		return "'" + cell
	}
	return cell
}

func (w *export) close() error {
	if w.format == "json" && w.err == nil {
		_, w.err = fmt.Fprintln(w.s.Out, "\n]}")
	}
	w.csv.Flush()
	if w.err != nil {
		return w.err
	}
	return w.csv.Error()
}
