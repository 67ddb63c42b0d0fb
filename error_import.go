package recoup

import "encoding/json"

// ErrorLines are lines of a file of failures that happened elsewhere and earlier.
type ErrorLines struct {
	Format    string            `json:"format" enum:"csv,ndjson" doc:"how the lines are written; those of CSV have the file's header before them"`
	Lines     string            `json:"lines" doc:"the lines as the file has them: at most 10000 rows with code, created_at, and if known table, entity_id, severity, message, correlation_id, service, endpoint, region, external_service, tenant, http_status and key"`
	FirstLine int               `json:"first_line,omitempty" minimum:"0" maximum:"1000000000" doc:"line of the file at which they begin, behind its header; refused rows are named by it"`
	Table     string            `json:"table,omitempty" doc:"the error table of rows that name none"`
	Columns   map[string]string `json:"columns,omitempty" doc:"fields of an error, each with the column or key that has it under another name"`
	DryRun    bool              `json:"dry_run,omitempty" doc:"say what would become of the rows, and record nothing"`
}

// ErrorsImported is what became of the rows of an import.
type ErrorsImported struct {
	Recorded   int          `json:"recorded" doc:"errors that are new"`
	Superseded int          `json:"superseded" doc:"how often another report of the same failure took an error's place"`
	Expired    int          `json:"expired" doc:"of the recorded, those that went straight to the archive because of their age"`
	Orphaned   int          `json:"orphaned" doc:"of the recorded, those whose table the policy does not know or that lack the entity which it requires"`
	Repeated   int          `json:"repeated" doc:"rows that were imported before"`
	NRefused   int          `json:"refused" doc:"rows that could not be taken"`
	Refused    []RefusedRow `json:"refused_rows,omitempty" doc:"those rows, and why"`
	Ignored    []string     `json:"ignored_columns,omitempty" doc:"columns of a CSV file that stand for nothing"`
}

// RefusedRow is a row that was left out. Failure decodes into a fault.Error.
type RefusedRow struct {
	Line    int             `json:"line" doc:"where the row begins, from 1; of a list its place"`
	Failure json.RawMessage `json:"failure" doc:"why, in the shape of any error"`
}
