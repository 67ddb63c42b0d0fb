package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/internal/gatezero"
)

// What is kept of refused rows for --json, and what people are shown of them.
const (
	keptLines  = 1000
	shownLines = 100
)

// importer is the import of a file.
type importer struct {
	command.ServerFlags
	file, batch, form string
	done              bool
}

func importCommand(streams command.Streams) *cobra.Command {
	m := &importer{}
	s := &command.Session{Streams: streams}
	cmd := &cobra.Command{
		Use:   "import FILE --batch BATCH",
		Short: "Import candidates from a CSV or NDJSON file",
		Long: `Imports candidates from a file, or with - from standard input. The first line of a CSV file names
its columns: company_name, and if known domain, linkedin_url, state, and import_key or intake_id.
NDJSON has one object with the same names per line.

Invalid rows are listed with their lines, and the others are imported. A file may be corrected and
imported again, and so may one whose import was interrupted: a row is recognised by its import_key
or intake_id, else by its content.

With --complete the batch is completed at the end, if no row was refused. With --database the file
is imported without a server. The exit status is 1 if any row was refused.`,
		Example: `  recoup gate-zero import companies.csv --batch spring-import
  recoup gate-zero import more.ndjson --batch b2 --database sqlite:recoup.db`,
		Args: command.ExactArgs("FILE"),
	}
	cmd.Flags().StringVar(&m.batch, "batch", "", "the `BATCH` to import into, which is created if needed; required")
	cmd.Flags().StringVar(&m.form, "format", "", "`FORMAT` of the file: csv or ndjson (default: by its name)")
	cmd.Flags().BoolVar(&m.done, "complete", false, "complete the batch at the end")
	m.Add(cmd, "")
	read := command.SettingFlags(streams, cmd, "database", "schema-owner")
	s.Flags(cmd, command.One)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		m.file = args[0]
		direct := cmd.Flags().Changed("database")
		format, err := m.check(direct)
		if err != nil {
			return err
		}
		if !direct {
			c, err := m.Connect(streams.Now, 0)
			if err != nil {
				return err
			}
			defer c.Close()
			return m.Explain(cmd, nil, m.run(cmd.Context(), s, remote{c, format}, format))
		}
		_, options, err := read()
		if err != nil {
			return err
		}
		options.Now = streams.Now
		into, err := openLocal(cmd.Context(), options)
		if err != nil {
			return err
		}
		return errors.Join(m.Explain(cmd, nil, m.run(cmd.Context(), s, into, format)), into.database.Close())
	}
	return cmd
}

func (m *importer) check(direct bool) (gatezero.Format, error) {
	if m.batch == "" {
		return "", command.Usagef("--batch is missing: expected the name of a batch")
	}
	if direct && m.Server != "" {
		return "", command.Usagef("--server and --database are given: expected one of the two")
	}
	name := cmp.Or(m.form, strings.TrimPrefix(strings.ToLower(filepath.Ext(m.file)), "."))
	switch name {
	case "jsonl", "json":
		name = string(gatezero.NDJSON)
	case "":
		return "", command.Usagef("--format is missing, and the file's name does not end in .csv or .ndjson: expected one of them")
	}
	return command.OneOf("format", name, []gatezero.Format{gatezero.CSV, gatezero.NDJSON})
}

// Imported is what became of a file, as --json prints it.
type Imported struct {
	Batch    string            `json:"batch_id"`
	Rows     int               `json:"rows"`
	Added    int               `json:"added"`
	Present  int               `json:"present"`
	Refused  int               `json:"refused"`
	Lines    []command.Refused `json:"refused_lines,omitempty"` // the first thousand
	Complete bool              `json:"complete"`
}

func (m *importer) run(ctx context.Context, s *command.Session, into destination, format gatezero.Format) error {
	in, err := s.OpenInput(m.file)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // it was only read
	rows, err := gatezero.ReadRows(format, in)
	if err != nil {
		return m.headerError(err)
	}
	if ignored := rows.Ignored(); len(ignored) > 0 {
		s.Notef("Unknown columns, ignored: %s", command.Printable(strings.Join(ignored, ", ")))
	}
	if err := into.begin(ctx, m.batch); err != nil {
		return err
	}
	sum := Imported{Batch: m.batch}
	if err := m.copy(ctx, s, into, rows, in, &sum); err != nil {
		if sum.Rows > 0 {
			s.Notef("%s imported before it failed; run it again to continue.", command.Count(sum.Rows, "row"))
		}
		return err
	}
	if m.done && sum.Refused == 0 {
		if err := into.complete(ctx, m.batch); err != nil {
			return err
		}
		sum.Complete = true
	}
	return m.print(s, sum)
}

// headerError says what is wrong with a file that cannot be begun.
func (m *importer) headerError(err error) error {
	if said, ok := errors.AsType[*fault.Error](err); ok {
		return fmt.Errorf("%s:1: %s", m.file, command.Reason(said))
	}
	return fmt.Errorf("%s: %w", m.file, err)
}

// copy imports a file chunk by chunk, so that it may be of any length.
func (m *importer) copy(ctx context.Context, s *command.Session, into destination, rows *gatezero.Rows, in *command.Input, sum *Imported) error {
	advance, end := s.ShowProgress("importing " + command.Printable(m.file))
	defer end()
	return into.copy(ctx, m.batch, rows, func(c chunk) {
		sum.Added, sum.Present, sum.Refused = sum.Added+c.added, sum.Present+c.present, sum.Refused+len(c.refused)
		sum.Rows = sum.Added + sum.Present + sum.Refused
		sum.Lines = append(sum.Lines, c.refused[:min(len(c.refused), keptLines-len(sum.Lines))]...)
		advance(in.Done(), in.Size)
	})
}

func (m *importer) print(s *command.Session, sum Imported) error {
	s.NoteRefused(m.file, sum.Lines, sum.Refused, shownLines)
	if s.Machine() {
		if err := s.Print(sum); err != nil {
			return err
		}
	} else {
		s.Sayf("%s: %s, %d added, %d already present, %d refused", command.Printable(sum.Batch), command.Count(sum.Rows, "row"), sum.Added, sum.Present, sum.Refused)
		switch {
		case sum.Complete:
			s.Sayf("The batch is complete; its recovery window begins.")
		case m.done:
			s.Notef("The batch is not completed, because rows were refused. Correct them and import the file again.")
		default:
			s.Notef("When all is imported: recoup gate-zero complete %s", command.Printable(sum.Batch))
		}
	}
	if sum.Refused > 0 {
		return command.ErrSilent
	}
	return nil
}
