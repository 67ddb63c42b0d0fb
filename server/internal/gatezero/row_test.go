package gatezero_test

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/gatezero"
)

// read reads a file and writes down each row in a line: its number, and what it
// holds or what is wrong with it.
func read(t testing.TB, format gatezero.Format, file io.Reader) (lines []string, err error) {
	t.Helper()
	rows, err := gatezero.ReadRows(format, file)
	if err != nil {
		return nil, err
	}
	for {
		row, err := rows.Next()
		if errors.Is(err, io.EOF) {
			return lines, nil
		}
		if err != nil {
			return lines, err
		}
		said, bad := errors.AsType[*fault.Error](row.Err)
		if bad {
			lines = append(lines, fmt.Sprintf("%d! %s", row.Line, said.Fields()[0].Message))
			continue
		}
		i := row.Intake
		lines = append(lines, fmt.Sprintf("%d %s|%s|%s|%s|%s", row.Line, i.CompanyName, i.Domain, i.State, i.ImportKey, i.LinkedInURL))
	}
}

func TestReadRows(t *testing.T) {
	t.Parallel()
	const id = "0198c0de-0000-7000-8000-000000000001"
	for name, c := range map[string]struct {
		format     gatezero.Format
		file, want string
	}{
		"plain":               {gatezero.CSV, "company_name,domain,state\nA,a.example,OH\nB,,\n", "2 A|a.example|OH|| / 3 B||||"},
		"no line end":         {gatezero.CSV, "company_name\nA", "2 A||||"},
		"other line ends":     {gatezero.CSV, "\ufeffcompany_name,key\r\nA,7\r\n\r\nB,8\r\n", "2 A|||7| / 4 B|||8|"},
		"other names":         {gatezero.CSV, " Company ,Website,LinkedIn,size\nA,a.example,li,5\n", "2 A|a.example|||li"},
		"quotes":              {gatezero.CSV, "company_name,state\n\"A, \"\"B\"\"\",OH\nC,NY\n", "2 A, \"B\"||OH|| / 3 C||NY||"},
		"a name of two lines": {gatezero.CSV, "company_name,state\n\"A\nB\",OH\nC,NY\n", "2 A\nB||OH|| / 4 C||NY||"},
		"an open quote":       {gatezero.CSV, "company_name,state\n\"A,OH\nB,NY\nC,NJ\n", "2! the quotes of the row do not match / 3 B||NY|| / 4 C||NJ||"},
		"a stray quote":       {gatezero.CSV, "company_name,state\nA\"\"x,OH\nB,NY\n", "2! the quotes of the row do not match / 3 B||NY||"},
		"too few":             {gatezero.CSV, "company_name,state\nA\nB,NY\n", "2! the row has 1 values, and there are 2 columns / 3 B||NY||"},
		"an id that is none":  {gatezero.CSV, "company_name,intake_id\nA,7\nB," + id + "\n", "2! intake_id must be a UUID or a ULID / 3 B||||"},
		"a row without end":   {gatezero.CSV, "company_name\n" + strings.Repeat("x", 1<<17) + "\nB\n", "2! the row is longer than 16384 bytes / 3 B||||"},
		"a long row quoted":   {gatezero.CSV, "company_name\n\"A\n" + strings.Repeat("x", 1<<17) + "\nB\n", "2! the quotes of the row do not match / 3! the row is longer than 16384 bytes / 4 B||||"},
		"objects":             {gatezero.NDJSON, `{"company_name":"A","state":"OH"}` + "\n\n" + `{"company_name":"B"}`, "1 A||OH|| / 3 B||||"},
		"a member twice":      {gatezero.NDJSON, `{"company_name":"A","company_name":"B"}` + "\n" + `{"domain":"a.example","Domain":"b.example"}` + "\n" + `{"company_name":"B"}`, "1! company_name is there twice; remove one / 2! domain is there twice; remove one / 3 B||||"},
		"no objects": {gatezero.NDJSON, "7\n[]\n{\n" + `{"company_name":7}` + "\n" + `{"name":"A"}` + "\n" + `{"company_name":"A"}{}` + "\n" + `{"company_name":"B"}`,
			"1! the row is not a JSON object / 2! the row is not a JSON object / 3! the row is not a JSON object / 4! company_name must be a string / " +
				"5! the row has a field that candidates do not have / 6! the row has more than one JSON object / 7 B||||"},
	} {
		got, err := read(t, c.format, strings.NewReader(c.file))
		if said := strings.Join(got, " / "); err != nil || said != c.want {
			t.Errorf("%s: read is\n%s (%v), want\n%s", name, said, err, c.want)
		}
	}
}

