package rowfile

import (
	"bytes"
	"errors"
	"io"
)

// maxPiece is how many bytes a piece of a file has, beside its last row.
const maxPiece = 4 << 20

// Piece is consecutive lines of a file as they are, to be parsed elsewhere. A piece
// of a CSV file begins with the file's header.
type Piece struct {
	Line int // where the lines behind the header stand in the file, from 1
	Rows int // lines, or records of CSV, that are not blank
	Data []byte
	Long []int // lines of rows that are too long to be sent
}

// Piece returns the lines of up to n rows, or io.EOF. It never cuts a record, so
// that a file says the same in pieces and as a whole.
func (f *File) Piece(n int) (Piece, error) {
	p := Piece{Line: f.lines.number + 1, Data: bytes.Clone(f.header)}
	for p.Rows < n && len(p.Data) < maxPiece {
		line, number, err := f.lines.read()
		switch {
		case errors.Is(err, ErrLong): // a quote that is open before it is not closed behind it
			p.Long = append(p.Long, number)
			return p, nil
		case errors.Is(err, io.EOF) && p.Rows > 0:
			return p, nil
		case err != nil:
			return p, err
		}
		if p.Data = append(append(p.Data, line...), '\n'); len(bytes.TrimSpace(line)) > 0 {
			p.Rows++
		}
	}
	return p, nil
}
