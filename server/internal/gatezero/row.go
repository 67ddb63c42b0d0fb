package gatezero

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/rowfile"
)

// Format is how a file of candidates is written.
type Format = rowfile.Format

// The formats of files.
const (
	CSV    = rowfile.CSV
	NDJSON = rowfile.NDJSON
)

// maxRow is how many bytes a row may have. What is longer is no candidate, and is
// never held in memory as a whole.
const maxRow = 16 << 10

// Rows reads a file of candidates row by row.
type Rows struct {
	*rowfile.File
	parse  func(line []byte, number int) Row
	ignore []string
}

// ReadRows begins to read a file. It fails if a CSV file does not begin with names
// of columns among which there is company_name.
func ReadRows(format Format, r io.Reader) (*Rows, error) {
	file, names, err := rowfile.Open(format, r, maxRow)
	if err != nil {
		return nil, err
	}
	rows := &Rows{File: file, parse: objectRow}
	if format == CSV {
		err = rows.readHeader(names)
	}
	return rows, err
}

// Ignored returns the names of columns that candidates do not have; they are left
// out.
func (r *Rows) Ignored() []string { return r.ignore }

// Next returns the next row, or io.EOF. A row that cannot be read has an error of
// its own, and the ones after it are read all the same.
func (r *Rows) Next() (Row, error) {
	line, number, err := r.File.Next()
	switch {
	case errors.Is(err, rowfile.ErrLong):
		return LongRow(number), nil
	case err != nil:
		return Row{}, err
	}
	return r.parse(line, number), nil
}

// LongRow is a row that is too long to be read.
func LongRow(line int) Row {
	return badRow(line, "row", fmt.Sprintf("the row is longer than %d bytes", maxRow))
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
	if name, again := rowfile.Repeated(line, true); again {
		return badRow(number, strings.ToLower(name), strings.ToLower(name)+" is there twice; remove one")
	}
	row := Row{Line: number, Intake: recoup.Intake{
		ImportKey: o.ImportKey, CompanyName: o.CompanyName, Domain: o.Domain, LinkedInURL: o.LinkedInURL, State: o.State,
	}}
	parseRowID(&row, strings.TrimSpace(o.ID))
	return row
}
