package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"recoup/client"
	"recoup/fault"
	"recoup/internal/app"
	"recoup/internal/recovery"
)

// How many rows are imported at once: as one request, or as one transaction.
const (
	requestRows     = 2000
	transactionRows = 20_000
)

// keptLines is how many refused rows are kept to be told with --json.
const keptLines = 1000

// intakeOffice is where candidates are taken in: a server, or a database.
type intakeOffice interface {
	begin(ctx context.Context, batch string) error
	add(ctx context.Context, batch string, rows []recovery.Row) (client.IntakesImported, []refusedLine, error)
	complete(ctx context.Context, batch string) error
	size() int // how many rows it takes at once
}

// intakeImport is the import of a file.
type intakeImport struct {
	Streams
	serverFlags
	file, batch, format string
	done, asJSON        bool
}

func gateZeroImport(streams Streams) *cobra.Command {
	m := &intakeImport{Streams: streams}
	cmd := &cobra.Command{
		Use:   "import FILE --batch BATCH",
		Short: "Import candidates from a CSV or NDJSON file",
		Long: `Imports candidates from a file, or with - from standard input. The first line of a CSV file
names its columns: company_name, and if known domain, linkedin_url, state, and import_key
or intake_id. NDJSON has one object with the same names per line.

Rows that are no candidates are told with their line, and the others are imported. A file
may be corrected and imported again, and so may one whose import broke off: a row is
recognised by its import_key or intake_id, else by what it says.

With --complete the batch is completed at the end, if no row was refused. With --database
it is imported without a server. The exit status is 1 if any row was refused.`,
		Example: `  recoup gate-zero import companies.csv --batch 2026_annual_outreach
  recoup gate-zero import more.ndjson --batch b2 --complete --database sqlite:recoup.db`,
		Args: exactArgs("FILE"),
	}
	cmd.Flags().StringVar(&m.batch, "batch", "", "the `BATCH` that they belong to, which is made if there is none; required")
	cmd.Flags().StringVar(&m.format, "format", "", "`FORMAT` of the file: csv or ndjson (default: by its name)")
	cmd.Flags().BoolVar(&m.done, "complete", false, "complete the batch at the end")
	m.add(cmd)
	read := settingFlags(cmd, "database")
	jsonFlag(cmd, &m.asJSON)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		m.file = args[0]
		format, err := m.check(cmd)
		if err != nil {
			return err
		}
		if !cmd.Flags().Changed("database") {
			c, err := m.connect(m.Now, 0)
			if err != nil {
				return err
			}
			defer c.Close()
			return m.explain(subjectOf(cmd, nil), m.run(cmd.Context(), remoteOffice{c}, format))
		}
		_, options, err := read()
		if err != nil {
			return usageError{err}
		}
		options.Now = m.Now
		gate, err := app.OpenGateZero(cmd.Context(), options)
		if err != nil {
			return err
		}
		return errors.Join(m.explain(subjectOf(cmd, nil), m.run(cmd.Context(), directOffice{gate}, format)), gate.Close())
	}
	return cmd
}

func (m *intakeImport) check(cmd *cobra.Command) (recovery.Format, error) {
	if m.batch == "" {
		return "", usagef("--batch is missing: expected the name of a batch")
	}
	if cmd.Flags().Changed("database") && m.server != "" {
		return "", usagef("--server and --database are given: expected one of the two")
	}
	name := cmp.Or(m.format, strings.TrimPrefix(strings.ToLower(filepath.Ext(m.file)), "."))
	switch name {
	case "jsonl", "json":
		name = string(recovery.NDJSON)
	case "":
		return "", usagef("--format is missing, and the name of the file does not tell: expected csv or ndjson")
	}
	return oneOf("format", name, []recovery.Format{recovery.CSV, recovery.NDJSON})
}

// importSum is what became of a file.
type importSum struct {
	Batch    string        `json:"batch_id"`
	Rows     int           `json:"rows"`
	Added    int           `json:"added"`
	Present  int           `json:"present"`
	Refused  int           `json:"refused"`
	Lines    []refusedLine `json:"refused_lines,omitempty"` // the first thousand
	Complete bool          `json:"complete"`
}

func (m *intakeImport) run(ctx context.Context, office intakeOffice, format recovery.Format) error {
	in, size, err := m.open()
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // it was only read
	rows, err := recovery.ReadRows(format, in)
	if err != nil {
		return fileError(m.file, 1, err)
	}
	if ignored := rows.Ignored(); len(ignored) > 0 {
		fmt.Fprintf(m.Err, "Left out, because candidates do not have them: %s\n", printable(strings.Join(ignored, ", ")))
	}
	if err := office.begin(ctx, m.batch); err != nil {
		return err
	}
	sum := importSum{Batch: m.batch}
	if err := m.copy(ctx, office, rows, in, size, &sum); err != nil {
		if sum.Rows > 0 {
			fmt.Fprintf(m.Err, "%s done before it failed; run it again to go on.\n", count(sum.Rows, "row"))
		}
		return err
	}
	if m.done && sum.Refused == 0 {
		if err := office.complete(ctx, m.batch); err != nil {
			return err
		}
		sum.Complete = true
	}
	return m.tell(sum)
}

// counter counts what was read of a file.
type counter struct {
	io.ReadCloser
	n int
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.n += n
	return n, err
}

// open opens the file; its size is -1 if that is not known.
func (m *intakeImport) open() (*counter, int, error) {
	if m.file == "-" {
		return &counter{ReadCloser: io.NopCloser(m.In)}, -1, nil
	}
	f, err := os.Open(m.file)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return &counter{ReadCloser: f}, int(info.Size()), nil
}

