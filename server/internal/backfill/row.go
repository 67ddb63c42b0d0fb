package backfill

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/rowfile"
)

// MaxRow is how many bytes a row may have. What is longer is never held in memory as a
// whole.
const MaxRow = 64 << 10

// Row is one row of a file: a failure, or what is wrong with it.
type Row struct {
	Line int // where it begins, from 1
	Past engine.Past
	Err  error
}

// Options say how a file is to be read.
type Options struct {
	Format  rowfile.Format
	Line    int               // where the rows begin in a longer file, behind its header; 0: it is the whole file
	Table   string            // of rows that name none
	Columns map[string]string // fields, and the column or key of each that is not called like it
}

// fields are what a row may say, each with what else it is called.
var fields = []struct{ name, other string }{
	{"table", "table_name"}, {"entity_id", "entity"}, {"code", "error_code"}, {"severity", ""}, {"message", ""}, {"correlation_id", ""},
	{"created_at", ""}, {"service", ""}, {"endpoint", ""}, {"region", ""}, {"external_service", ""}, {"tenant", ""}, {"http_status", ""}, {"key", "import_key"},
}

// Fields names what a row may say.
func Fields() []string {
	list := make([]string, len(fields))
	for i, f := range fields {
		list[i] = f.name
	}
	return list
}

// Read reads at most limit rows. It fails if a CSV file does not begin with names of
// columns among which there are those of code and created_at. ignored are the columns
// that stand for nothing.
func Read(o Options, r io.Reader, limit int) (rows []Row, ignored []string, err error) {
	file, header, err := rowfile.Open(o.Format, r, MaxRow)
	if err != nil {
		return nil, nil, err
	}
	m, err := newMapping(o)
	if err == nil && o.Format == rowfile.CSV {
		ignored, err = m.header(header)
	}
	if err != nil {
		return nil, nil, err
	}
	if o.Line > 0 {
		file.From(o.Line)
	}
	for len(rows) < limit {
		text, line, err := file.Next()
		switch {
		case errors.Is(err, io.EOF):
			return rows, ignored, nil
		case errors.Is(err, rowfile.ErrLong):
			rows = append(rows, Row{Line: line, Err: bad("row", "the row is longer than %d bytes", MaxRow)})
			continue
		case err != nil:
			return rows, ignored, err
		}
		row := Row{Line: line}
		row.Past, row.Err = m.parse(text)
		rows = append(rows, row)
	}
	return rows, ignored, nil
}

func bad(field, format string, args ...any) error {
	return fault.BadField(field, "format", format, args...)
}

// mapping says which field a column stands for.
type mapping struct {
	Options
	fields  map[string]string // by the column's name
	columns []string          // of CSV: the field of each, or none
}

func newMapping(o Options) (*mapping, error) {
	m := &mapping{Options: o, fields: map[string]string{}}
	given := map[string]bool{}
	for field, column := range o.Columns {
		i := slices.IndexFunc(fields, func(f struct{ name, other string }) bool { return field == f.name || field == f.other })
		if i < 0 || column == "" {
			return nil, bad("columns", "columns maps a field of an error to a column; fields are: %s", strings.Join(Fields(), ", "))
		}
		m.fields[column], given[fields[i].name] = fields[i].name, true
	}
	for _, f := range fields {
		for _, name := range []string{f.name, f.other} {
			if _, taken := m.fields[name]; name != "" && !taken && !given[f.name] {
				m.fields[name] = f.name
			}
		}
	}
	return m, nil
}

// header reads the names of the columns of a CSV file.
func (m *mapping) header(names []string) (ignored []string, err error) {
	for _, name := range names {
		field := m.fields[name]
		switch {
		case field == "":
			ignored = append(ignored, name)
		case slices.Contains(m.columns, field):
			return nil, bad("header", "two columns stand for %s: map it to one of them", field)
		}
		m.columns = append(m.columns, field)
	}
	for _, field := range []string{"code", "created_at"} {
		if !slices.Contains(m.columns, field) {
			return nil, bad("header", "the first line must name the columns, and one must be %s, or be mapped to it", field)
		}
	}
	return ignored, nil
}

