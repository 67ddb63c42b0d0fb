package errorcmd

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

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/backfill"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/internal/rowfile"
)

// How many rows one request has, and how many of those that were refused are kept for
// --json and shown to people.
const (
	requestRows = 2000
	keptLines   = 1000
	shownLines  = 100
)

// importing is the import of a file of failures.
type importing struct {
	recoup.ErrorLines
	file, form, refused string
	columns             []string
	yes                 bool
}

func importCommand(streams command.Streams) *cobra.Command {
	m := &importing{}
	cmd := &cobra.Command{
		Use:   "errors FILE",
		Short: "Import past failures from a CSV or NDJSON file",
		Long: `Imports failures that happened elsewhere and earlier, from a file, or with - from standard input.
The first line of a CSV file names its columns: code and created_at, and if known table, entity_id,
severity, message, correlation_id, service, endpoint, region, external_service, tenant, http_status
and key. NDJSON has one object with the same names per line. --map says which columns of the file these are.

The rows go through a running server (--server), in pieces, and never straight into its database.
Each failure is judged by the policy as of its created_at. What has expired by now goes straight to
the archive. The import notifies nobody; what happens to its errors later does.

Refused rows are listed with their lines, and the others are recorded. A file may be corrected and
imported again, and so may one whose import was interrupted: a row is recognised by its key, else
by its content, as long as its error is kept. Identical rows are one failure unless they have
keys.

--dry-run says what would become of the rows. It looks at a thousand at a time: rows of one failure
that are further apart count as superseded only when they are imported. The exit status is 1 if any
row was refused.`,
		Example: `  recoup import errors history.csv --table app.errors --dry-run
  recoup import errors jobs.ndjson --map code=error,created_at=failed_at --yes`,
		Args: command.ExactArgs("FILE"),
	}
	flags := cmd.Flags()
	flags.StringVar(&m.Table, "table", "", "error `TABLE` of rows that name none")
	flags.StringSliceVar(&m.columns, "map", nil, "`FIELD=COLUMN` for each field that has another name in the file")
	flags.StringVar(&m.form, "format", "", "`FORMAT` of the file: csv or ndjson (default: by its name)")
	flags.StringVar(&m.refused, "refused", "", "write the refused rows to this `FILE`, as NDJSON with line and reason")
	flags.BoolVar(&m.DryRun, "dry-run", false, "say what would become of the rows, and record nothing")
	command.YesFlag(cmd, &m.yes)
	return command.OnServer(streams, cmd, command.One, func(ctx context.Context, s *command.Session, args []string) error {
		m.file = args[0]
		if err := m.check(s); err != nil {
			return err
		}
		return m.run(ctx, s)
	})
}

// check reads the flags.
func (m *importing) check(s *command.Session) error {
	for _, pair := range m.columns {
		field, column, ok := strings.Cut(pair, "=")
		if !ok {
			return command.Usagef("--map %q: expected FIELD=COLUMN; fields are %s", pair, strings.Join(backfill.Fields(), ", "))
		}
		if m.Columns == nil {
			m.Columns = map[string]string{}
		}
		m.Columns[strings.TrimSpace(field)] = strings.TrimSpace(column)
	}
	name := cmp.Or(m.form, strings.TrimPrefix(strings.ToLower(filepath.Ext(m.file)), "."))
	switch name {
	case "jsonl", "json":
		name = string(rowfile.NDJSON)
	case "":
		return command.Usagef("--format is missing, and the file's name does not end in .csv or .ndjson: expected one of them")
	}
	format, err := command.OneOf("format", name, []rowfile.Format{rowfile.CSV, rowfile.NDJSON})
	m.Format = string(format)
	switch {
	case err != nil || m.DryRun:
		return err
	case m.file == "-" && !m.yes:
		return command.Usagef("the rows come from standard input, which leaves nobody to ask: repeat it with --yes, or with --dry-run")
	}
	return s.Askable(m.yes)
}

// run imports the file, once a person has seen what would become of it.
func (m *importing) run(ctx context.Context, s *command.Session) error {
	if !m.DryRun && !m.yes {
		preview := *m
		preview.DryRun, preview.refused = true, ""
		sum, err := preview.copy(ctx, s)
		if err != nil {
			return err
		}
		sum.say(s)
		if err := s.Confirm("Import them?", "yes"); err != nil {
			return err
		}
	}
	sum, err := m.copy(ctx, s)
	if err != nil {
		if sum.Rows > 0 && !m.DryRun {
			s.Notef("%s imported before it failed; run it again to continue.", command.Count(sum.Rows, "row"))
		}
		return err
	}
	s.NoteRefused(m.file, sum.Lines, sum.Refused, shownLines)
	if sum.Rows == 0 {
		s.Notef("%s has no rows: a CSV file names its columns in the first line, and has a row in each of the others.", m.file)
	}
	if s.Machine() {
		err = s.Print(sum)
	} else {
		sum.say(s)
	}
	if err == nil && sum.Refused > 0 {
		err = command.ErrSilent
	}
	return err
}

// copy imports the file piece by piece, so that it may be of any length.
func (m *importing) copy(ctx context.Context, s *command.Session) (sum imported, err error) {
	sum.DryRun = m.DryRun
	in, err := s.OpenInput(m.file)
	if err != nil {
		return sum, err
	}
	defer func() { _ = in.Close() }() // it was only read
	rows, _, err := rowfile.Open(rowfile.Format(m.Format), in, backfill.MaxRow)
	if err != nil {
		return sum, err
	}
	list, done, err := m.openRefused()
	if err != nil {
		return sum, err
	}
	defer func() { err = errors.Join(err, done()) }()
	advance, end := s.ShowProgress("importing " + command.Printable(m.file))
	defer end()
	for piece, err := range command.Ahead(ctx, func() (rowfile.Piece, error) { return rows.Piece(requestRows) }) {
		if err != nil {
			return sum, err
		}
		if err := m.send(ctx, s, piece, &sum, list); err != nil {
			return sum, err
		}
		advance(in.Done(), in.Size)
	}
	return sum, ctx.Err()
}

// send imports a piece, and notes what became of it.
func (m *importing) send(ctx context.Context, s *command.Session, piece rowfile.Piece, sum *imported, list io.Writer) error {
	var refused []command.Refused
	for _, line := range piece.Long {
		refused = append(refused, command.Refused{Line: line, Reason: fmt.Sprintf("the row is longer than %d bytes", backfill.MaxRow)})
	}
	if piece.Rows > 0 {
		lines := m.ErrorLines
		lines.FirstLine, lines.Lines = piece.Line, string(piece.Data)
		sent, err := s.Errors.Import(ctx, lines)
		if err != nil {
			return err
		}
		if sum.Rows == 0 && len(sent.Ignored) > 0 {
			s.Notef("Unknown columns, ignored: %s", command.Printable(strings.Join(sent.Ignored, ", ")))
		}
		sum.add(&sent)
		for _, row := range sent.Refused {
			said := new(fault.Error)
			if json.Unmarshal(row.Failure, said) != nil {
				said.Message = "refused"
			}
			refused = append(refused, command.Refused{Line: row.Line, Reason: command.Reason(said)})
		}
	}
	return sum.refuse(refused, list)
}

// openRefused opens the file of refused rows, if there is to be one.
func (m *importing) openRefused() (io.Writer, func() error, error) {
	if m.refused == "" {
		return io.Discard, func() error { return nil }, nil
	}
	f, err := os.Create(m.refused)
	if err != nil {
		return nil, nil, err
	}
	return f, f.Close, nil
}
