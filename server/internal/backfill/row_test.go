package backfill_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/backfill"
	"github.com/recoup-dev/recoup/server/internal/rowfile"
)

func TestRead(t *testing.T) {
	for name, c := range map[string]struct {
		options backfill.Options
		file    string
		want    string
	}{
		"columns by their names": {backfill.Options{Format: rowfile.CSV, Table: "t"}, "entity,code,created_at,size\nE1,A,2026-02-05T09:30:00+01:00,1\n\nE2,B,2026-02-05 09:30:00.25+00,2\n",
			"2 t E1 A 2026-02-05T08:30:00Z / 4 t E2 B 2026-02-05T09:30:00.25Z"},
		"columns of other names": {backfill.Options{Format: rowfile.CSV, Columns: map[string]string{"code": "what", "created_at": "at", "table": "tbl"}}, "what,at,tbl,code\nA,2026-02-05,x.y,9\n",
			"2 x.y  A 2026-02-05T00:00:00Z"},
		"objects": {backfill.Options{Format: rowfile.NDJSON, Table: "t", Line: 7}, `{"code": "A", "created_at": "2026-02-05 09:30:00", "entity_id": 12, "x": {}}` + "\n[]\n",
			"7 t 12 A 2026-02-05T09:30:00Z / 8! the row is not a JSON object"},
		"a member twice": {backfill.Options{Format: rowfile.NDJSON, Table: "t"}, `{"code": "A", "created_at": "2026-02-05", "code": "B"}` + "\n" + `{"code": "A", "created_at": "2026-02-05", "x": {"y": 1, "y": 2}, "x": 1}` + "\n" + `{"code": "A", "created_at": "2026-02-05", "Code": "B"}` + "\n",
			`1! the row has the member "code" twice; remove one / 2! the row has the member "x" twice; remove one / 3 t  A 2026-02-05T00:00:00Z`},
		"what is wrong with a row": {backfill.Options{Format: rowfile.CSV}, "code,created_at,correlation_id,http_status\nA,,,\nA,yesterday,,\nA,2026-02-05,x,\nA,2026-02-05,,x\nA\n",
			"2! created_at is required: when it happened / 3! created_at must be a time such as 2026-02-05T09:30:00Z or 2026-02-05 09:30:00+00 / " +
				"4! correlation_id must be a UUID or a ULID / 5! http_status must be a number / 6! the row has 1 values, and there are 4 columns"},
		"no header":           {backfill.Options{Format: rowfile.CSV}, "A,2026-02-05\n", "! the first line must name the columns, and one must be code, or be mapped to it"},
		"a column twice":      {backfill.Options{Format: rowfile.CSV}, "code,error_code,created_at\n", "! two columns stand for code: map it to one of them"},
		"a field of no error": {backfill.Options{Format: rowfile.NDJSON, Columns: map[string]string{"colour": "x"}}, "{}", "! columns maps a field"},
	} {
		if got := read(c.options, c.file); got != c.want && (c.want[0] != '!' || !strings.HasPrefix(got, c.want)) {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, c.want)
		}
	}
}

// read describes the rows of a file.
func read(o backfill.Options, file string) string {
	rows, _, err := backfill.Read(o, strings.NewReader(file), 100)
	if err != nil {
		return said(err)
	}
	list := make([]string, len(rows))
	for i, r := range rows {
		if p := r.Past; r.Err == nil {
			list[i] = fmt.Sprintf("%d %s %s %s %s", r.Line, p.Table, p.EntityID, p.Code, p.CreatedAt.Format(time.RFC3339Nano))
		} else {
			list[i] = fmt.Sprint(r.Line, said(r.Err))
		}
	}
	return strings.Join(list, " / ")
}

func said(err error) string {
	if e, ok := errors.AsType[*fault.Error](err); ok && len(e.Fields()) > 0 {
		return "! " + e.Fields()[0].Message
	}
	return "! " + err.Error()
}

// A row is known by its key, or else by all that it says, wherever it stands.
func TestRowsAreRecognised(t *testing.T) {
	const file = "key,code,created_at,message\n%s,A,2026-02-05,%s\n"
	id := func(key, message string, line int) string {
		rows, _, err := backfill.Read(backfill.Options{Format: rowfile.CSV, Line: line}, strings.NewReader(fmt.Sprintf(file, key, message)), 1)
		if err != nil || rows[0].Err != nil {
			t.Fatal(err, rows)
		}
		return rows[0].Past.ID.String()
	}
	switch {
	case id("1", "x", 0) != id("1", "y", 9), id("", "x", 0) != id("", "x", 9):
		t.Error("the same row is another one")
	case id("1", "x", 0) == id("2", "x", 0), id("", "x", 0) == id("", "y", 0), id("", "x", 0) == id("1", "x", 0):
		t.Error("another row is the same one")
	}
}
