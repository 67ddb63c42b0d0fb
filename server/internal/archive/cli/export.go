package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup/server/internal/app"
	"github.com/recoup-dev/recoup/server/internal/archive"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

func exportParquet(streams command.Streams) *cobra.Command {
	var from, to, place string
	cmd := &cobra.Command{
		Use:   "parquet",
		Short: "Export events by day as Parquet files",
		Long: `Writes the events of each day that is over to a file of its own: Parquet, compressed with zstd,
sorted by code and time, with a manifest beside it that has its counts and its checksum. Each file
is read back and compared with the ledger before it gets its name. A day whose file is there
already is not written again, unless events came late.

It works on the database itself, also while a server runs on it, and is audited there. Whoever has
its address may read all of it anyway; 'recoup export events --rows' asks a server. The files hold
what the ledger holds: hashes of tenants, and no messages. 'recoup events --from-archive' lists them;
DuckDB, Spark and ClickHouse read them.

With s3://BUCKET/PREFIX they go to an object store that speaks the S3 protocol. Set what AWS's own
tools read: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (or a profile in ~/.aws/credentials),
AWS_REGION, and AWS_ENDPOINT_URL_S3 for another server than AWS's.`,
		Example: `  recoup export parquet --to-dir events
  recoup export parquet --to-dir events --from 2026-01-01 --to 2026-02-01
  recoup export parquet --to-dir s3://acme-events/recoup --from 30d
  recoup export parquet --to-dir events --database postgres://app@db/recoup`,
		Args: command.NoArgs,
	}
	cmd.Flags().StringVar(&from, "from", "", "only days since this `TIME`, or an age such as 30d")
	cmd.Flags().StringVar(&to, "to", "", "only days before this `TIME`, or an age such as 2d")
	cmd.Flags().StringVar(&place, "to-dir", "", "`FOLDER` to write to, made if it is not there, or s3://BUCKET/PREFIX")
	read := command.SettingFlags(streams, cmd, "database", "database-direct", "schema-owner")
	return command.Offline(streams, cmd, command.One, func(ctx context.Context, s *command.Session, _ []string) error {
		if place == "" {
			return command.Usagef("--to-dir is missing: expected the folder to write to, or s3://BUCKET/PREFIX")
		}
		begin, end, err := command.Span(s.Clock(), "from", from, "to", to)
		if err != nil {
			return err
		}
		if !end.IsZero() && !begin.Before(end) {
			return command.Usagef("--from %s is not before --to %s", from, to)
		}
		_, options, err := read()
		if err != nil {
			return err
		}
		options.Now = streams.Now
		advance, stop := s.ShowProgress("exporting")
		files, err := export(ctx, options, place, archive.Export{From: begin, To: end, Progress: func(done, total int64) { advance(int(done), int(total)) }})
		stop()
		if err != nil && len(files) == 0 {
			return explainExport(err, 0)
		}
		return errors.Join(printFiles(s, files), explainExport(err, len(files)))
	})
}

// export writes days from the database of the options. An object store that is away is found out when
// it is written to.
func export(ctx context.Context, o app.Options, address string, e archive.Export) (files []archive.Filed, err error) {
	clock := o.Now
	if clock == nil {
		clock = time.Now
	}
	if e.Place, err = archive.OpenPlace(archive.PlaceOptions{Address: address, Create: true, Getenv: os.Getenv, Now: clock}); err != nil {
		return nil, err
	}
	if err := app.MustExist(o.Database); err != nil {
		return nil, err
	}
	off, err := app.OpenOffline(ctx, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, off.Close()) }()
	return archive.Exporter{Store: off.Core.Files, Audit: off.Core.Audit, Act: off.Act(""), Now: off.Core.Now}.Export(ctx, e)
}

// explainExport says what a failed export has left.
func explainExport(err error, written int) error {
	if errors.Is(err, app.ErrNoDatabase) {
		return fmt.Errorf("%w\n--database names another", err)
	}
	if err != nil && written > 0 {
		return fmt.Errorf("%w\n%s written before it failed; run it again to go on", err, command.Count(written, "day"))
	}
	return err
}

// ExportedFiles is what 'recoup export parquet' prints as JSON.
type ExportedFiles struct {
	Files []ExportedFile `json:"files"`
}

// ExportedFile is one of them.
type ExportedFile struct {
	wire.EventFile
	Changed bool `json:"changed"`
}

func printFiles(s *command.Session, files []archive.Filed) error {
	if s.Machine() {
		out := ExportedFiles{Files: []ExportedFile{}}
		for _, f := range files {
			out.Files = append(out.Files, ExportedFile{f.EventFile, f.Changed})
		}
		return s.Print(out)
	}
	var rows, bytes int64
	changed := 0
	for _, f := range files {
		if rows, bytes = rows+f.Rows, bytes+f.Bytes; f.Changed {
			changed++
		}
	}
	if len(files) == 0 {
		s.Notef("No day that is over has events.")
		return nil
	}
	s.Sayf("%s with %s, %.1f MB; %d written, %d as they were.", command.Count(len(files), "day"), command.Count(rows, "event"), float64(bytes)/1e6, changed, len(files)-changed)
	return nil
}
