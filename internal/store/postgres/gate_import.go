package postgres

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"recoup"
	"recoup/internal/store"
)

// ImportIntakes adds pending intakes to a batch. They are copied in one go; only
// if that meets some that are there already, which is what a repeated import
// does, are they looked at one by one.
func (s *Store) ImportIntakes(ctx context.Context, batch string, now time.Time, intakes []store.Intake) (store.Imported, error) {
	if len(intakes) == 0 {
		return store.Imported{}, nil
	}
	rows := slices.Clone(intakes)
	for i := range rows {
		r := &rows[i]
		r.BatchID, r.Status, r.PreviousID, r.CreatedAt, r.UpdatedAt = batch, store.IntakePending, recoup.ID{}, now, now
	}
	added, err := s.importRows(ctx, batch, rows, copyIntakes)
	var known *Failure
	if errors.As(err, &known) && known.State == uniqueViolation {
		added, err = s.importRows(ctx, batch, rows, insertNewIntakes)
	}
	if err != nil {
		return store.Imported{}, err
	}
	return store.Imported{Added: added, Present: len(rows) - added}, nil
}

// importRows writes rows into a batch that is known to exist. It does not hold
// the batch: a kill switch must not wait for a long import.
func (s *Store) importRows(ctx context.Context, batch string, rows []store.Intake,
	write func(context.Context, *tx, []store.Intake) (int, error)) (added int, err error) {
	err = s.gate(ctx, "import intakes", time.Time{}, func(t *tx) error {
		var found []store.Batch
		collect(t.queue(selectBatch+" where batch_id = $1", batch), decode(batchColumns), &found)
		if err := t.send(ctx); err != nil {
			return err
		}
		if batch != "" {
			if _, err := one(found, nil, "batch "+batch); err != nil {
				return err
			}
		}
		added, err = write(ctx, t, rows)
		return err
	})
	return added, err
}

func copyIntakes(ctx context.Context, t *tx, rows []store.Intake) (int, error) {
	tag, err := t.conn.PgConn().CopyFrom(ctx, bytes.NewReader(copyFormat(intakeColumns, rows)),
		"copy cl.gate_zero_intake ("+names(intakeColumns, "")+") from stdin (format binary)")
	return int(tag.RowsAffected()), err
}

func insertNewIntakes(ctx context.Context, t *tx, rows []store.Intake) (added int, err error) {
	// In the order of their keys, so that two imports do not wait for each other.
	slices.SortStableFunc(rows, func(a, b store.Intake) int { return strings.Compare(a.ImportKey, b.ImportKey) })
	var ids []recoup.ID
	b := newBatch(intakeColumns, pointers(rows))
	collect(t.queue(b.insert("cl.gate_zero_intake")+` on conflict do nothing returning intake_id`, b.args...), pgx.RowTo[recoup.ID], &ids)
	err = t.send(ctx)
	return len(ids), err
}

// copyFormat is records in the binary format of COPY.
func copyFormat[R any](columns []column[R], records []R) []byte {
	buf := make([]byte, 0, 32+len(records)*len(columns)*24)
	buf = append(buf, "PGCOPY\n\xff\r\n\x00"...)
	buf = append(buf, make([]byte, 8)...) // no flags, no more header
	for i := range records {
		buf = binary.BigEndian.AppendUint16(buf, uint16(len(columns)))
		for j := range columns {
			start := len(buf)
			buf = columns[j].write(append(buf, 0, 0, 0, 0), &records[i])
			length := uint32(len(buf) - start - 4)
			if length == 0 {
				length = math.MaxUint32 // NULL
			}
			binary.BigEndian.PutUint32(buf[start:], length)
		}
	}
	return binary.BigEndian.AppendUint16(buf, math.MaxUint16)
}
