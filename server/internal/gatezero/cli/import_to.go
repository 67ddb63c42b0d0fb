package cli

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/app"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/internal/gatezero"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/rowfile"
)

// How many rows are imported at once: by one request, or in one transaction.
const (
	requestRows     = 2000
	TransactionRows = 20_000
)

// destination is where candidates are imported: a server, or a database.
type destination interface {
	begin(ctx context.Context, batch string) error
	copy(ctx context.Context, batch string, rows *gatezero.Rows, done func(chunk)) error
	complete(ctx context.Context, batch string) error
}

// chunk is what became of some rows.
type chunk struct {
	added, present int
	refused        []command.Refused
}

// refuse adds a row that was refused.
func (c *chunk) refuse(line int, err error) {
	reason := err.Error()
	if said, ok := errors.AsType[*fault.Error](err); ok {
		reason = command.Reason(said)
	}
	c.refused = append(c.refused, command.Refused{Line: line, Reason: reason})
}

// remote is a server. It gets the lines of the file as they are, and parses them.
type remote struct {
	*client.Client
	format gatezero.Format
}

func (r remote) begin(ctx context.Context, batch string) error {
	_, err := r.GateZero.CreateBatch(ctx, batch)
	return err
}

func (r remote) complete(ctx context.Context, batch string) error {
	_, err := r.GateZero.CompleteBatch(ctx, batch, recoup.IntakeBatchAct{})
	return err
}

func (r remote) copy(ctx context.Context, batch string, rows *gatezero.Rows, done func(chunk)) error {
	media := map[gatezero.Format]string{gatezero.CSV: "text/csv", gatezero.NDJSON: "application/x-ndjson"}[r.format]
	for piece, err := range command.Ahead(ctx, func() (rowfile.Piece, error) { return rows.Piece(requestRows) }) {
		if err != nil {
			return err
		}
		var c chunk
		for _, line := range piece.Long {
			c.refuse(line, gatezero.LongRow(line).Err)
		}
		if piece.Rows > 0 {
			sent, err := r.GateZero.ImportFile(ctx, batch, client.IntakeLines{Media: media, FirstLine: piece.Line, Data: piece.Data})
			if err != nil {
				return err
			}
			c.added, c.present = sent.Added, sent.Present
			for _, row := range sent.Refused {
				said := new(fault.Error)
				if json.Unmarshal(row.Failure, said) != nil {
					said.Message = "refused"
				}
				c.refuse(row.Line, said)
			}
		}
		done(c)
	}
	return ctx.Err()
}

// local is a database.
type local struct {
	*gatezero.Service
	database *app.Offline
}

// openLocal opens the database of options; a file that does not exist is made.
func openLocal(ctx context.Context, o app.Options) (local, error) {
	database, err := app.OpenOffline(ctx, o)
	if err != nil {
		return local{}, err
	}
	core := &database.Core
	service, err := gatezero.New(gatezero.Options{
		Store: gatezero.NewStore(core.DB), Audit: core.Audit, Gate: func() policy.GateZero { return core.Policy().Gate }, Now: core.Now, IDs: core.IDs,
	})
	if err != nil {
		return local{}, errors.Join(err, database.Close())
	}
	return local{service, database}, nil
}

func (l local) begin(ctx context.Context, batch string) error {
	_, err := l.CreateBatch(ctx, batch)
	return err
}

func (l local) complete(ctx context.Context, batch string) error {
	_, err := l.Complete(ctx, batch, l.database.Act("import"))
	return err
}

func (l local) copy(ctx context.Context, batch string, rows *gatezero.Rows, done func(chunk)) error {
	take := func() ([]gatezero.Row, error) {
		list, err := rows.Take(TransactionRows)
		if err == nil && len(list) == 0 {
			err = io.EOF
		}
		return list, err
	}
	for list, err := range command.Ahead(ctx, take) {
		if err != nil {
			return err
		}
		imported, err := l.Import(ctx, batch, list)
		if err != nil {
			return err
		}
		c := chunk{added: imported.Added, present: imported.Present}
		for _, row := range imported.Refused {
			c.refuse(row.Line, row.Err)
		}
		done(c)
	}
	return ctx.Err()
}
