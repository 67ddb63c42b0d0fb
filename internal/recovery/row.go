package recovery

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"recoup"
)

// Format is how a file of candidates is written.
type Format string

// The formats of files.
const (
	CSV    Format = "csv"    // the first line names the columns
	NDJSON Format = "ndjson" // one object per line
)

// maxRow is how many bytes a row may have. What is longer is no candidate, and is
// never held in memory as a whole.
const maxRow = 16 << 10

// Rows reads a file row by row, in memory that does not depend on its length.
type Rows struct {
	lines  lines
	next   func(line []byte, number int) Row
	ignore []string
	header []byte // of a CSV file, with its end
}

// ReadRows begins to read a file. It fails if a CSV file does not begin with names
// of columns among which there is company_name.
func ReadRows(format Format, r io.Reader) (*Rows, error) {
	rows := &Rows{lines: lines{r: bufio.NewReaderSize(r, 64<<10)}}
	switch format {
	case NDJSON:
		rows.next = objectRow
		return rows, nil
	case CSV:
		return rows, rows.readHeader()
	}
	return nil, fmt.Errorf("a file of candidates is %s or %s, not %q", CSV, NDJSON, format)
}

// Ignored returns the names of columns that candidates do not have; they are left
// out.
func (r *Rows) Ignored() []string { return r.ignore }

// Next returns the next row, or io.EOF. A row that cannot be read has an error of
// its own, and the ones after it are read all the same.
func (r *Rows) Next() (Row, error) {
	for {
		line, number, err := r.lines.read()
		switch {
		case errors.Is(err, errLong):
			return longRow(number), nil
		case err != nil:
			return Row{}, err
		}
		if len(bytes.TrimSpace(line)) > 0 {
			return r.next(line, number), nil
		}
	}
}

// Take returns up to n rows; none at the end.
func (r *Rows) Take(n int) ([]Row, error) {
	var list []Row
	for len(list) < n {
		row, err := r.Next()
		if errors.Is(err, io.EOF) {
			return list, nil
		}
		if err != nil {
			return list, err
		}
		list = append(list, row)
	}
	return list, nil
}

// errLong is a line that is longer than a row may be.
var errLong = errors.New("the line is too long")

// lines reads lines, and for CSV the lines of one record together.
type lines struct {
	r      *bufio.Reader
	number int      // of the last line read
	back   [][]byte // lines to be read again; nil: one that is too long
	join   bool     // a line with an open quote goes on in the next
	buf    []byte
}

// read returns the next line without its end, and its number. It is good until
// the next call.
func (l *lines) read() (line []byte, number int, err error) {
	line, err = l.one()
	number = l.number
	if err != nil || !l.join || bytes.Count(line, []byte{'"'})%2 == 0 {
		return line, number, err
	}
	record := append([]byte(nil), line...)
	var taken [][]byte
	for {
		more, err := l.one()
		if err == nil {
			taken = append(taken, append([]byte{}, more...))
			record = append(append(record, '\n'), more...)
		}
		switch {
		case err == nil && len(record) <= maxRow && bytes.Count(more, []byte{'"'})%2 == 1:
			return record, number, nil
		case err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, errLong):
			return nil, number, err
		case err != nil || len(record) > maxRow:
			// The quote is never closed, or too late: only its own line is wrong.
			l.number -= len(taken)
			if err != nil {
				l.number--
			}
			if errors.Is(err, errLong) {
				taken = append(taken, nil)
			}
			l.back = append(taken, l.back...)
			return append(l.buf[:0], record[:bytes.IndexByte(append(record, '\n'), '\n')]...), number, nil
		}
	}
}

// one returns the next line of the file, or one that was given back.
func (l *lines) one() ([]byte, error) {
	l.number++
	if len(l.back) > 0 {
		line := l.back[0]
		if l.back = l.back[1:]; line == nil {
			return nil, errLong
		}
		return line, nil
	}
	l.buf = l.buf[:0]
	long := false
	for {
		part, err := l.r.ReadSlice('\n')
		if long = long || len(l.buf)+len(part) > maxRow+2; !long {
			l.buf = append(l.buf, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && len(part) == 0 && len(l.buf) == 0 && !long:
			return nil, io.EOF
		case err != nil && !errors.Is(err, io.EOF):
			return nil, err
		case long:
			return nil, errLong
		}
		return bytes.TrimRight(l.buf, "\r\n"), nil
	}
}

// object is a candidate as JSON has it.
type object struct {
	ID          string `json:"intake_id"`
	ImportKey   string `json:"import_key"`
	CompanyName string `json:"company_name"`
	Domain      string `json:"domain"`
	LinkedInURL string `json:"linkedin_url"`
	State       string `json:"state"`
}

// objectRow reads one object. What it repeats of it are names of fields only.
func objectRow(line []byte, number int) Row {
	var o object
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&o); err != nil {
		var wrong *json.UnmarshalTypeError
		switch {
		case errors.As(err, &wrong) && wrong.Field != "":
			return badRow(number, wrong.Field, wrong.Field+" must be a string")
		case strings.HasPrefix(err.Error(), "json: unknown field"): // it has no type of its own
			return badRow(number, "row", "the row has a field that candidates do not have")
		}
		return badRow(number, "row", "the row is not a JSON object")
	}
	if d.More() {
		return badRow(number, "row", "the row has more than one JSON object")
	}
	row := Row{Line: number, Intake: recoup.Intake{
		ImportKey: o.ImportKey, CompanyName: o.CompanyName, Domain: o.Domain, LinkedInURL: o.LinkedInURL, State: o.State,
	}}
	parseRowID(&row, strings.TrimSpace(o.ID))
	return row
}
