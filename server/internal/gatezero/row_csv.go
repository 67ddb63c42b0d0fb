package gatezero

import (
	"fmt"
	"slices"
	"strings"

	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/rowfile"
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
func (r *Rows) readHeader(names []string) error {
	columns := make([]string, len(names))
	for i, name := range names {
		columns[i] = columnOf(name)
		if columns[i] == "" {
			r.ignore = append(r.ignore, name)
		} else if slices.Contains(columns[:i], columns[i]) {
			return headerError(fmt.Sprintf("the column %s is there twice", columns[i]))
		}
	}
	if !slices.Contains(columns, "company_name") {
		return headerError("the first line must name the columns, and company_name must be among them")
	}
	r.parse = func(line []byte, number int) Row { return recordRow(columns, line, number) }
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

func recordRow(columns []string, line []byte, number int) Row {
	values, err := rowfile.Values(line, len(columns))
	if err != nil {
		return Row{Line: number, Err: err}
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