// parse reads a row. What it repeats of it are names of fields only.
func (m *mapping) parse(text []byte) (engine.Past, error) {
	values := map[string]string{}
	if m.Format == rowfile.CSV {
		record, err := rowfile.Values(text, len(m.columns))
		if err != nil {
			return engine.Past{}, err
		}
		for i, field := range m.columns {
			values[field] = record[i]
		}
		return m.past(values)
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(text, &object); err != nil {
		return engine.Past{}, bad("row", "the row is not a JSON object")
	}
	if name, again := rowfile.Repeated(text, false); again {
		return engine.Past{}, bad("row", "the row has the member %s twice; remove one", strconv.Quote(name))
	}
	for name, value := range object {
		field := m.fields[name]
		if _, twice := values[field]; field == "" || twice {
			continue
		}
		plain, ok := scalar(value)
		if !ok {
			return engine.Past{}, bad(field, "%s must be a string or a number", field)
		}
		values[field] = plain
	}
	return m.past(values)
}

// scalar is the text of a string or a number; null is none.
func scalar(value json.RawMessage) (string, bool) {
	var text string
	switch {
	case bytes.Equal(value, []byte("null")):
		return "", true
	case value[0] == '"':
		return text, json.Unmarshal(value, &text) == nil
	}
	var n json.Number
	err := json.Unmarshal(value, &n)
	return n.String(), err == nil
}

// past is the failure that the values of a row describe.
func (m *mapping) past(v map[string]string) (p engine.Past, err error) {
	for field := range v {
		if field != "message" {
			v[field] = strings.TrimSpace(v[field])
		}
	}
	if v["table"] == "" {
		v["table"] = m.Table
	}
	if p.CreatedAt, err = parseTime(v["created_at"]); err != nil {
		return p, err
	}
	p.Report = recoup.Report{
		Table: v["table"], EntityID: v["entity_id"], Code: v["code"], Severity: recoup.Severity(strings.ToUpper(v["severity"])), Message: v["message"],
		Service: v["service"], Endpoint: v["endpoint"], Region: v["region"], ExternalService: v["external_service"], Tenant: v["tenant"],
	}
	if text := v["correlation_id"]; text != "" {
		if p.CorrelationID, err = recoup.ParseID(text); err != nil {
			return p, bad("correlation_id", "correlation_id must be a UUID or a ULID")
		}
	}
	if text := v["http_status"]; text != "" {
		if p.HTTPStatus, err = strconv.Atoi(text); err != nil {
			return p, bad("http_status", "http_status must be a number")
		}
	}
	p.ID = engine.PastID("import of "+p.Table, v["key"], p.CreatedAt)
	if v["key"] == "" {
		p.ID = engine.PastID("rows of "+p.Table, fmt.Sprintf("%q", []string{p.EntityID, p.Code, string(p.Severity), p.Message, p.Service, p.Endpoint,
			p.Region, p.ExternalService, p.Tenant, v["correlation_id"], v["http_status"]}), p.CreatedAt)
	}
	return p, nil
}

// layouts are how times are written: RFC 3339, and what databases and spreadsheets
// export. Without a zone they are UTC.
var layouts = []string{
	time.RFC3339, "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05Z07", "2006-01-02 15:04:05 MST", "2006-01-02T15:04:05", "2006-01-02 15:04:05", time.DateOnly,
}

func parseTime(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, fault.BadField("created_at", "required", "created_at is required: when it happened")
	}
	for _, layout := range layouts {
		if at, err := time.Parse(layout, text); err == nil && (!strings.HasSuffix(layout, "MST") || strings.HasSuffix(text, " UTC")) {
			return at.UTC(), nil
		}
	}
	return time.Time{}, bad("created_at", "created_at must be a time such as 2026-02-05T09:30:00Z or 2026-02-05 09:30:00+00")
}