func TestReadRowsRefused(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"", "\n", "domain\n", "company_name,company\n", "\"company_name\n", strings.Repeat("x", 1<<17)} {
		if _, err := gatezero.ReadRows(gatezero.CSV, strings.NewReader(file)); err == nil {
			t.Errorf("%.20q is taken for a file with columns", file)
		}
	}
	if _, err := gatezero.ReadRows("xml", strings.NewReader("")); err == nil {
		t.Error("xml is read")
	}
}

// endless is a file of one quote that is never closed.
type endless struct{ left int }

func (e *endless) Read(p []byte) (int, error) {
	if e.left <= 0 {
		return 0, io.EOF
	}
	n := copy(p, strings.Repeat("company number something,OH\n", 100))
	e.left -= n
	return n, nil
}

// A file is read in the same memory however long it is, also if its first quote is
// never closed.
func TestReadRowsStreams(t *testing.T) { // alone, because it looks at what the process holds
	rows, err := gatezero.ReadRows(gatezero.CSV, io.MultiReader(strings.NewReader("company_name,state\n\"A,OH\n"), &endless{left: 8 << 20}))
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	n := 0
	for {
		list, err := rows.Take(1000)
		if err != nil {
			t.Fatal(err)
		}
		if len(list) == 0 {
			break
		}
		n += len(list)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if n < 250_000 || after.HeapAlloc > before.HeapAlloc+4<<20 {
		t.Errorf("%d rows, and %d bytes more are held", n, after.HeapAlloc-before.HeapAlloc)
	}
}

// Whatever a file holds, every line is in one row at most, in order, and reading
// ends.
func FuzzReadRows(f *testing.F) {
	f.Add("company_name,state\nA,OH\n\"B\nC\",NY\n\"D,NY\n", true)
	f.Add(`{"company_name":"A"}`+"\n"+`{"x`, false)
	f.Fuzz(func(t *testing.T, file string, csv bool) {
		format := gatezero.NDJSON
		if csv {
			format = gatezero.CSV
		}
		rows, err := gatezero.ReadRows(format, strings.NewReader(file))
		if err != nil {
			return
		}
		last := 0
		for {
			row, err := rows.Next()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil || row.Line <= last || row.Line > strings.Count(file, "\n")+1 {
				t.Fatalf("line %d after %d: %v", row.Line, last, err)
			}
			last = row.Line
			if row.Err == nil {
				_ = row.Identify()
			}
		}
	})
}

// A row is recognised by its intake id, by its import key or by its contents, never by two of them.
func TestIdentify(t *testing.T) {
	candidate := recoup.Intake{CompanyName: "Acme", Domain: "acme.example"}
	id := recoup.ID{1}
	for name, c := range map[string]struct {
		id      recoup.ID
		key     string
		want    string
		refused bool
	}{
		"id":   {id: id, want: id.String()},
		"key":  {key: "7", want: "7"},
		"both": {id: id, key: "7", refused: true},
	} {
		row := gatezero.Row{Intake: candidate}
		row.Intake.ID, row.Intake.ImportKey = c.id, c.key
		if err := row.Identify(); (err != nil) != c.refused || err == nil && row.Intake.ImportKey != c.want {
			t.Errorf("%s: key %q, %v", name, row.Intake.ImportKey, err)
		}
	}
	one, other := gatezero.Row{Intake: candidate}, gatezero.Row{Intake: candidate}
	if one.Identify() != nil || other.Identify() != nil || one.Intake.ImportKey == "" || one.Intake.ImportKey != other.Intake.ImportKey {
		t.Errorf("rows that say the same: keys %q and %q", one.Intake.ImportKey, other.Intake.ImportKey)
	}
}
