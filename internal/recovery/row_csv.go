package recovery

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"recoup/fault"
)

// columnNames are the columns of a CSV file, each with what else it is called.
func columnNames() map[string][]string {
	return map[string][]string{
		"company_name": {"company", "name"},
		"domain":       {"website"},
		"linkedin_url": {"linkedin"},
		"state":        nil,
		"import_key":   {"key"},
		"intake_id":    nil,
	}
}

// readHeader reads the names of the columns.
func (r *Rows) readHeader() error {
	r.lines.join = true
	line, _, err := r.lines.read()
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, errLong) {
		return err
	}
	r.header = append(bytes.Clone(line), '\n')
	names, ok := record(bytes.TrimPrefix(line, []byte("\ufeff")))
	columns := make([]string, len(names))
	for i, name := range names {
		columns[i] = columnOf(name)
		if columns[i] == "" {
			r.ignore = append(r.ignore, strings.TrimSpace(name))
		} else if slices.Contains(columns[:i], columns[i]) {
			return headerError(fmt.Sprintf("the column %s is there twice", columns[i]))
		}
	}
	if err != nil || !ok || !slices.Contains(columns, "company_name") {
		return headerError("the first line must name the columns, and company_name must be among them")
	}
	r.next = func(line []byte, number int) Row { return recordRow(columns, line, number) }
	return nil
}

func headerError(message string) error {
	return fault.BadField("header", "columns", "%s", message)
}

// columnOf returns the column that a name stands for, or nothing.
func columnOf(name string) string {
	name = strings.ReplaceAll(strings.ToLower(strings.TrimSpace(name)), " ", "_")
	for column, others := range columnNames() {
		if name == column || slices.Contains(others, name) {
			return column
		}
	}
	return ""
}

// record splits a line. Most have no quotes and need no more than that.
func record(line []byte) ([]string, bool) {
	if bytes.IndexByte(line, '"') < 0 {
		return strings.Split(string(line), ","), true
	}
	values, err := csv.NewReader(bytes.NewReader(line)).Read()
	return values, err == nil
}

func recordRow(columns []string, line []byte, number int) Row {
	values, ok := record(line)
	switch {
	case !ok:
		return badRow(number, "row", "the quotes of the row do not match")
	case len(values) != len(columns):
		return badRow(number, "row", fmt.Sprintf("the row has %d values, and there are %d columns", len(values), len(columns)))
	}
	row := Row{Line: number}
	for i, value := range values {
		switch columns[i] {
		case "company_name":
			row.Intake.CompanyName = value
		case "domain":
			row.Intake.Domain = value
		case "linkedin_url":
			row.Intake.LinkedInURL = value
		case "state":
			row.Intake.State = value
		case "import_key":
			row.Intake.ImportKey = value
		case "intake_id":
			if parseRowID(&row, strings.TrimSpace(value)); row.Err != nil {
				return row
			}
		}
	}
	return row
}
