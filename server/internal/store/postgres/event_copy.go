package postgres

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
)

// copySignature begins the binary format of COPY: its name, no flags, nothing
// more in the header.
const copySignature = "PGCOPY\n\xff\r\n\x00" + "\x00\x00\x00\x00" + "\x00\x00\x00\x00"

// copyRows writes records in the binary format of COPY. It uses the columns as
// they are, where the driver's own COPY would look at every value's type.
func copyRows[R any](columns []column[R], records []R) []byte {
	buf := make([]byte, 0, 64+len(records)*len(columns)*24)
	buf = append(buf, copySignature...)
	for i := range records {
		buf = binary.BigEndian.AppendUint16(buf, uint16(len(columns)))
		for c := range columns {
			buf = columns[c].append(buf, &records[i])
		}
	}
	return binary.BigEndian.AppendUint16(buf, math.MaxUint16) // the end
}

// append appends the value of one record with its length before it.
func (c *column[R]) append(buf []byte, r *R) []byte {
	start := len(buf)
	buf = c.write(append(buf, 0, 0, 0, 0), r)
	length := uint32(len(buf) - start - 4)
	if length == 0 && !c.kind.never {
		length = math.MaxUint32 // NULL
	}
	binary.BigEndian.PutUint32(buf[start:], length)
	return buf
}

// copy copies rows into a table and returns their number.
func (t *tx) copy(ctx context.Context, table, columns string, rows []byte) (int, error) {
	tag, err := t.conn.PgConn().CopyFrom(ctx, bytes.NewReader(rows), "copy "+table+" ("+columns+") from stdin binary")
	return int(tag.RowsAffected()), err
}
