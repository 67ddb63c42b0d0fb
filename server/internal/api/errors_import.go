package api

import (
	"context"
	"strings"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/backfill"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
	"github.com/recoup-dev/recoup/server/internal/rowfile"
	"github.com/recoup-dev/recoup/server/internal/turn"
)

// The bounds of an import.
const (
	maxImported = 10000 // rows
	importBody  = 16 << 20
)

type importErrorsIn struct{ Body recoup.ErrorLines }

// read reads the rows in a turn of the context, and the names of columns that stand for nothing.
func (in *importErrorsIn) read(ctx context.Context) (rows []backfill.Row, ignored []string, err error) {
	b := &in.Body
	var bad fault.FieldErrors
	if format := rowfile.Format(b.Format); format != rowfile.CSV && format != rowfile.NDJSON {
		bad.Addf("format", "enum", "format must be csv or ndjson")
	}
	if b.Lines == "" {
		bad.Addf("lines", "required", "lines is required")
	}
	if err := bad.Err(); err != nil {
		return nil, nil, err
	}
	options := backfill.Options{Format: rowfile.Format(b.Format), Line: b.FirstLine, Table: b.Table, Columns: b.Columns}
	err = turn.Each(ctx, 1, func(int) (err error) {
		rows, ignored, err = backfill.Read(options, strings.NewReader(b.Lines), maxImported+1)
		return err
	})
	if err == nil && (len(rows) == 0 || len(rows) > maxImported) {
		err = fault.BadField("lines", "items", "an import must have between 1 and %d rows", maxImported)
	}
	return rows, ignored, err
}

func (*API) checkImport(c *httpapi.Call, in *importErrorsIn) error {
	_, _, err := in.read(c.Context())
	return err
}

// importErrors records failures of earlier times, as a file has them.
func (a *API) importErrors(c *httpapi.Call, in *importErrorsIn) (recoup.ErrorsImported, error) {
	rows, ignored, err := in.read(c.Context())
	if err != nil {
		return recoup.ErrorsImported{}, err
	}
	do := a.Engine.Import
	if in.Body.DryRun {
		do = a.Engine.PreviewImport
	}
	sum, err := backfill.Import(c.Context(), do, c.Caller, rows)
	return recoup.ErrorsImported{
		Recorded: sum.Recorded, Superseded: sum.Superseded, Expired: sum.Expired, Orphaned: sum.Orphaned, Repeated: sum.Repeated, NRefused: len(sum.Refused),
		Refused: httpapi.Each(sum.Refused, func(r backfill.Row) recoup.RefusedRow {
			return recoup.RefusedRow{Line: r.Line, Failure: c.ItemFailure(r.Err)}
		}),
		Ignored: httpapi.PlainNames(ignored),
	}, err
}
