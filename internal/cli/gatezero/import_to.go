package gatezero

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"os"
	"sync/atomic"

	"recoup/client"
	"recoup/fault"
	"recoup/internal/app"
	"recoup/internal/cli/command"
	"recoup/internal/recovery"
)

// How many rows are imported at once: by one request, or in one transaction.
const (
	requestRows     = 2000
	TransactionRows = 20_000
)

// destination is where candidates are imported: a server, or a database.
type destination interface {
	begin(ctx context.Context, batch string) error
	copy(ctx context.Context, batch string, rows *recovery.Rows, done func(chunk)) error
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
	format recovery.Format
}

func (r remote) begin(ctx context.Context, batch string) error {
	_, err := r.CreateIntakeBatch(ctx, batch)
	return err
}

func (r remote) complete(ctx context.Context, batch string) error {
	_, err := r.CompleteIntakeBatch(ctx, batch, client.BatchAct{})
	return err
}

func (r remote) copy(ctx context.Context, batch string, rows *recovery.Rows, done func(chunk)) error {
	media := map[recovery.Format]string{recovery.CSV: "text/csv", recovery.NDJSON: "application/x-ndjson"}[r.format]
	for piece, err := range ahead(ctx, func() (recovery.Piece, error) { return rows.Piece(requestRows) }) {
		if err != nil {
			return err
		}
		var c chunk
		for _, row := range piece.Refused {
			c.refuse(row.Line, row.Err)
		}
		if piece.Rows > 0 {
			sent, err := r.ImportIntakeLines(ctx, batch, client.IntakeLines{Media: media, FirstLine: piece.Line, Data: piece.Data})
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
type local struct{ *app.GateZero }

func (l local) begin(ctx context.Context, batch string) error {
	_, err := l.CreateBatch(ctx, batch)
	return err
}

func (l local) complete(ctx context.Context, batch string) error {
	_, err := l.Complete(ctx, batch, l.Act("import"))
	return err
}

func (l local) copy(ctx context.Context, batch string, rows *recovery.Rows, done func(chunk)) error {
	take := func() ([]recovery.Row, error) {
		list, err := rows.Take(TransactionRows)
		if err == nil && len(list) == 0 {
			err = io.EOF
		}
		return list, err
	}
	for list, err := range ahead(ctx, take) {
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

// ahead reads until io.EOF, the next while one is used, and never more than that.
func ahead[T any](ctx context.Context, read func() (T, error)) iter.Seq2[T, error] {
	type result struct {
		value T
		err   error
	}
	return func(yield func(T, error) bool) {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		out := make(chan result)
		go func() {
			defer close(out)
			for {
				value, err := read()
				if errors.Is(err, io.EOF) {
					return
				}
				select {
				case out <- result{value, err}:
				case <-ctx.Done():
					return
				}
				if err != nil {
					return
				}
			}
		}()
		for r := range out {
			if !yield(r.value, r.err) {
				return
			}
		}
	}
}

// input is a file, and how much of it was read.
type input struct {
	io.ReadCloser
	size int // -1: it is not known
	read atomic.Int64
}

func (in *input) Read(p []byte) (int, error) {
	n, err := in.ReadCloser.Read(p)
	in.read.Add(int64(n))
	return n, err
}

// openInput opens a file, or with - standard input.
func openInput(s *command.Session, file string) (*input, error) {
	if file == "-" {
		return &input{ReadCloser: io.NopCloser(s.In), size: -1}, nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &input{ReadCloser: f, size: int(info.Size())}, nil
}
