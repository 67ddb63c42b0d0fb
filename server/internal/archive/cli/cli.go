// Package cli is 'recoup export parquet', and 'recoup events --from-archive'.
package cli

import (
	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/internal/slice"
)

// Commands are those of event files. They join the core's group export.
func Commands(streams command.Streams) []*cobra.Command {
	return []*cobra.Command{command.Group(&cobra.Command{
		Use:     "export",
		Example: "  recoup export parquet --to-dir events",
	}, exportParquet(streams))}
}

// Events are those of files, as 'recoup events' lists them.
func Events() slice.EventArchive {
	return slice.EventArchive{
		About: `With --from-archive it lists the files that 'recoup export
parquet' or a server with --event-files has written, and needs no server.

For files in an object store set what AWS's own tools read: AWS_ACCESS_KEY_ID,
AWS_SECRET_ACCESS_KEY and AWS_REGION, and AWS_ENDPOINT_URL_S3 for another server than AWS's.`,
		Example: `  recoup events --from-archive ./events --code DNS_TIMEOUT --from 2026-01-01
  recoup events --from-archive s3://acme-events/recoup --from 2026-01-01`,
		Flag: "read the Parquet files in this `FOLDER`, or in s3://BUCKET/PREFIX, instead of a server",
		Open: open,
	}
}