// copy imports rows stretch by stretch, so that a file may be of any length. The
// next stretch is read while one is imported.
func (m *intakeImport) copy(ctx context.Context, office intakeOffice, rows *recovery.Rows, in *counter, size int, sum *importSum) error {
	advance, end := m.progress("importing " + printable(m.file))
	defer end()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	for next := range readAhead(ctx, rows, in, office.size()) {
		if next.err != nil {
			return fmt.Errorf("%s: %w", m.file, next.err)
		}
		done, refused, err := office.add(ctx, m.batch, next.rows)
		if err != nil {
			return err
		}
		for _, l := range refused {
			if sum.Refused++; sum.Refused <= keptLines {
				sum.Lines = append(sum.Lines, l)
			}
		}
		sum.Rows, sum.Added, sum.Present = sum.Rows+len(next.rows), sum.Added+done.Added, sum.Present+done.Present
		advance(next.read, size)
	}
	return ctx.Err()
}

// stretch is some rows of a file, or why there are no more.
type stretch struct {
	rows []recovery.Row
	read int // bytes of the file so far
	err  error
}

// readAhead reads a file, never more than a stretch before what is taken from it.
func readAhead(ctx context.Context, rows *recovery.Rows, in *counter, size int) <-chan stretch {
	out := make(chan stretch)
	go func() {
		defer close(out)
		for {
			list, err := rows.Take(size)
			if err == nil && len(list) == 0 {
				return
			}
			select {
			case out <- stretch{list, in.n, err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return out
}

// shownLines is how many refused rows people are shown.
const shownLines = 100

func (m *intakeImport) tell(sum importSum) error {
	for _, l := range sum.Lines[:min(len(sum.Lines), shownLines)] {
		fmt.Fprintf(m.Err, "%s:%d: %s\n", m.file, l.Line, printable(l.Reason))
	}
	if rest := sum.Refused - shownLines; rest > 0 {
		fmt.Fprintf(m.Err, "and %d more.\n", rest)
	}
	if m.asJSON {
		if err := printJSON(m.Out, sum); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(m.Out, "%s: %s, %d added, %d there already, %d refused\n",
			printable(sum.Batch), count(sum.Rows, "row"), sum.Added, sum.Present, sum.Refused)
		switch {
		case sum.Complete:
			fmt.Fprintln(m.Out, "The batch is complete; its recovery window begins.")
		case m.done:
			fmt.Fprintln(m.Err, "The batch is not completed, because rows were refused. Correct them and import the file again.")
		default:
			fmt.Fprintf(m.Err, "When all is imported: recoup gate-zero complete %s\n", printable(sum.Batch))
		}
	}
	if sum.Refused > 0 {
		return errSilent
	}
	return nil
}

// fileError says what is wrong with a file, and where.
func fileError(file string, line int, err error) error {
	if said, ok := errors.AsType[*fault.Error](err); ok {
		return fmt.Errorf("%s:%d: %s", file, line, reasonOf(said))
	}
	return fmt.Errorf("%s: %w", file, err)
}

func refusedRow(line int, err error) refusedLine {
	if said, ok := errors.AsType[*fault.Error](err); ok {
		return refusedLine{Line: line, Reason: reasonOf(said)}
	}
	return refusedLine{Line: line, Reason: "refused"}
}

// remoteOffice is a server.
type remoteOffice struct{ *client.Client }

func (remoteOffice) size() int { return requestRows }

func (r remoteOffice) begin(ctx context.Context, batch string) error {
	_, err := r.CreateIntakeBatch(ctx, batch)
	return err
}

func (r remoteOffice) complete(ctx context.Context, batch string) error {
	_, err := r.CompleteIntakeBatch(ctx, batch, client.BatchAct{})
	return err
}

// add sends what the server would take, and names rows by their lines in the file.
func (r remoteOffice) add(ctx context.Context, batch string, rows []recovery.Row) (done client.IntakesImported, refused []refusedLine, err error) {
	var list []client.NewIntake
	var lines []int
	for _, row := range rows {
		if row.Err == nil {
			row.Err = row.Identify()
		}
		if row.Err != nil {
			refused = append(refused, refusedRow(row.Line, row.Err))
			continue
		}
		i := client.NewIntake{CompanyName: row.Intake.CompanyName, Domain: row.Intake.Domain, LinkedInURL: row.Intake.LinkedInURL, State: row.Intake.State}
		if i.ID = row.Intake.ID; i.ID.IsZero() {
			i.ImportKey = row.Intake.ImportKey
		}
		list, lines = append(list, i), append(lines, row.Line)
	}
	if len(list) == 0 {
		return done, refused, nil
	}
	done, err = r.ImportIntakes(ctx, batch, list)
	for _, bad := range done.Refused {
		var said fault.Error
		if json.Unmarshal(bad.Failure, &said) == nil && bad.Line >= 1 && bad.Line <= len(lines) {
			refused = append(refused, refusedRow(lines[bad.Line-1], &said))
		}
	}
	return done, refused, err
}

// directOffice is a database.
type directOffice struct{ *app.GateZero }

func (directOffice) size() int { return transactionRows }

func (d directOffice) begin(ctx context.Context, batch string) error {
	_, err := d.CreateBatch(ctx, batch)
	return err
}

func (d directOffice) complete(ctx context.Context, batch string) error {
	_, err := d.Complete(ctx, batch, d.Act("import"))
	return err
}

func (d directOffice) add(ctx context.Context, batch string, rows []recovery.Row) (client.IntakesImported, []refusedLine, error) {
	done, err := d.Import(ctx, batch, rows)
	var refused []refusedLine
	for _, row := range done.Refused {
		refused = append(refused, refusedRow(row.Line, row.Err))
	}
	return client.IntakesImported{Added: done.Added, Present: done.Present}, refused, err
}
