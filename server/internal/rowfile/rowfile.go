// Package rowfile reads files of rows, CSV or NDJSON, in memory that does not depend on
// their length: record by record to be parsed, or in pieces of whole records to be sent
// and parsed elsewhere. It knows nothing of what the rows say.
package rowfile

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/recoup-dev/recoup/fault"
)

// Format is how a file is written.
type Format string

// The formats of files.
const (
	CSV    Format = "csv"    // the first line names the columns
	NDJSON Format = "ndjson" // one object per line
)

// ErrLong is returned for a row that is longer than rows may be. The rows after it can
// be read all the same.
var ErrLong = errors.New("the row is too long")

// File reads a file row by row.
type File struct {
	lines  lines
	header []byte // of a CSV file, with its end
}

// Open begins to read a file whose rows have at most longest bytes. Of a CSV file it
// reads the header and returns the names in it.
func Open(format Format, r io.Reader, longest int) (*File, []string, error) {
	f := &File{lines: lines{r: bufio.NewReaderSize(r, 64<<10), longest: longest}}
	switch format {
	case NDJSON:
		return f, nil, nil
	case CSV:
		names, err := f.readHeader()
		return f, names, err
	}
	return nil, nil, fmt.Errorf("a file of rows is %s or %s, not %q", CSV, NDJSON, format)
}

// readHeader reads the names of the columns; none, if the line cannot be a header.
func (f *File) readHeader() ([]string, error) {
	f.lines.join = true
	line, _, err := f.lines.read()
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, ErrLong):
		return nil, nil
	case err != nil:
		return nil, err
	}
	f.header = append(bytes.Clone(line), '\n')
	names, err := Record(bytes.TrimPrefix(line, []byte("\ufeff")))
	if err != nil {
		return nil, nil //nolint:nilerr // whoever knows the columns says what is missing
	}
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	return names, nil
}

// Next returns the next row that is not blank, and the number of its line; or io.EOF,
// or ErrLong. The row is good until the next call.
func (f *File) Next() (row []byte, number int, err error) {
	for {
		row, number, err = f.lines.read()
		if err != nil || len(bytes.TrimSpace(row)) > 0 {
			return row, number, err
		}
	}
}

// From says at which line of a longer file the rows begin that are read next.
func (f *File) From(line int) { f.lines.number = line - 1 }

// Record splits a row of CSV. Most have no quotes and need no more than that.
func Record(row []byte) ([]string, error) {
	if bytes.IndexByte(row, '"') < 0 {
		return strings.Split(string(row), ","), nil
	}
	values, err := csv.NewReader(bytes.NewReader(row)).Read()
	if err != nil {
		return nil, fault.BadField("row", "format", "the quotes of the row do not match")
	}
	return values, nil
}

// Values splits a row of CSV that has as many values as there are columns.
func Values(row []byte, columns int) ([]string, error) {
	values, err := Record(row)
	if err == nil && len(values) != columns {
		err = fault.BadField("row", "format", "the row has %d values, and there are %d columns", len(values), columns)
	}
	return values, err
}
